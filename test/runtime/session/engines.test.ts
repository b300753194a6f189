/** Engines that remember sessions: begun, asked, copied, restored and let go of by the runtime. */
import { expect, test } from "vitest";
import type { Engine, EngineSession } from "../../../src/core/engine.ts";
import { ToolError } from "../../../src/core/error.ts";
import type { JsonValue } from "../../../src/core/base/json.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { settle } from "../../../src/testing/fake-ports.ts";
import { gate, testRuntime } from "../bench-runtime.ts";
import { collectUnhandledRejections } from "../../unhandled-rejections.ts";

/** Counts in a place of its own, by session, and notes how it was driven. */
export class CountingEngine implements Engine {
  readonly kind = "counting";
  readonly state = "remote" as const;
  readonly counts = new Map<string, number>();
  readonly said: string[] = [];

  openSession({ sessionId, snapshot }: EngineSession): void {
    this.said.push(`open ${sessionId}`);
    if (this.counts.has(sessionId)) throw new Error(`${sessionId} is open already`);
    this.counts.set(sessionId, typeof snapshot === "number" ? snapshot : 0);
  }

  call({ tool }: { readonly tool: Tool }, { sessionId }: { readonly sessionId: string }): number {
    this.said.push(`${tool.name} ${sessionId}`);
    const count = this.counts.get(sessionId);
    if (count === undefined) throw new Error(`${sessionId} is not open`);
    if (tool.name === "get") return count;
    this.counts.set(sessionId, count + 1);
    return count + 1;
  }

  simulate(_: unknown, { sessionId }: { readonly sessionId: string }): number {
    this.said.push(`simulate ${sessionId}`);
    return -1;
  }

  forkSession(sessionId: string, branchId: string): void {
    this.said.push(`fork ${sessionId} ${branchId}`);
    this.counts.set(branchId, this.counts.get(sessionId) ?? 0);
  }

  snapshotSession(sessionId: string): JsonValue {
    return this.counts.get(sessionId) ?? 0;
  }

  closeSession(sessionId: string): void {
    this.said.push(`close ${sessionId}`);
    this.counts.delete(sessionId);
  }
}

const described = { description: "", inputSchema: true };
const TOOLS: readonly Tool[] = [
  { ...described, name: "add", effects: { writes: ["count"] } },
  { ...described, name: "get", effects: { reads: ["count"] } },
];

function counting(engine: Engine = new CountingEngine(), names: readonly string[] = ["c"]) {
  return testRuntime({ toolsets: names.map((name) => ({ name, engine, tools: TOOLS })) });
}

test("F0.26 F0.27 an engine is opened, called, simulated, forked and closed with the caller's session id and nothing else", async () => {
  const engine = new CountingEngine();
  const { runtime } = counting(engine);
  const session = runtime.session("the caller's");
  await session.execute([{ name: "c::add" }, { name: "c::add" }]);
  const branch = session.fork({ id: "branch" });
  expect((await branch.execute({ name: "c::add" })).output).toBe(3);
  const { results } = await session.simulate({ name: "c::add" });
  expect(results.map((result) => [result.output, result.origin])).toEqual([[-1, "simulated"]]);
  expect((await session.execute({ name: "c::get" })).output).toBe(2);
  await branch.close();
  await session.close();
  const simulation = "the caller's~4.1";
  expect(engine.said).toEqual([
    "open the caller's",
    "add the caller's",
    "add the caller's",
    "fork the caller's branch",
    "add branch",
    `fork the caller's ${simulation}`,
    `simulate ${simulation}`,
    `close ${simulation}`,
    "get the caller's",
    "close branch",
    "close the caller's",
  ]);
  expect(engine.counts.size).toBe(0);
});

test("F0.26 an engine session is closed after a call without a session", async () => {
  const engine = new CountingEngine();
  const { runtime } = counting(engine);
  expect((await runtime.execute({ name: "c::add" })).output).toBe(1);
  expect((await runtime.simulate({ name: "c::get" })).results[0]?.output).toBe(0);
  expect([engine.said.filter((line) => line.startsWith("open")).length, engine.counts.size]).toEqual([2, 0]);
});

test("F0.26 an engine session of a simulation without a session is closed, also when the simulation throws", async () => {
  const engine = new CountingEngine();
  Object.assign(engine, { forkSession: undefined });
  const { runtime } = counting(engine);
  expect((await runtime.simulate({ name: "c::get" })).results[0]?.output).toBe(0);
  Object.assign(engine, { call: () => Promise.reject(new Error("no")) });
  await expect(runtime.simulate([{ name: "c::get" }], { onError: "throw" })).rejects.toThrow("no");
  expect([engine.said, engine.counts.size]).toEqual([
    ["open simulation1~0.1", "get simulation1~0.1", "close simulation1~0.1", "open simulation2~0.1", "close simulation2~0.1"],
    0,
  ]);
});

test("F0.26 F0.33 a call keeps its place while its engine opens the session, and loses it when opening fails", async () => {
  const beginning = gate();
  const ran: string[] = [];
  const slow: Engine = { kind: "slow", openSession: () => beginning.promise, call: () => ran.push("add") };
  const { runtime, ports } = testRuntime({
    toolsets: [{ name: "c", engine: slow, tools: TOOLS }],
    tools: [{ ...described, name: "look", effects: { reads: ["count"] }, execute: () => ran.push("look") }],
  });
  const batch = runtime.session().execute([{ name: "c::add" }, { name: "look" }]);
  await settle();
  expect(ran).toEqual([]);
  beginning.open();
  await batch;
  expect(ran).toEqual(["add", "look"]);
  Object.assign(slow, { openSession: () => new Promise<void>(() => {}) });
  const hanging = runtime.session().execute([{ name: "c::add" }, { name: "look" }]);
  await ports.clock.advance(30_000);
  expect((await hanging).map((result) => result.error?.code)).toEqual(["timeout", undefined]);
});

test("F0.26 an engine that cannot open a session fails that call, and is tried again by the next", async () => {
  let fails = 2;
  const engine: Engine = {
    kind: "shy",
    call: () => "hello",
    openSession: () => {
      if (fails-- > 0) throw new Error("not now");
    },
  };
  const { runtime } = counting(engine);
  const session = runtime.session();
  const outcomes = [];
  for (let round = 0; round < 3; round++) outcomes.push(await session.execute({ name: "c::add" }));
  expect(outcomes.map((result) => [result.status, result.error?.code, result.error?.message, result.attempts])).toEqual([
    ["error", "unavailable", "The engine of c::add could not begin the session: not now", 0],
    ["error", "unavailable", "The engine of c::add could not begin the session: not now", 0],
    ["ok", undefined, undefined, 1],
  ]);
});

test("F0.26 an engine that hangs when a session is opened, snapshotted or closed is not waited for", async () => {
  let signal: AbortSignal | undefined;
  const deaf: Engine = {
    kind: "deaf",
    call: () => 1,
    openSession: (session) => ((signal = session.signal), new Promise<void>(() => {})),
    closeSession: () => new Promise<void>(() => {}),
    snapshotSession: () => new Promise<JsonValue>(() => {}),
  };
  const { runtime, ports } = counting(deaf);
  const session = runtime.session("a");
  const call = session.execute({ name: "c::add" });
  await ports.clock.advance(30_000);
  expect((await call).error).toMatchObject({ code: "timeout", outcome: "not_started" });
  expect(signal?.aborted).toBe(true);
  const snapshot = expect(session.snapshot()).rejects.toMatchObject({ code: "timeout" });
  await ports.clock.advance(10_000);
  await snapshot;
  const closing = session.close();
  await ports.clock.advance(10_000);
  await closing;
  expect(ports.log.lines.filter(({ level }) => level === "warn").map((line) => line.message)).toEqual([
    'The engine deaf did not end the session "a": no answer within 10000 ms',
  ]);
});

test("F0.51 a batch over two engines keeps its order, and an engine of two toolsets is opened and closed once", async () => {
  const shared = new CountingEngine();
  const other = new CountingEngine();
  const { runtime } = testRuntime({
    toolsets: [
      { name: "a", engine: shared, tools: TOOLS },
      { name: "b", engine: other, tools: TOOLS },
      { name: "c", engine: shared, tools: TOOLS },
    ],
  });
  const session = runtime.session("s");
  const results = await session.execute(["c", "b", "a", "b", "c"].map((name) => ({ name: `${name}::add` })));
  expect(results.map((result) => [result.name, result.output])).toEqual([
    ["c::add", 1],
    ["b::add", 1],
    ["a::add", 2],
    ["b::add", 2],
    ["c::add", 3],
  ]);
  await session.close();
  const lives = (engine: CountingEngine): readonly string[] => engine.said.filter((line) => /open|close/u.test(line));
  expect([lives(shared), lives(other)]).toEqual([
    ["open s", "close s"],
    ["open s", "close s"],
  ]);
});

test("F0.39 F0.53 an unknown tool gets an error result before anything of the batch runs", async () => {
  const engine = new CountingEngine();
  const { runtime, trace } = counting(engine, ["a"]);
  const session = runtime.session("s");
  const results = await session.execute(["a::add", "b::add", "a::nope", "a::add"].map((name) => ({ name })));
  expect(results.map((result) => [result.status, result.output ?? result.error?.code])).toEqual([
    ["ok", 1],
    ["error", "not_found"],
    ["error", "not_found"],
    ["ok", 2],
  ]);
  const order = trace().filter((type) => type === "call-end" || type === "call-attempt");
  expect(order.slice(0, 3)).toEqual(["call-end", "call-end", "call-attempt"]);
  expect(engine.said).toEqual(["open s", "add s", "add s"]);
});

test("F0.52 a simulation over several engines does not change their state", async () => {
  const [one, two] = [new CountingEngine(), new CountingEngine()];
  const { runtime } = testRuntime({
    toolsets: [
      { name: "a", engine: one, tools: TOOLS },
      { name: "b", engine: two, tools: TOOLS },
    ],
  });
  const session = runtime.session("s");
  await session.execute([{ name: "a::add" }, { name: "b::add" }]);
  const { results } = await session.simulate([{ name: "a::add" }, { name: "b::add" }, { name: "a::get" }]);
  expect(results.map((result) => [result.output, result.origin])).toEqual([
    [-1, "simulated"],
    [-1, "simulated"],
    [-1, "simulated"],
  ]);
  expect([...one.counts, ...two.counts]).toEqual([
    ["s", 1],
    ["s", 1],
  ]);
});

test("F0.54 a snapshot over two engines restores the state of both, also when taken twice", async () => {
  const { runtime } = testRuntime({
    toolsets: [
      { name: "a", engine: new CountingEngine(), tools: TOOLS },
      { name: "b", engine: new CountingEngine(), tools: TOOLS },
      { name: "c", engine: new CountingEngine(), tools: TOOLS },
    ],
  });
  const session = runtime.session("s");
  await session.execute(["a::add", "b::add", "b::add"].map((name) => ({ name })));
  const snapshot = await session.snapshot();
  expect(snapshot.engines).toEqual({ a: 1, b: 2 });
  const restored = runtime.session("t", { from: structuredClone(snapshot) });
  expect((await restored.execute({ name: "a::add" })).output).toBe(2);
  // Nothing has asked b yet: what it remembered is in no engine, only in the session.
  const again = await restored.snapshot();
  expect(again.engines).toEqual({ a: 2, b: 2 });
  const branch = restored.fork();
  const outputs = await runtime.session("u", { from: again }).execute(["a::add", "b::add", "c::add"].map((name) => ({ name })));
  expect(outputs.map((result) => result.output)).toEqual([3, 3, 1]);
  expect((await branch.execute(["a::get", "b::get"].map((name) => ({ name })))).map((result) => result.output)).toEqual([2, 2]);
  expect(restored.history.map((entry) => entry.call.name)).toEqual(["a::add", "b::add", "b::add", "a::add"]);
});

test("F0.54 an engine whose state is not JSON fails the snapshot and not the session", async () => {
  const engine = Object.assign(new CountingEngine(), { snapshotSession: () => new Map() as unknown as JsonValue });
  const session = counting(engine).runtime.session("s");
  await session.execute({ name: "c::add" });
  await expect(session.snapshot()).rejects.toMatchObject({ code: "not_json" });
  expect((await session.execute({ name: "c::add" })).output).toBe(2);
});

test("F0.26 a branch of a remote engine without forkSession reads its session's state and writes nothing", async () => {
  const engine = new CountingEngine();
  Object.assign(engine, { forkSession: undefined });
  const session = counting(engine).runtime.session("s");
  await session.execute({ name: "c::add" });
  const branch = session.fork().fork();
  const results = await branch.execute([{ name: "c::get" }, { name: "c::add" }]);
  expect(results.map((result) => [result.status, result.output, result.error?.code])).toEqual([
    ["ok", 1, undefined],
    ["error", undefined, "not_forkable"],
  ]);
  expect(engine.said).toEqual(["open s", "add s", "get s"]);
  await branch.close();
  expect(engine.said.at(-1)).toBe("get s");
});

test("F0.26 a branch cannot be committed if its remote engine has a separate state for it", async () => {
  const session = counting().runtime.session("s");
  await session.execute({ name: "c::add" });
  const branch = session.fork({ id: "b" });
  await branch.execute({ name: "c::add" });
  await expect(branch.commit()).rejects.toMatchObject({
    code: "conflict",
    message: 'The branch "b" cannot be committed: its engine "counting" keeps the changes of the branch apart from its session.',
  });
});

test("F0.26 a failed forkSession opens a new engine session, without an unhandled rejection if the engine never opened", async () => {
  const unhandled = collectUnhandledRejections();
  const beginning = gate();
  const said: string[] = [];
  const engine: Engine = {
    kind: "torn",
    state: "remote",
    call: (_, { sessionId }) => sessionId,
    openSession: ({ sessionId }) => (said.push(`open ${sessionId}`), sessionId === "s" ? beginning.promise : undefined),
    forkSession: () => Promise.reject(new Error("no copy")),
  };
  const session = counting(engine).runtime.session("s");
  const first = session.execute({ name: "c::get" });
  await settle();
  const branch = session.fork({ id: "b" });
  await settle();
  beginning.fail(new Error("no beginning"));
  expect((await first).error?.code).toBe("unavailable");
  await settle();
  expect((await branch.execute({ name: "c::get" })).output).toBe("b");
  expect([said, unhandled]).toEqual([["open s", "open b"], []]);
});

test("F0.35 an effect-free engine answers a simulation with its live answer", async () => {
  const upper: Engine = { kind: "upper", effectFree: true, call: ({ input }) => String(input["text"]).toUpperCase() };
  const { runtime } = testRuntime({ toolsets: [{ name: "t", engine: upper, tools: [{ ...described, name: "upper" }] }] });
  const session = runtime.session();
  const call = { name: "t::upper", input: { text: "a" } };
  const real = await session.execute(call);
  const { results } = await session.simulate(call);
  expect([real, results[0]].map((result) => [result?.output, result?.origin])).toEqual([
    ["A", "live"],
    ["A", "live"],
  ]);
});

test("F0.26 an engine whose state is a value is forked and rolled back with the session, and is in its snapshot", async () => {
  const engine: Engine = {
    kind: "value",
    state: "value",
    effectFree: true,
    call: ({ tool }, { state }) => {
      if (tool.name === "get") return state.get("n") ?? 0;
      state.update("n", (before) => Number(before ?? 0) + 1);
      if (tool.name === "fail") throw new ToolError("execution_failed", "no");
      return state.get("n");
    },
  };
  const { runtime } = testRuntime({ toolsets: [{ name: "c", engine, tools: [...TOOLS, { ...described, name: "fail" }] }] });
  const session = runtime.session();
  await session.execute({ name: "c::add" });
  const branch = session.fork();
  await branch.execute([{ name: "c::add" }, { name: "c::add" }]);
  expect((await session.simulate([{ name: "c::add" }, { name: "c::add" }])).results.map((result) => result.output)).toEqual([2, 3]);
  await expect(session.execute([{ name: "c::add" }, { name: "c::fail" }], { onError: "throw" })).rejects.toThrow("no");
  const restored = runtime.session("r", { from: await branch.snapshot() });
  const values = await Promise.all([session, branch, restored].map(async (one) => (await one.execute({ name: "c::get" })).output));
  expect(values).toEqual([1, 3, 3]);
});

test("F0.59 an openSession that several calls wait for is aborted with the last of them, and the next call opens anew", async () => {
  const signals: AbortSignal[] = [];
  const gates = [gate(), gate()];
  const engine: Engine = {
    kind: "slow",
    call: () => "answered",
    openSession: async ({ signal }) => {
      const place = signals.push(signal) - 1;
      await gates[place]?.promise;
      signal.throwIfAborted();
    },
  };
  const read = { description: "", inputSchema: {}, effects: { reads: [], writes: [] } };
  const tools = [
    { ...read, name: "x", deadlineMs: 50 },
    { ...read, name: "y", deadlineMs: 100 },
  ];
  const { runtime, ports } = testRuntime({ toolsets: [{ name: "a", engine, tools }] });
  await runtime.open();
  const session = runtime.session();
  const calls = session.execute([{ name: "x" }, { name: "y" }]);
  await ports.clock.advance(50);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  await ports.clock.advance(50);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  expect(await calls).toMatchObject([{ error: { code: "timeout" } }, { error: { code: "timeout" } }]);

  const next = session.execute({ name: "x" });
  await settle();
  expect(signals).toHaveLength(1);
  for (const { open } of gates) open();
  expect(await next).toMatchObject({ output: "answered" });
  expect(signals).toHaveLength(2);
  await runtime.close();
});
