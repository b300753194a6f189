import { expect, test } from "vitest";
import type { ToolContext } from "../../src/core/context.ts";
import type { Effects } from "../../src/core/resources/effects.ts";
import { settle } from "../../src/testing/fake-ports.ts";
import { gate, testRuntime, tool } from "../runtime/bench-runtime.ts";

test.each([
  ["nothing", { reads: [], writes: [] }, 0],
  ["a key that it reads", { reads: ["k"], writes: [] }, 0],
  ["a key", { writes: ["k"] }, 1],
])("an abandoned handler that holds %s keeps timers only for what it holds", async (_, effects, pending) => {
  const never = (): Promise<never> => new Promise(() => {});
  const { runtime, ports } = testRuntime({ tools: [tool("hang", never, { effects, timeoutMs: 50, maxAttempts: 1 })] });
  const call = runtime.execute({ name: "hang" });
  await ports.clock.advance(50);
  await call;
  await ports.clock.advance(1);
  await settle();
  expect({ orphans: runtime.counters.orphans, pending: ports.clock.pending }).toEqual({ orphans: 1, pending });
});

const money: Effects = { writes: ["bank"] };

test.each<readonly [string, Effects, "returns" | "throws", "ignores" | "reads", "applied" | undefined]>([
  ["returns, and never read its signal: it had its effect", money, "returns", "ignores", "applied"],
  ["returns, and read its signal: it may have stopped halfway", money, "returns", "reads", undefined],
  ["throws: what it did is not known", money, "throws", "ignores", undefined],
  ["returns, and may be repeated: it is called again in any case", { ...money, idempotent: true }, "returns", "ignores", undefined],
  ["returns, and writes nothing", { reads: ["bank"], writes: [] }, "returns", "ignores", undefined],
])("an abandoned handler that %s", async (_, effects, end, signal, resolved) => {
  const late = gate<string>();
  const slow = (_input: unknown, context: ToolContext): unknown => (signal === "reads" ? context.signal.aborted : undefined, late.promise);
  const { runtime, ports, events } = testRuntime({ tools: [tool("pay", slow, { effects, timeoutMs: 50, maxAttempts: 1 })] });
  const session = runtime.session("s");
  const call = session.execute({ name: "pay" });
  await ports.clock.advance(50);
  expect((await call).error?.code).toBe("timeout");
  await ports.clock.advance(1);
  if (end === "returns") late.open("paid");
  else late.fail(new Error("no"));
  await settle();
  expect(session.history.map((entry) => entry.resolved)).toEqual([resolved]);
  const after = events.slice(events.findIndex(({ type }) => type === "call-end") + 1).map(({ type }) => type);
  expect(after).toEqual(["call-orphan", ...(resolved === undefined ? [] : ["outcome-resolve"]), "call-late"]);
});

test("the late result of a handler is not recorded after its session is closed", async () => {
  const late = gate<string>();
  const pay = tool("pay", () => late.promise, { effects: money, timeoutMs: 50, maxAttempts: 1 });
  const { runtime, ports, events } = testRuntime({ tools: [pay] });
  const session = runtime.session("s");
  const call = session.execute({ name: "pay" });
  await ports.clock.advance(50);
  await call;
  await ports.clock.advance(1);
  await session.close();
  late.open("paid");
  await settle();
  expect(session.history.map(({ result, resolved }) => [result?.error?.code, resolved])).toEqual([["timeout", undefined]]);
  expect(events.map(({ type }) => type)).not.toContain("outcome-resolve");
});

test.each<readonly [string, Effects, Effects, boolean]>([
  ["that reads lets a writer in at once", { reads: ["k"], writes: [] }, { writes: ["k"] }, true],
  ["that writes keeps a reader out until it ends", { writes: ["k"] }, { reads: ["k"], writes: [] }, false],
])("an abandoned handler %s", async (_, effects, others, isLetIn) => {
  const late = gate<string>();
  const ran: string[] = [];
  const { runtime, ports } = testRuntime({
    tools: [
      tool("hang", () => late.promise, { effects, timeoutMs: 50, maxAttempts: 1 }),
      tool("next", () => ran.push("next"), { effects: others }),
    ],
  });
  const call = runtime.execute({ name: "hang" });
  await ports.clock.advance(50);
  expect((await call).error?.code).toBe("timeout");
  const next = runtime.execute({ name: "next" });
  await settle();
  expect(ran).toEqual(isLetIn ? ["next"] : []);
  late.open("late");
  await next;
  expect(ran).toEqual(["next"]);
});

test("an abandoned handler frees the runtime's slot once, and its tool's slot when it ends", async () => {
  const late = gate<string>();
  const going = gate();
  const ran: string[] = [];
  const { runtime, ports } = testRuntime({
    maxConcurrent: 1,
    tools: [
      tool("hang", () => (ran.push("hang"), late.promise), { timeoutMs: 50, maxAttempts: 1, maxConcurrent: 1 }),
      tool("work", () => (ran.push("work"), going.promise)),
    ],
  });
  const call = runtime.execute({ name: "hang" });
  await ports.clock.advance(50);
  await call;
  const calls = ["work", "work", "hang"].map((name) => runtime.execute({ name }));
  await settle();
  expect(ran).toEqual(["hang", "work"]);
  late.open("late");
  await settle();
  expect(ran).toEqual(["hang", "work"]); // the one slot of the runtime is taken
  going.open();
  await Promise.all(calls);
  expect(ran.toSorted()).toEqual(["hang", "hang", "work", "work"]);
});
