import { expect, test, vi } from "vitest";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { settle } from "../../src/testing/fake-ports.ts";
import { gate, testRuntime, tool } from "./bench-runtime.ts";
import { collectUnhandledRejections } from "../unhandled-rejections.ts";

test("F3.11 F1.4 B06 a handler that ignores its signal ends at its timeout, counts as an orphan, and its late result is dropped", async () => {
  const door = gate<string>();
  const { runtime, ports, events } = testRuntime({ tools: [tool("deaf", () => door.promise, { timeoutMs: 50, maxAttempts: 1 })] });
  const pending = runtime.execute({ name: "deaf" });
  await ports.clock.advance(49);
  expect(runtime.running.length).toBe(1);
  await ports.clock.advance(1);
  const result = await pending;
  expect([result.status, result.error?.code, result.error?.outcome, result.durationMs]).toEqual(["error", "timeout", "unknown", 50]);
  expect(runtime.counters.orphans).toBe(1);
  door.open("too late");
  await settle();
  expect(runtime.counters).toEqual({ calls: 1, succeeded: 0, attempts: 1, repairs: 0, orphans: 0, abandoned: 1 });
  expect(events.filter((event) => event.type === "call-late").length).toBe(1);
  expect(events.filter((event) => event.type === "call-end").length).toBe(1);
});

test("F3.11 the default timeout is 30 s, and a handler that obeys its signal is no orphan", async () => {
  let reason: unknown;
  const { runtime, ports, events } = testRuntime({
    tools: [
      tool(
        "wait",
        (_, context) =>
          new Promise((_resolve, reject) =>
            context.signal.addEventListener("abort", () => {
              reason = context.signal.reason;
              reject(new Error("stopped"));
            }),
          ),
        { maxAttempts: 1 },
      ),
    ],
  });
  const pending = runtime.execute({ name: "wait" });
  await ports.clock.advance(29_999);
  expect(runtime.running.length).toBe(1);
  await ports.clock.advance(1);
  expect((await pending).error?.code).toBe("timeout");
  expect(reason).toMatchObject({ code: "timeout" });
  await settle();
  expect([runtime.counters.abandoned, events.filter((event) => event.type === "call-orphan").length]).toEqual([0, 0]);
});

test("F1.4 timeoutMs 0 never ends an attempt; tool settings override the toolset, and those the runtime", async () => {
  const never = (): Promise<never> => new Promise(() => {});
  const { runtime, ports } = testRuntime({
    timeoutMs: 300,
    maxAttempts: 1,
    tools: [tool("runtime", never), tool("none", never, { timeoutMs: 0 })],
    toolsets: [{ name: "set", defaults: { timeoutMs: 200 }, tools: [tool("toolset", never), tool("tool", never, { timeoutMs: 100 })] }],
  });
  const took: Record<string, number> = {};
  for (const name of ["runtime", "none", "toolset", "tool"])
    void runtime.execute({ name }).then((result) => (took[name] = result.durationMs));
  await ports.clock.advance(100_000);
  expect(took).toEqual({ runtime: 300, toolset: 200, tool: 100 });
});

test("B01 ten thousand rejections after the timeout are handled once each and crash nothing", async () => {
  const unhandled = collectUnhandledRejections();
  const door = gate();
  const { runtime, ports, events } = testRuntime({ tools: [tool("late", () => door.promise, { timeoutMs: 10, maxAttempts: 1 })] });
  const pending = Promise.all(Array.from({ length: 10_000 }, () => runtime.execute({ name: "late" })));
  await ports.clock.advance(10);
  expect((await pending).every((result) => result.error?.code === "timeout" || result.error?.code === "circuit_open")).toBe(true);
  door.fail(new Error("late"));
  await settle();
  await settle();
  expect(unhandled).toEqual([]);
  expect(events.filter((event) => event.type === "call-late").length).toBe(runtime.counters.abandoned);
  expect(runtime.counters.orphans).toBe(0);
});

test("B02 a timeout of thirty days works, and an invalid timeout is rejected at once", async () => {
  const { runtime, ports } = testRuntime({
    tools: [tool("month", () => new Promise(() => {}), { timeoutMs: 2_592_000_000, maxAttempts: 1 })],
  });
  const pending = runtime.execute({ name: "month" });
  await ports.clock.advance(2_591_999_999);
  expect(runtime.running.length).toBe(1);
  await ports.clock.advance(1);
  expect((await pending).error?.code).toBe("timeout");
  for (const timeoutMs of [Number.POSITIVE_INFINITY, -1, Number.NaN, "5"]) {
    expect(() => createRuntime({ timeoutMs: timeoutMs as number })).toThrow(/timeoutMs of the runtime is .*; it takes a number from 0 to/);
  }
});

test("B02 the real clock chains timers longer than Node's limit instead of firing immediately", async () => {
  const runtime = createRuntime({
    tools: [tool("quick", () => new Promise((resolve) => setImmediate(() => resolve("done"))), { timeoutMs: 2_592_000_000 })],
  });
  expect((await runtime.execute({ name: "quick" })).output).toBe("done");
});

test.each([
  [99, []],
  [150, [{ toolName: "default::busy", blockedMs: 150 }]],
])("B03 a handler that blocks the event loop for %d ms before its first await is reported from 100 ms on", async (busyMs, reported) => {
  let time = 0;
  const { runtime, events } = testRuntime({
    ports: { clock: { now: () => time, wallTime: () => 0, timer: () => () => {} } },
    tools: [tool("busy", () => ((time += busyMs), 1)), tool("quick", () => 2)],
  });
  await runtime.execute({ name: "busy" });
  await runtime.execute({ name: "quick" });
  const blocks = events.filter((event) => event.type === "call-block");
  expect(blocks.map(({ toolName, blockedMs }) => ({ toolName, blockedMs }))).toEqual(reported);
  await runtime.close();
});

test("B06 a thousand concurrent handlers that ignore their signal all end at their timeout and leave nothing behind", async () => {
  const { runtime, ports } = testRuntime({
    circuit: false,
    tools: [tool("deaf", () => new Promise(() => {}), { timeoutMs: 50, maxAttempts: 1 })],
  });
  const pending = runtime.execute(Array.from({ length: 1_000 }, () => ({ name: "deaf" })));
  await ports.clock.advance(50);
  expect((await pending).filter((result) => result.error?.code === "timeout").length).toBe(1_000);
  expect(runtime.counters.orphans).toBe(1_000);
  await ports.clock.advance(10_000);
  expect(ports.clock.pending).toBe(0);
});

test("B06 with the real clock a call ends at its deadline, not before, even if its handler ignores its signal", async () => {
  const runtime = createRuntime({ tools: [tool("deaf", () => new Promise(() => {}), { timeoutMs: 60, maxAttempts: 1 })] });
  const result = await runtime.execute({ name: "deaf" });
  expect(result.error?.code).toBe("timeout");
  expect(result.durationMs).toBeGreaterThanOrEqual(59);
});

test("B10 cancelling at any moment ends each call exactly once", async () => {
  const { runtime, ports, events } = testRuntime({
    circuit: false,
    tools: [
      tool(
        "step",
        async (input) => {
          await new Promise<void>((resolve) => ports.clock.timer(resolve, Number(input["ms"])));
          return 1;
        },
        { effects: { writes: ["x"] } },
      ),
    ],
  });
  const pending = Array.from({ length: 500 }, (_, index) => {
    const controller = new AbortController();
    ports.clock.timer(() => controller.abort(), (index * 7) % 40);
    return runtime.execute(
      [
        { name: "step", input: { ms: index % 30 } },
        { name: "step", input: { ms: (index * 3) % 30 } },
      ],
      { signal: controller.signal },
    );
  });
  await ports.clock.advance(60_000);
  const results = (await Promise.all(pending)).flat();
  const ends = events.filter((event) => event.type === "call-end").map((event) => event.callId);
  expect(ends.length).toBe(1_000);
  expect(new Set(ends).size).toBe(1_000);
  expect(new Set(results.map((result) => result.status))).toEqual(new Set(["ok", "cancelled"]));
  expect(runtime.running).toEqual([]);
});

test("B11 a signal shared by many calls has one listener while they run and none afterwards", async () => {
  const controller = new AbortController();
  const add = vi.spyOn(controller.signal, "addEventListener");
  const remove = vi.spyOn(controller.signal, "removeEventListener");
  const door = gate();
  const { runtime, ports } = testRuntime({ tools: [tool("wait", () => door.promise)] });
  const pending = Promise.all(Array.from({ length: 10_000 }, () => runtime.execute({ name: "wait" }, { signal: controller.signal })));
  await settle();
  expect(add).toHaveBeenCalledTimes(1);
  door.open();
  await pending;
  expect(remove).toHaveBeenCalledTimes(1);
  expect(ports.clock.pending).toBe(0);
});

test("deadlineMs ends the whole call, retries and waits included", async () => {
  const { runtime, ports } = testRuntime({
    tools: [
      tool(
        "flaky",
        () => {
          throw Object.assign(new Error("reset"), { code: "ECONNRESET" });
        },
        { deadlineMs: 2_000 },
      ),
    ],
  });
  const pending = runtime.execute({ name: "flaky" });
  await ports.clock.advance(2_000);
  const result = await pending;
  expect(result.error?.code).toBe("network_error");
  expect(result.durationMs).toBeLessThan(2_000);
  expect(result.attempts).toBeLessThan(4);
});

test("an orphan keeps its write locks for a while; a waiter whose deadline passes gets the holder's name", async () => {
  const writes = { effects: { writes: ["file:/a"] }, maxAttempts: 1 };
  const { runtime, ports } = testRuntime({
    tools: [
      tool("deaf", () => new Promise(() => {}), { ...writes, timeoutMs: 50 }),
      tool("hurried", () => "ran", { ...writes, deadlineMs: 1_000 }),
      tool("patient", () => "ran", writes),
    ],
  });
  const pending = runtime.execute([{ name: "deaf" }, { name: "hurried" }, { name: "patient" }]);
  await ports.clock.advance(10_060);
  const [deaf, hurried, patient] = await pending;
  expect(deaf?.error?.code).toBe("timeout");
  expect([hurried?.error?.code, hurried?.attempts]).toEqual(["resource_busy", 0]);
  expect(hurried?.error?.message).toContain("default::deaf (call_1, abandoned but still running)");
  expect([patient?.output, patient?.durationMs]).toEqual(["ran", 10_050]);
});

test("closing the runtime cancels running calls, and every call still has one result", async () => {
  const { runtime, events } = testRuntime({ tools: [tool("wait", () => new Promise(() => {}))] });
  const pending = runtime.execute([{ name: "wait" }, { name: "wait" }]);
  await settle();
  await runtime.close();
  expect((await pending).map((result) => result.status)).toEqual(["cancelled", "cancelled"]);
  expect(events.filter((event) => event.type === "call-end").length).toBe(2);
});
