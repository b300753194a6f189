/** A runtime on fake ports that keeps its events, for tests of the pipeline. */
import type { RuntimeEvent } from "../../src/core/event.ts";
import type { Tool } from "../../src/core/tool.ts";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../src/runtime/runtime.ts";
import { fakePorts, type FakePorts } from "../../src/testing/fake-ports.ts";

export interface TestRuntime {
  readonly runtime: Runtime;
  readonly events: RuntimeEvent[];
  readonly ports: FakePorts;
  /** The types of the events of calls, in order. */
  trace(): readonly string[];
}

export function testRuntime(options: RuntimeOptions = {}): TestRuntime {
  const events: RuntimeEvent[] = [];
  const ports = fakePorts();
  const runtime = createRuntime({ ...options, ports: { ...ports, ...options.ports }, onEvent: (event) => events.push(event) });
  return { runtime, events, ports, trace: () => events.map((event) => event.type) };
}

/** A tool with the least there is to say; it reads nothing and writes nothing unless told otherwise. */
export function tool(
  name: string,
  execute: (input: Readonly<Record<string, unknown>>, context: Parameters<NonNullable<Tool["execute"]>>[1]) => unknown,
  more: Partial<Tool> = {},
): Tool {
  return { name, description: `Does ${name}.`, inputSchema: { type: "object" }, effects: { reads: [], writes: [] }, execute, ...more };
}

/** A promise that is settled from outside. */
export function gate<T = void>(): {
  readonly promise: Promise<T>;
  readonly open: (value: T) => void;
  readonly fail: (error: unknown) => void;
} {
  let open: (value: T) => void = () => {};
  let fail: (error: unknown) => void = () => {};
  const promise = new Promise<T>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { promise, open, fail };
}
