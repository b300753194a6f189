/** The runtime with `loop`, which `createRuntime` of `haft` returns. */
import { Runtime as CallRuntime, type RuntimeOptions } from "../runtime/runtime.ts";
import { createLoop, type Loop } from "./loop.ts";
import type { LoopOptions } from "./loop-options.ts";

/** The options of `runtime.loop`: those of a loop, with an optional session. */
export interface RuntimeLoopOptions extends Omit<LoopOptions, "session"> {
  /** @default a new session of this runtime */
  readonly session?: LoopOptions["session"];
}

/** A runtime, made by `createRuntime`: it has toolsets, runs calls and returns their results. */
export class Runtime extends CallRuntime {
  /** Makes a loop with a session of this runtime: `createLoop({ session: runtime.session(), ...options })`. @throws ToolError as `createLoop` */
  loop(options: RuntimeLoopOptions): Loop {
    const { session = this.session(), ...rest } = options ?? {};
    return createLoop({ ...rest, session });
  }
}

/** Makes a runtime. Every setting has a default: `createRuntime({ tools: [myTool] })` is enough. @throws ToolError `invalid_argument` */
export function createRuntime(options: RuntimeOptions = {}): Runtime {
  return new Runtime(options);
}
