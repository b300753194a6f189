/** The public names of `haft/simulation`, listed by hand: engines that answer in place of tools. */
export { type Example, type ExampleOptions, exampleValue } from "../schema/example/example-value.ts";
export { type ExampleEngineOptions, exampleEngine } from "./example.ts";
export { type LmEngineOptions, lmEngine } from "./lm.ts";
export {
  type Stub,
  type StubEngine,
  type StubError,
  type StubOptions,
  type StubReport,
  type UnmatchedCall,
  readStubs,
  stubEngine,
} from "./stub.ts";
