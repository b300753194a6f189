/** A simulation tries calls in a branch that is dropped: the session, the runtime and the world stay as they were. */
import { expect, test } from "vitest";
import { ToolError } from "../../../src/core/error.ts";
import type { Tool } from "../../../src/core/tool.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { settle } from "../../../src/testing/fake-ports.ts";
import { gate, testRuntime, tool, type TestRuntime } from "../bench-runtime.ts";
import { FailingStore } from "./failing-store.ts";

const own = { effects: { writes: ["session:n"] } };
const add = tool("add", (_, { state }) => (state.update("n", (n) => Number(n ?? 0) + 1), state.get("n")), own);
const get = tool("get", (_, { state }) => state.get("n") ?? 0, { effects: { reads: ["session:n"] } });
const boom = tool(
  "boom",
  (_, { state }) => {
    state.update("n", () => -1);
    throw new ToolError("execution_failed", "boom");
  },
  own,
);

/** Everything of a runtime that a simulation might touch. */
async function everything({ runtime, events }: TestRuntime, session: RuntimeSession) {
  return {
    snapshot: await session.snapshot(),
    length: session.length,
    history: session.history,
    counters: runtime.counters,
    running: runtime.running,
    events: events.length,
  };
}

async function leavesNoTrace(tools: readonly Tool[], simulate: (session: RuntimeSession, test: TestRuntime) => Promise<unknown>) {
  const bench = testRuntime({ tools: [add, get, boom, ...tools] });
  const session = bench.runtime.session("s");
  await session.execute([{ name: "add" }, { name: "add" }]);
  const before = await everything(bench, session);
  const drawn = { id: bench.ports.ids.next("probe"), call: bench.ports.ids.next("call"), random: bench.ports.random.next() };
  await simulate(session, bench);
  const fresh = testRuntime();
  expect(await everything(bench, session)).toEqual({ ...before, snapshot: { ...before.snapshot, at: expect.any(Number) } });
  expect(bench.ports.ids.next("call")).toBe("call_4");
  expect(bench.ports.ids.next("turn")).toBe("turn_2");
  expect(bench.ports.ids.next("session")).toBe("session_1");
  expect(drawn).toEqual({ id: "probe_1", call: "call_3", random: fresh.ports.random.next() });
  expect(bench.ports.random.next()).toBe(fresh.ports.random.next());
  expect((await session.execute({ name: "add" })).output).toBe(3);
}

test("F0.34 C06 a simulation sees its own earlier calls and does not affect the session, counters, ids, randomness and listeners", async () => {
  await leavesNoTrace([], async (session) => {
    const { results, diff } = await session.simulate(["add", "get", "add", "get", "nope"].map((name) => ({ name })));
    expect(results.map((result) => [result.output, result.origin, result.error?.code])).toEqual([
      [3, "live", undefined],
      [3, "live", undefined],
      [4, "live", undefined],
      [4, "live", undefined],
      [undefined, "simulated", "not_found"],
    ]);
    expect(diff.state).toEqual([{ toolset: "default", key: "n", before: 2, after: 4, patch: [{ op: "replace", path: "", value: 4 }] }]);
    expect(diff.calls.map((entry) => entry.result)).toEqual(results);
    expect(diff.pretended).toEqual([]);
  });
});

test("F0.34 C06 a simulation whose handler throws leaves no trace, whether it returns a result or rejects", async () => {
  await leavesNoTrace([], async (session) => {
    const { results } = await session.simulate([{ name: "add" }, { name: "boom" }]);
    expect(results.map((result) => result.status)).toEqual(["ok", "error"]);
    await expect(session.simulate([{ name: "add" }, { name: "boom" }], { onError: "throw" })).rejects.toThrow("boom");
  });
});

test("F0.34 C06 a simulation that times out, and is retried, leaves no trace", async () => {
  let ended = 0;
  const slow = tool(
    "slow",
    (_, { signal, state }) => {
      state.update("n", () => -1);
      return new Promise<void>((resolve) => signal.addEventListener("abort", () => (ended++, resolve())));
    },
    { effects: { reads: [] }, timeoutMs: 100, maxAttempts: 2 },
  );
  await leavesNoTrace([slow], async (session, { ports }) => {
    const trying = session.simulate({ name: "slow" });
    await ports.clock.advance(60_000);
    expect((await trying).results.map((result) => [result.error?.code, result.attempts])).toEqual([["timeout", 2]]);
  });
  expect(ended).toBe(2);
});

test("F0.34 C06 a simulation that is cancelled leaves no trace", async () => {
  const stop = new AbortController();
  const wait = tool("wait", (_, { signal }) => new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve())));
  await leavesNoTrace([wait], async (session) => {
    const trying = session.simulate([{ name: "add" }, { name: "wait" }], { signal: stop.signal });
    await settle();
    stop.abort();
    expect((await trying).results.map((result) => result.status)).toEqual(["ok", "cancelled"]);
  });
});

test("F0.37 C06 an execute that ends while a simulation runs keeps its changes", async () => {
  const going = gate();
  const { runtime } = testRuntime({ tools: [add, get, tool("wait", () => going.promise)] });
  const session = runtime.session();
  await session.execute({ name: "add" });
  const trying = session.simulate([{ name: "add" }, { name: "wait" }, { name: "add" }]);
  await settle();
  expect((await session.execute({ name: "add" })).output).toBe(2);
  going.open();
  expect((await trying).diff.state).toMatchObject([{ before: 1, after: 3 }]);
  expect([(await session.execute({ name: "get" })).output, session.history.length]).toEqual([2, 3]);
});

test("F0.34 C06 a simulation does not wait for a running turn, and sees the session as it was before that", async () => {
  const going = gate();
  const slow = tool("slow", async (_, { state }) => (state.update("n", () => 10), going.promise), own);
  const { runtime } = testRuntime({ tools: [add, slow] });
  const session = runtime.session();
  await session.execute({ name: "add" });
  const running = session.execute({ name: "slow" });
  await settle();
  const { results, diff } = await session.simulate({ name: "add" });
  expect([results[0]?.output, diff.state[0]?.before, diff.calls.length]).toEqual([2, 1, 1]);
  going.open();
  await running;
  expect(session.state("default", "n")).toBe(10);
});

test("F0.34 a simulation of a runtime needs no session and leaves none, also two at once", async () => {
  const { runtime, events } = testRuntime({ tools: [add] });
  const tries = await Promise.all([runtime.simulate({ name: "add" }), runtime.simulate([{ name: "add" }, { name: "add" }])]);
  expect(tries.map((one) => one.results.map((result) => result.output))).toEqual([[1], [1, 2]]);
  expect([events, runtime.counters.calls]).toEqual([[], 0]);
  await expect(tries[0]?.commit()).rejects.toMatchObject({ code: "invalid_argument" });
});

test("F0.34 a simulation of a stored session neither writes to the store nor waits for it", async () => {
  const store = new FailingStore();
  const { runtime } = testRuntime({ tools: [add], store });
  const session = runtime.session("s");
  await session.execute({ name: "add" });
  const [stored, { waits }] = [store.disk.events("s"), store];
  store.hold();
  const { results } = await session.simulate([{ name: "add" }, { name: "add" }]);
  store.goOn();
  expect(results.map((result) => result.output)).toEqual([2, 3]);
  expect([store.disk.events("s"), [...store.disk.logs.keys()], store.waits]).toEqual([stored, ["s"], waits]);
});

test("F0.34 ids of simulations never collide with those of sessions, whatever they are", async () => {
  const { runtime } = testRuntime({ tools: [add] });
  const named = ["simulation1", "s", "s~0.1", "simulation1~0.1"].map((id) => runtime.session(id));
  await runtime.simulate({ name: "add" });
  await named[1]?.simulate({ name: "add" });
  for (const session of named) {
    expect(() => runtime.session(session.id)).toThrowError(expect.objectContaining({ code: "duplicate" }));
    expect((await session.execute({ name: "add" })).output).toBe(1);
  }
});

test("F0.34 simulations nested a hundred deep see the outer ones, and their calls can still be committed", async () => {
  const { runtime } = testRuntime({ tools: [add] });
  const session = runtime.session("s".repeat(1_000));
  let branch = session.fork({ simulated: true });
  const line = [branch];
  for (let depth = 1; depth <= 100; depth++) {
    expect((await branch.execute({ name: "add" })).output).toBe(depth);
    line.push((branch = branch.fork()));
  }
  for (const one of line.toReversed()) await one.commit();
  expect([session.history.length, session.state("default", "n")]).toEqual([100, 100]);
  const restored = runtime.session("r", { from: await session.snapshot() });
  expect(restored.history).toEqual(session.history);
});

test("C06 a handler that outlives its simulation can emit and change nothing", async () => {
  const late = gate();
  let problem: unknown;
  const deaf = tool(
    "deaf",
    async (_, { state, progress }) => {
      await late.promise;
      progress({ message: "late" });
      try {
        state.update("n", () => -1);
      } catch (thrown: unknown) {
        problem = thrown;
      }
    },
    { effects: { reads: [] }, timeoutMs: 100, maxAttempts: 1 },
  );
  const { runtime, ports, events } = testRuntime({ tools: [deaf] });
  const session = runtime.session();
  const trying = session.simulate({ name: "deaf" });
  await ports.clock.advance(100);
  expect((await trying).results[0]?.error?.code).toBe("timeout");
  await ports.clock.advance(100);
  late.open();
  await settle();
  expect(problem).toMatchObject({ code: "invalid_argument" });
  expect([events, session.length, runtime.counters]).toEqual([
    [],
    0,
    { calls: 0, succeeded: 0, attempts: 0, repairs: 0, orphans: 0, abandoned: 0 },
  ]);
});

test("branches that had the same id one after the other can both be committed", async () => {
  const { runtime } = testRuntime({ tools: [add] });
  const session = runtime.session("s");
  for (const n of [1, 2]) {
    const branch = session.fork({ id: "try", simulated: true });
    await branch.execute({ name: "add", input: { n } });
    await branch.commit();
  }
  expect(session.history.map(({ call, result }) => [call.input, result?.output])).toEqual([
    [{ n: 1 }, 1],
    [{ n: 2 }, 2],
  ]);
  expect(new Set(session.history.map(({ callId }) => callId)).size).toBe(2);
});

test("a handler in a simulation cannot allow side effects that the simulation does not", async () => {
  const ran: string[] = [];
  const write = tool("write", () => ran.push("write"), { effects: { writes: ["world"] } });
  const escape = tool(
    "escape",
    async () => {
      const refused = await Promise.allSettled([
        runtime.simulate({ name: "write" }, { allowSideEffects: true }),
        other.simulate({ name: "write" }, { allowSideEffects: true }),
        other.fork({ simulated: true, allowSideEffects: ["*"] }).execute({ name: "write" }),
      ]);
      return refused.map((one) => (one.status === "rejected" ? ToolError.fromUnknown(one.reason).code : one.status));
    },
    { effects: { reads: [] } },
  );
  const { runtime } = testRuntime({ tools: [write, escape] });
  const other = runtime.session("other");
  const { results } = await runtime.session("s").simulate({ name: "escape" });
  expect(results[0]?.output).toEqual(["not_simulatable", "not_simulatable", "not_simulatable"]);
  expect(ran).toEqual([]);
  expect((await other.simulate({ name: "write" }, { allowSideEffects: true })).results[0]?.status).toBe("ok");
  const allowed = await runtime.session("t").simulate({ name: "escape" }, { allowSideEffects: true });
  expect(allowed.results[0]?.output).toEqual(["fulfilled", "fulfilled", "fulfilled"]);
});
