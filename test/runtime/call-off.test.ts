/** A call that is called off: by its caller, by its deadline, by the runtime's end, in each place where it can stand still. */
import { describe, expect, test } from "vitest";
import type { Engine } from "../../src/core/engine.ts";
import { ToolError } from "../../src/core/error.ts";
import type { RuntimeEvent } from "../../src/core/event.ts";
import type { ToolResult } from "../../src/core/result.ts";
import type { Tool } from "../../src/core/tool.ts";
import { createRuntime, type RuntimeOptions } from "../../src/runtime/runtime.ts";
import { fakePorts, type FakePorts } from "../../src/testing/fake-ports.ts";
import { testRuntime, tool, type TestRuntime } from "./bench-runtime.ts";

const never = (): Promise<never> => new Promise(() => {});
const writes = { effects: { writes: ["x"] }, maxAttempts: 1 } as const;

/** Each way to stand still in the middle of a call: what it needs, and whether the handler was begun. */
const PHASES: readonly (readonly [string, RuntimeOptions, Partial<Tool>, 0 | 1])[] = [
  ["in a hook before it", { hooks: [{ name: "deaf", beforeCall: never }] }, {}, 0],
  ["in its input check", {}, { parseInput: never }, 0],
  ["waiting for approval", { approval: { always: ["*::t"], approve: never } }, {}, 0],
  ["waiting for a lock", { tools: [tool("holder", never, { ...writes, timeoutMs: 9_000 })] }, {}, 0],
  ["waiting for a slot", { maxConcurrent: 1, tools: [tool("holder", never, { timeoutMs: 9_000, maxAttempts: 1 })] }, {}, 0],
  ["in its handler", {}, { execute: never }, 1],
  [
    "between two attempts",
    { retry: { delayMs: 5_000, jitter: false } },
    {
      maxAttempts: 3,
      execute: () => {
        throw new ToolError("network_error", "reset", { outcome: "not_started" });
      },
    },
    1,
  ],
  ["in its output check", {}, { parseOutput: never }, 1],
  ["in a hook after it", { hooks: [{ name: "deaf", afterCall: (result) => (result.name === "default::t" ? never() : undefined) }] }, {}, 1],
];

describe.each(PHASES)("B10 a call that hangs %s", (phase, options, parts, attempts) => {
  const build = (more: Partial<Tool>): TestRuntime =>
    testRuntime({
      circuit: false,
      ...options,
      tools: [...(options.tools ?? []), tool("t", () => "ran", { ...writes, timeoutMs: 0, ...parts, ...more })],
    });
  const stand = async (world: TestRuntime, signal?: AbortSignal): Promise<Promise<readonly ToolResult[]>[]> => {
    const holders = (options.tools ?? []).map(({ name }) => world.runtime.execute([{ name }]));
    return [world.runtime.execute([{ name: "t" }], signal === undefined ? {} : { signal }), ...holders];
  };
  const check = async (world: TestRuntime, [pending]: readonly Promise<readonly ToolResult[]>[], code: string): Promise<void> => {
    const [result] = (await pending) ?? [];
    expect([result?.error?.code, result?.attempts, result?.durationMs]).toEqual([code, attempts, 1_000]);
    await world.ports.clock.advance(30_000);
    expect([world.runtime.running, world.ports.clock.pending]).toEqual([[], 0]);
    expect(world.events.filter((event) => event.type === "call-end" && event.result.name.endsWith("t")).length).toBe(1);
  };

  test("ends at once when the caller aborts", async () => {
    const controller = new AbortController();
    const world = build({});
    const pending = await stand(world, controller.signal);
    await world.ports.clock.advance(1_000);
    controller.abort();
    await check(world, pending, "cancelled");
  });

  test("ends at once when the runtime is closed", async () => {
    const world = build({});
    const pending = await stand(world);
    await world.ports.clock.advance(1_000);
    await world.runtime.close();
    expect(world.runtime.running).toEqual([]);
    await check(world, pending, "cancelled");
  });

  test.skipIf(phase === "in a hook before it")("ends at its deadline", async () => {
    const world = build({ deadlineMs: 1_000 });
    const pending = await stand(world);
    await world.ports.clock.advance(1_000);
    if (phase === "between two attempts") return expect((await pending[0])?.[0]?.error?.code).toBe("network_error"); // it does not even begin to wait
    await check(
      world,
      pending,
      phase === "waiting for approval" ? "approval_denied" : phase.startsWith("waiting") ? "resource_busy" : "timeout",
    );
  });
});

describe("B10 a call whose caller aborts synchronously ends at once:", () => {
  const inside: readonly (readonly [string, (abort: () => void) => RuntimeOptions])[] = [
    ["in beforeCall", (abort) => ({ hooks: [{ name: "h", beforeCall: () => (abort(), never()) }], tools: [tool("t", never)] })],
    ["in validate", (abort) => ({ tools: [tool("t", never, { timeoutMs: 0, validate: () => (abort(), []) })] })],
    ["in parseInput", (abort) => ({ tools: [tool("t", never, { parseInput: () => (abort(), never()) })] })],
    ["in the approver", (abort) => ({ approval: { always: ["*"], approve: () => (abort(), never()) }, tools: [tool("t", never)] })],
    ["in the handler", (abort) => ({ tools: [tool("t", () => (abort(), never()), { timeoutMs: 0 })] })],
    ["in parseOutput", (abort) => ({ tools: [tool("t", () => 1, { parseOutput: () => (abort(), never()) })] })],
    ["in afterCall", (abort) => ({ hooks: [{ name: "h", afterCall: () => (abort(), never()) }], tools: [tool("t", () => 1)] })],
  ];
  test.each(inside)("%s", async (_, build) => {
    const controller = new AbortController();
    const world = testRuntime(build(() => controller.abort()));
    const [result] = (await world.runtime.execute([{ name: "t" }], { signal: controller.signal })) ?? [];
    expect([result?.status, result?.durationMs, result?.output]).toEqual(["cancelled", 0, undefined]);
    expect(world.runtime.running).toEqual([]);
  });

  test.each(["call-start", "call-attempt", "call-retry", "call-wait"] as const)("in a listener, on %s", async (type) => {
    const controller = new AbortController();
    const ports = fakePorts();
    const busy = tool("busy", () => new Promise((resolve) => ports.clock.timer(() => resolve(1), 5)), writes);
    const reset = (): Promise<never> => Promise.reject(new ToolError("network_error", "reset", { outcome: "not_started" }));
    const late = tool("t", type === "call-retry" ? reset : never, { ...writes, timeoutMs: 0, maxAttempts: 2 });
    const onEvent = (event: RuntimeEvent): void => {
      if (event.type === type && "callId" in event && event.callId === "call_2") controller.abort();
    };
    const runtime = createRuntime({ ports, tools: [busy, late], onEvent });
    const pending = runtime.execute([{ name: "busy" }, { name: "t" }], { signal: controller.signal });
    await ports.clock.advance(5);
    expect((await pending)[1]).toMatchObject({ status: "cancelled", durationMs: type === "call-start" ? 0 : 5 });
    expect(runtime.running).toEqual([]);
  });
});

test("a deadline that passed in a slow hook ends the call before its handler starts", async () => {
  let ran = 0;
  const world = testRuntime({
    hooks: [{ name: "deaf", beforeCall: never }],
    tools: [tool("t", () => ++ran, { ...writes, deadlineMs: 1_000 })],
  });
  const pending = world.runtime.execute({ name: "t" });
  await world.ports.clock.advance(10_000);
  const result = await pending;
  expect([result.error?.code, result.error?.outcome, ran]).toEqual(["timeout", "not_started", 0]);
});

test("a call that waits for its turn in a sequential engine ends at its deadline, and the next one still waits", async () => {
  const started: unknown[] = [];
  const engine: Engine = { kind: "test", order: "sequential", call: ({ input }) => void started.push(input["n"]) };
  const { runtime, ports } = testRuntime({
    tools: [tool("slow", never, { timeoutMs: 5_000, maxAttempts: 1 })],
    toolsets: [
      {
        name: "lm",
        engine,
        tools: [
          { name: "hurried", description: "", inputSchema: {}, deadlineMs: 100 },
          { name: "patient", description: "", inputSchema: {} },
        ],
      },
    ],
  });
  const pending = runtime.execute([{ name: "slow" }, { name: "hurried", input: { n: 1 } }, { name: "patient", input: { n: 2 } }]);
  await ports.clock.advance(5_000);
  expect((await pending).map((result) => [result.error?.code, result.durationMs])).toEqual([
    ["timeout", 5_000],
    ["resource_busy", 100],
    [undefined, 5_000],
  ]);
  expect(started).toEqual([2]);
});

test("no further hook runs after the caller aborts in a hook", async () => {
  const controller = new AbortController();
  const asked: string[] = [];
  const hooks = ["first", "second"].map((name) => ({ name, beforeCall: () => (asked.push(name), controller.abort()) }));
  const { runtime } = testRuntime({ hooks, tools: [tool("t", never)] });
  expect((await runtime.execute({ name: "t" }, { signal: controller.signal })).status).toBe("cancelled");
  expect(asked).toEqual(["first"]);
});

test("a call that is cancelled between two attempts is cancelled, although its circuit has opened meanwhile", async () => {
  const controller = new AbortController();
  const reset = (): Promise<never> => Promise.reject(new ToolError("network_error", "reset", { outcome: "not_started" }));
  const { runtime, ports } = testRuntime({ circuit: { failures: 2 }, tools: [tool("t", reset)] });
  const pending = runtime.execute({ name: "t" }, { signal: controller.signal });
  await ports.clock.advance(1);
  void runtime.execute({ name: "t" });
  await ports.clock.advance(1);
  controller.abort();
  expect((await pending).status).toBe("cancelled");
});

test("an orphan that ends clears its timers", async () => {
  const { runtime, ports } = testRuntime({
    tools: [tool("late", () => new Promise((resolve) => ports.clock.timer(() => resolve(1), 60)), { ...writes, timeoutMs: 50 })],
  });
  void runtime.execute({ name: "late" });
  await ports.clock.advance(55);
  expect([runtime.counters.orphans, ports.clock.pending]).toEqual([1, 2]); // how long it keeps its lock, and its own
  await ports.clock.advance(5);
  expect([runtime.counters.orphans, ports.clock.pending]).toEqual([0, 0]);
});

test("a clock that throws fails the call, which then holds no lock", async () => {
  const ports = fakePorts();
  let failing = true;
  const timer: FakePorts["clock"]["timer"] = (fire, delayMs) => {
    if (failing) throw new Error("no timers left");
    return ports.clock.timer(fire, delayMs);
  };
  const clock = { now: () => ports.clock.now(), wallTime: () => 0, timer };
  const runtime = createRuntime({ ports: { ...ports, clock }, tools: [tool("t", () => (failing ? never() : "ran"), writes)] });
  const [failed] = await runtime.execute([{ name: "t" }]);
  failing = false;
  expect([failed?.error?.code, (await runtime.execute({ name: "t" })).output]).toEqual(["execution_failed", "ran"]);
});
