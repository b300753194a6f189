/** `timing` of `call-end`: what a timeline of yesterday's session is drawn from. */
import { expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import type { CallPhase } from "../../src/core/call-phase.ts";
import type { RuntimeEvent } from "../../src/core/event.ts";
import { FakeClock, type FakePorts } from "../../src/testing/fake-ports.ts";
import { testRuntime, tool } from "../runtime/bench-runtime.ts";

function timings(events: readonly RuntimeEvent[]): readonly (readonly CallPhase[] | undefined)[] {
  return events.flatMap((event) => (event.type === "call-end" ? [event.timing] : []));
}

function after(ports: FakePorts, ms: number): Promise<string> {
  return new Promise((resolve) => void ports.clock.timer(() => resolve("done"), ms));
}

const busy = (): never => {
  throw new ToolError("rate_limited", "later", { outcome: "not_started" });
};

test("issue 19.3 a call with a single attempt has no timing, whether it succeeds or fails", async () => {
  const { runtime, events } = testRuntime({ tools: [tool("fine", () => 1), tool("bad", busy, { maxAttempts: 1 })] });
  await runtime.execute([{ name: "fine" }, { name: "bad" }]);
  expect(events.filter(({ type }) => type === "call-end").map((event) => Object.keys(event).sort())).toEqual([
    ["at", "callId", "input", "result", "sessionId", "turnId", "type"],
    ["at", "callId", "input", "result", "sessionId", "turnId", "type"],
  ]);
});

test("issue 19.3 attempts have their start, duration and error code, and the waits between them", async () => {
  let left = 1;
  const { runtime, events, ports } = testRuntime({
    retry: { delayMs: 50, jitter: false },
    tools: [
      tool("flaky", async () => {
        await after(ports, 10);
        return left-- > 0 ? busy() : "done";
      }),
    ],
  });
  const pending = runtime.execute({ name: "flaky" });
  await ports.clock.advance(1_000);
  await pending;
  expect(timings(events)).toEqual([
    [
      { phase: "attempt", atMs: 0, ms: 10, error: "rate_limited" },
      { phase: "backoff", atMs: 10, ms: 50 },
      { phase: "attempt", atMs: 60, ms: 10 },
    ],
  ]);
});

test("issue 19.3 a wait for a lock names the call that held it, even if only the session keeps the timing", async () => {
  const { runtime, ports } = testRuntime({ tools: [tool("write", () => after(ports, 20), { effects: { writes: ["file:/a"] } })] });
  const session = runtime.session("s");
  const pending = session.execute([{ name: "write" }, { name: "write" }]);
  await ports.clock.advance(100);
  const [first] = await pending;
  expect(timings(session.log)).toEqual([
    undefined,
    [
      { phase: "lock", atMs: 0, ms: 20, holders: [first?.callId] },
      { phase: "attempt", atMs: 20, ms: 20 },
    ],
  ]);
});

test("issue 19.3 a wait that ends at the deadline is in the timing of a call that never started", async () => {
  const { runtime, events, ports } = testRuntime({
    maxConcurrent: 1,
    tools: [tool("slow", () => after(ports, 100)), tool("hasty", () => 1, { deadlineMs: 30 })],
  });
  const pending = runtime.execute([{ name: "slow" }, { name: "hasty" }]);
  await ports.clock.advance(1_000);
  await pending;
  expect(timings(events)).toEqual([[{ phase: "slot", atMs: 0, ms: 30 }], undefined]);
});

test("issue 19.3 waits for approval and abandoned attempts are listed apart from work", async () => {
  let isFirst = true;
  const { runtime, events, ports } = testRuntime({
    retry: { delayMs: 200, jitter: false },
    approval: { approve: async () => ((await after(ports, 40)) === "done" ? "allow-once" : "deny") },
    tools: [
      tool(
        "wipe",
        () => {
          const wait = isFirst ? 150 : 5;
          isFirst = false;
          return after(ports, wait);
        },
        { effects: { writes: ["x"], destructive: true, idempotent: true }, timeoutMs: 100 },
      ),
    ],
  });
  const pending = runtime.execute({ name: "wipe" });
  await ports.clock.advance(5_000);
  await pending;
  expect(timings(events)).toEqual([
    [
      { phase: "approval", atMs: 0, ms: 40 },
      { phase: "attempt", atMs: 40, ms: 100, error: "timeout", abandoned: true, lateMs: 50 },
      { phase: "backoff", atMs: 140, ms: 200 },
      { phase: "attempt", atMs: 340, ms: 5 },
    ],
  ]);
  expect(Object.isFrozen(timings(events)[0])).toBe(true);
  expect(timings(events)[0]?.every((phase) => Object.isFrozen(phase))).toBe(true);
});

test("F1 every duration has at most microsecond precision, in results, events and stored events", async () => {
  let now = 0;
  const third = 1_000 / 3;
  const system = new FakeClock();
  const clock = { now: () => (now += third), wallTime: () => 0, timer: (fire: () => void, ms: number) => system.timer(fire, ms) };
  let left = 1;
  const tools = [
    tool("flaky", () => (left-- > 0 ? busy() : "done")),
    tool("write", () => new Promise((resolve) => setTimeout(resolve, 5)), { effects: { writes: ["file:/a"] } }),
  ];
  const { runtime, events } = testRuntime({ tools, ports: { clock }, timeoutMs: 0 });
  const session = runtime.session("s");
  const pending = session.execute([{ name: "flaky" }, { name: "write" }, { name: "write" }]);
  let isOver = false;
  void pending.finally(() => (isOver = true));
  while (!isOver) {
    await system.advance(10_000);
    await new Promise(setImmediate);
  }
  const lengths = [await pending, events, session.log].flatMap((told) => [...JSON.stringify(told).matchAll(/"\w*[mM]s":([0-9.]+)/gu)]);
  const names = new Set(lengths.map(([text]) => text.split(":")[0] ?? ""));
  expect(names).toEqual(new Set(['"atMs"', '"blockedMs"', '"delayMs"', '"durationMs"', '"ms"', '"waitMs"']));
  expect(lengths.flatMap(([, value = ""]) => (/^\d+(\.\d{1,3})?$/u.test(value) ? [] : [value]))).toEqual([]);
});
