/** A runtime that begins loops: what programs are given by `createRuntime` of `haft`. */
import { Runtime as CallRuntime, type RuntimeOptions } from "../runtime/runtime.ts";
import { createLoop, type Loop } from "./loop.ts";
import type { LoopOptions } from "./loop-options.ts";

/** The options of a loop whose session is a new one unless it is given. */
export interface RuntimeLoopOptions extends Omit<LoopOptions, "session"> {
  /** @default a new session of this runtime */
  readonly session?: LoopOptions["session"];
}

/** Toolsets in, calls in, results out: see `createRuntime`. */
export class Runtime extends CallRuntime {
  /**
   * Makes a loop of a model and a session of this runtime: `createLoop({ session: runtime.session(), ...options })`.
   *
   * @throws ToolError as `createLoop`
   */
  loop(options: RuntimeLoopOptions): Loop {
    const { session = this.session(), ...rest } = options ?? {};
    return createLoop({ ...rest, session });
  }
}

/** Makes a runtime. Every setting has a default: `createRuntime({ tools: [myTool] })` is enough. @throws ToolError `invalid_argument` */
export function createRuntime(options: RuntimeOptions = {}): Runtime {
  return new Runtime(options);
}
