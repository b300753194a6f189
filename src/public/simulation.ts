/** The public names of `haft/simulation`, listed by hand: what answers in place of tools, and failures on purpose. @packageDocumentation */
export { type EngineSource, type AnswerOptions, type AnswerRule, ENGINE_SOURCES } from "../call/fallback-chains.ts";
export { type FaultPlan, type FaultRule, type FaultType, FAULT_TYPES } from "../core/answers/fault.ts";
export { type Fidelity, FIDELITIES } from "../core/answers/fidelity.ts";
export { NoAnswer } from "../core/answers/no-answer.ts";
export type { Origin } from "../core/result.ts";
export { type AnswerSource, type AnswerSources, ANSWER_SOURCES } from "../core/answers/answer-source.ts";
export { type Example, type ExampleOptions, exampleValue } from "../schema/example/example-value.ts";
export { type ExampleEngineOptions, exampleEngine } from "../engine/example.ts";
export { type LmEngineOptions, lmEngine } from "../engine/lm.ts";
export {
  type Stub,
  type StubEngine,
  type StubError,
  type StubOptions,
  type StubReport,
  type UnmatchedCall,
  readStubs,
  stubEngine,
} from "../engine/stub.ts";
export type { Subject as ExampleSubject } from "../schema/example/given-values.ts";
