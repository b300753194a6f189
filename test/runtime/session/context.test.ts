/** What a handler is told of its session, and what becomes of the session when a batch is taken back. */
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import type { ToolContext } from "../../../src/core/context.ts";
import type { Engine } from "../../../src/core/engine.ts";
import type { HistoryEntry } from "../../../src/core/history.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { parseJson } from "../../../src/core/base/parse-json.ts";
import { readEvent } from "../../../src/core/recording/read-event.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { toolFromJson, toolToJson } from "../../../src/registry/tool-definition.ts";
import { settle } from "../../../src/testing/fake-ports.ts";
import { gate, testRuntime, tool } from "../bench-runtime.ts";

const described = { description: "", inputSchema: true } as const;
/** Answers with the calls that it sees before its own. */
const seen = (_: unknown, { history }: ToolContext): readonly unknown[] =>
  history.map(({ call, result }: HistoryEntry) => `${call.name}=${JSON.stringify(result?.output ?? result?.error?.code)}`);

function sequential(call: Engine["call"] = seen): Engine {
  return { kind: "tale", order: "sequential", call };
}

test("F1.31 a handler's context has its call, session, turn, state, data, history and idempotency key", async () => {
  let context: ToolContext | undefined;
  const { runtime } = testRuntime({
    data: { user: "ann" },
    tools: [tool("look", (_, given) => void (context = given), { timeoutMs: 50 }), tool("echo", (input) => input)],
  });
  const session = runtime.session("s");
  await session.execute({ name: "echo", input: { n: 1 } });
  await session.execute({ id: "p1", name: "look" });
  const entry = session.history[1];
  expect({ ...pick(context), key: /^haft_[\w-]{32}$/u.test(context?.idempotencyKey ?? "") }).toEqual({
    callId: entry?.callId,
    turnId: entry?.turnId,
    toolName: "default::look",
    sessionId: "s",
    attempt: 1,
    simulated: false,
    deadline: 50,
    data: { user: "ann" },
    history: [session.history[0]],
    key: true,
  });
});

test("F1.31 F4.3 a handler's context has its tool, its agent and the folder for relative paths", async () => {
  const folder = join(tmpdir(), "mill");
  const seen: unknown[] = [];
  const grind = tool(
    "grind",
    (_, { tool: own, agentName, workingFolder, resolvePath, data }) =>
      void seen.push(own, agentName, workingFolder, resolvePath("flour/a.txt"), resolvePath("/abs"), resolvePath(".."), data["host"]),
    { tags: ["stone"] },
  );
  const { runtime } = testRuntime({ agentName: "miller", workingFolder: folder, data: { host: "north" }, tools: [grind] });
  await runtime.execute({ name: "grind" });
  expect(seen).toEqual([grind, "miller", folder, join(folder, "flour", "a.txt"), resolve("/abs"), tmpdir(), "north"]);

  const bare: unknown[] = [];
  const look = tool("look", (_, context) => void bare.push(context.agentName, context.workingFolder, context.resolvePath("x")));
  await testRuntime({ tools: [look] }).runtime.execute({ name: "look" });
  expect(bare).toEqual([undefined, process.cwd(), resolve("x")]);
  for (const workingFolder of ["", 5 as unknown as string]) expect(() => testRuntime({ workingFolder })).toThrow("workingFolder");
});

test("F1.31 a tool has its own folder and environment, which only its handler sees and no handler can change", async () => {
  const folder = join(tmpdir(), "mill");
  const show = (name: string, more: Partial<Tool> = {}) =>
    tool(
      name,
      ({ write }, { workingFolder, resolvePath, environment, tool: own }) => {
        if (write === true) Reflect.set(environment, "GRAIN", "rye");
        if (write === true) Reflect.set(own, "description", "changed");
        return [workingFolder, resolvePath("bag.txt"), environment, own.description];
      },
      more,
    );
  const tools = [
    show("sieve", { workingFolder: "upstairs", environment: { GRAIN: "oat" } }),
    show("cart", { workingFolder: resolve("/yard") }),
    show("sweep"),
  ];
  const { runtime } = testRuntime({ workingFolder: folder, tools });
  const results = await runtime.execute([
    { name: "sieve", input: { write: true } },
    { name: "sieve" },
    { name: "cart" },
    { name: "sweep" },
  ]);
  const upstairs = [join(folder, "upstairs"), join(folder, "upstairs", "bag.txt"), { GRAIN: "oat" }, "Does sieve."];
  expect(results.map(({ output }) => output)).toEqual([
    upstairs,
    upstairs,
    [resolve("/yard"), resolve("/yard/bag.txt"), {}, "Does cart."],
    [folder, join(folder, "bag.txt"), {}, "Does sweep."],
  ]);

  const json = toolToJson(runtime.registry.require("sieve"));
  expect([json.workingFolder, JSON.stringify(json).includes("oat")]).toEqual(["upstairs", false]);
  expect(toolFromJson({ ...json, environment: { GRAIN: "oat" } }).tool).toMatchObject({
    workingFolder: "upstairs",
    environment: { GRAIN: "oat" },
  });
  for (const wrong of [{ workingFolder: "" }, { workingFolder: 5 }, { environment: { A: 1 } }, { environment: "A=1" }])
    expect(() => testRuntime({ tools: [{ ...show("x"), ...wrong } as unknown as Tool] })).toThrow(
      `${Object.keys(wrong)[0]} of tool "x" is`,
    );
});

test("F4.3 toolState is private to its tool and session, and is part of snapshots, forks and rollbacks", async () => {
  const count = (name: string) =>
    tool(name, (_, { toolState, state }) => {
      state.update("all", (before) => Number(before ?? 0) + 1);
      toolState.update("own", (before) => Number(before ?? 0) + 1);
      return [toolState.get("own"), toolState.get("all") ?? null, state.get("all"), state.get("own") ?? null] as unknown;
    });
  const boom = tool("boom", () => Promise.reject(new Error("no")));
  const { runtime } = testRuntime({ toolsets: [{ name: "mill", tools: [count("grind"), count("sift"), boom] }] });
  const session = runtime.session("s");
  const outputs = [];
  for (const name of ["mill::grind", "mill::grind", "mill::sift"]) outputs.push((await session.execute({ name })).output);
  expect(outputs).toEqual([
    [1, null, 1, null],
    [2, null, 2, null],
    [1, null, 3, null],
  ]);
  await expect(session.execute([{ name: "mill::grind" }, { name: "mill::boom" }], { onError: "throw" })).rejects.toThrow("no");
  expect(session.state("mill::grind", "own")).toBe(2);
  const other = await runtime.session("other").execute({ name: "mill::grind" });
  const forked = await session.fork().execute({ name: "mill::grind" });
  const restored = runtime.session("r", { from: JSON.parse(JSON.stringify(await session.snapshot())) });
  const again = await restored.execute({ name: "mill::grind" });
  expect([other, forked, again].map(({ output }) => output)).toEqual([
    [1, null, 1, null],
    [3, null, 4, null],
    [3, null, 4, null],
  ]);
  expect(session.state("mill::grind", "own")).toBe(2);
});

function pick(context: ToolContext | undefined): Partial<ToolContext> {
  if (context === undefined) return {};
  const { callId, turnId, toolName, sessionId, attempt, simulated, deadline, data, history } = context;
  return { callId, turnId, toolName, sessionId, attempt, simulated, deadline, data, history };
}

test("F1.31 the idempotency key of a call is the same in all attempts and differs from every other call, fork and simulation", async () => {
  const keys: string[] = [];
  const flaky = tool(
    "flaky",
    (_, { idempotencyKey, attempt }) => {
      keys.push(idempotencyKey);
      if (attempt === 1) throw Object.assign(new Error("connection reset"), { code: "ECONNRESET" });
      return attempt;
    },
    { effects: { reads: [] } },
  );
  const { runtime, ports } = testRuntime({ tools: [flaky] });
  const [one, two] = [runtime.session("one"), runtime.session("two")];
  const run = async (session: RuntimeSession): Promise<void> => {
    const running = session.execute({ name: "flaky" });
    await ports.clock.advance(60_000);
    expect((await running).output).toBe(2);
  };
  const branch = one.fork();
  const simulation = one.fork({ simulated: true });
  for (const session of [one, one, two, branch, simulation]) await run(session);
  expect(keys.map((key, at) => key === keys[at - (at % 2)])).toEqual(keys.map(() => true));
  expect(new Set(keys).size).toBe(5);
});

test("C06 a call that a simulation lets have effects has an idempotency key unique across processes", async () => {
  const keys: string[] = [];
  const pay = tool("pay", (_, { idempotencyKey }) => void keys.push(idempotencyKey), { effects: { writes: ["money"] } });
  for (const first of ["process_1", "process_2"]) {
    let count = 0;
    const ids = { next: (prefix: string) => `${prefix}_${first}_${++count}` };
    const { runtime } = testRuntime({ tools: [pay], ports: { ids } });
    await runtime.simulate({ name: "pay" }, { allowSideEffects: true });
    await runtime.session("s").simulate({ name: "pay" }, { allowSideEffects: ["default::pay"] });
    await runtime.session("t").fork({ simulated: true, allowSideEffects: true }).fork().execute({ name: "pay" });
  }
  expect(new Set(keys).size).toBe(6);
});

test("F0.55 a call of a sequential engine sees another engine's earlier call of the same batch, with its result", async () => {
  const going = gate();
  const { runtime } = testRuntime({
    tools: [tool("fetch", () => going.promise.then(() => "fetched")), tool("fail", () => Promise.reject(new Error("no")))],
    toolsets: [{ name: "tale", engine: sequential(), tools: [{ ...described, name: "tell", effects: { reads: [] } }] }],
  });
  const session = runtime.session();
  const running = session.execute(["fetch", "tale::tell", "fail", "tale::tell"].map((name) => ({ name })));
  await settle();
  going.open();
  const results = await running;
  expect([results[1]?.output, results[3]?.output]).toEqual([
    ['fetch="fetched"'],
    ['fetch="fetched"', 'tale::tell=["fetch=\\"fetched\\""]', 'fail="execution_failed"'],
  ]);
});

test("F0.55 calls of a parallel engine see the session as it was when their batch started, whenever they look", async () => {
  const going = gate();
  const looks = [tool("early", seen), tool("late", (input, context) => going.promise.then(() => seen(input, context)))];
  const { runtime } = testRuntime({ tools: [...looks, tool("echo", (input) => input)] });
  const session = runtime.session();
  await session.execute({ name: "echo", input: { n: 1 } });
  const running = session.execute(["echo", "early", "late", "echo"].map((name) => ({ name })));
  await settle();
  going.open();
  const results = await running;
  expect([results[1]?.output, results[2]?.output]).toEqual([['echo={"n":1}'], ['echo={"n":1}']]);
});

test("F0.55 engines of a fork see what came before it, and a cancelled turn is seen as cancelled", async () => {
  const { runtime } = testRuntime({
    tools: [tool("echo", (input) => input)],
    toolsets: [{ name: "tale", engine: sequential(), tools: [{ ...described, name: "tell", effects: { reads: [] } }] }],
  });
  const session = runtime.session();
  await session.execute({ name: "echo", input: { n: 1 } });
  await session.execute({ name: "echo" }, { signal: AbortSignal.abort() });
  const branch = session.fork();
  await session.execute({ name: "echo", input: { n: 2 } });
  expect((await branch.execute({ name: "tale::tell" })).output).toEqual(['echo={"n":1}', 'echo="cancelled"']);
});

test("F1.30 the log has each call and its result with both ids, and parses back unchanged", async () => {
  const { runtime } = testRuntime({ tools: [tool("add", (_, { state }) => state.update("n", () => 1)), tool("echo", (input) => input)] });
  const session = runtime.session("s");
  await session.execute([
    { id: "toolu_1", name: "echo", input: { text: "\u0000\ud800é" } },
    { id: "toolu_2", name: "add" },
    { id: "toolu_3", name: "nope" },
  ]);
  const started = session.log.flatMap((event) => (event.type === "call-start" ? [[event.callId, event.call.id] as const] : []));
  const ended = session.log.flatMap((event) => (event.type === "call-end" ? [[event.callId, event.result.id] as const] : []));
  expect(started.map(([, id]) => id)).toEqual(["toolu_1", "toolu_2", "toolu_3"]);
  expect([new Set(started.map(([callId]) => callId)).size, new Map(ended)]).toEqual([3, new Map(started)]);
  expect(session.log.map((event) => readEvent(parseJson(JSON.stringify(event)), "the log"))).toEqual(session.log);
  expect(session.log.every((event) => Object.isFrozen(event))).toBe(true);
});

test("F1.30 a call with recordHistory false is in no history, and its state change is kept", async () => {
  const { runtime } = testRuntime({ tools: [tool("add", (_, { state }) => state.update("n", (n) => Number(n ?? 0) + 1))] });
  const session = runtime.session();
  await session.execute({ name: "add" }, { recordHistory: false });
  expect([session.history, (await session.snapshot()).state]).toEqual([[], { default: { n: 1 } }]);
});

const boom: Tool = tool("boom", (_, { state }) => {
  state.update("n", () => -1);
  throw new Error("boom");
});
const bump = tool("bump", (_, { state }) => (state.update("n", (n) => Number(n ?? 0) + 1), state.get("n")));

test("F4.26 a batch that throws restores the session's state and head, and its log grows", async () => {
  const { runtime } = testRuntime({ tools: [bump, boom] });
  const session = runtime.session();
  await session.execute({ name: "bump" });
  const before = await session.snapshot();
  const { history } = session;
  const failing = session.execute([{ name: "bump" }, { name: "boom" }, { name: "bump" }], { onError: "throw" });
  await expect(failing).rejects.toMatchObject({ name: "ToolExecutionError" });
  const after = await session.snapshot();
  expect([after.state, session.history]).toEqual([before.state, history]);
  expect(session.log.at(-1)).toMatchObject({ type: "batch-rollback" });
  expect((await session.execute({ name: "bump" })).output).toBe(2);
  const restored = runtime.session("r", { from: after });
  expect([restored.history.length, restored.state("default", "n")]).toEqual([1, 1]);
});

test("F4.26 a rollback in a branch does not affect the parent, and the branch can still be committed", async () => {
  const { runtime } = testRuntime({ tools: [bump, boom] });
  const session = runtime.session();
  await session.execute({ name: "bump" });
  const branch = session.fork();
  await branch.execute({ name: "bump" });
  await expect(branch.execute([{ name: "bump" }, { name: "boom" }], { onError: "throw" })).rejects.toThrow("boom");
  expect([session.state("default", "n"), branch.state("default", "n")]).toEqual([1, 2]);
  await branch.commit();
  expect([session.state("default", "n"), session.history.length]).toEqual([2, 2]);
});

test("F4.26 nested calls of a batch's handlers are rolled back with it", async () => {
  const outer = tool("outer", async () => (await session.execute({ name: "bump" })).output);
  const { runtime } = testRuntime({ tools: [bump, boom, outer] });
  const session: RuntimeSession = runtime.session();
  await expect(session.execute([{ name: "outer" }, { name: "boom" }], { onError: "throw" })).rejects.toThrow("boom");
  expect([session.history, session.state("default", "n")]).toEqual([[], undefined]);
});

test("F0.55 the history that nested calls see does not depend on the speed of their caller's siblings", async () => {
  const see = async (isFast: boolean): Promise<unknown> => {
    const [outer, sibling] = [gate(), gate()];
    const { runtime } = testRuntime({
      tools: [
        tool("outer", async () => (await outer.promise, (await session.execute({ name: "look" })).output)),
        tool("sibling", () => sibling.promise),
        tool("look", seen),
      ],
    });
    const session: RuntimeSession = runtime.session();
    const running = session.execute([{ name: "outer" }, { name: "sibling" }]);
    for (const one of isFast ? [sibling, outer] : [outer, sibling]) {
      one.open();
      await settle();
    }
    return (await running)[0]?.output;
  };
  expect(await see(true)).toEqual(await see(false));
});
