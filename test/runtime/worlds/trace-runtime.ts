/** A runtime, as a program would make it, with the tools of recorded worlds. */
import { createRuntime, type Runtime, type RuntimeOptions } from "../../../src/runtime/runtime.ts";
import type { RecordedWorld } from "./recorded-worlds.ts";
import { traceToolsets, type TraceProbe } from "./trace-tools.ts";

export interface TraceRuntimeOptions extends RuntimeOptions {
  readonly probe?: TraceProbe;
}

/** Opens the runtime; every toolset of these worlds has opened. */
export async function traceRuntime(worlds: readonly RecordedWorld[], options: TraceRuntimeOptions = {}): Promise<Runtime> {
  const { probe, ...runtimeOptions } = options;
  const runtime = createRuntime({ ...runtimeOptions, toolsets: traceToolsets(worlds, probe), strict: true });
  await runtime.open();
  return runtime;
}
