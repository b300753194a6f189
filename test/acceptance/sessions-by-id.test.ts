/** Sessions as seed 000 has them: reached by an id alone, set up with arguments, and batches of which nothing runs unless all can. */
import { describe, expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import type { ToolCall } from "../../src/core/call.ts";
import type { Engine, EngineSession } from "../../src/core/engine.ts";
import type { ToolResult } from "../../src/core/result.ts";
import { perSession } from "../../src/engine/per-session.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";

/** The five acts of the seed, by id, as one writes them over this runtime. */
function actsById(runtime: Runtime) {
  const open = (id: string) => {
    const session = runtime.sessions.get(id);
    if (session === undefined) throw new ToolError("not_found", `Session ${id} is not active. Call setup().`);
    return session;
  };
  return {
    setup: (id: string) => void runtime.session(id),
    execute: (id: string, calls: readonly ToolCall[]): Promise<readonly ToolResult[]> => open(id).execute(calls),
    simulate: async (id: string, calls: readonly ToolCall[]) => (await open(id).simulate(calls)).results,
    teardown: async (id: string) => await runtime.sessions.get(id)?.close(),
    state: async (id: string) => await runtime.sessions.get(id)?.snapshot(),
  };
}

function counting(): { readonly runtime: Runtime; readonly counts: number[] } {
  const counts: number[] = [];
  const runtime = createRuntime({
    tools: [
      {
        name: "count",
        description: "Counts.",
        inputSchema: {},
        effects: { writes: ["session:count"] },
        execute: (_input, { state }) => {
          state.update("n", (n) => Number(n ?? 0) + 1);
          counts.push(Number(state.get("n")));
          return state.get("n");
        },
      },
    ],
  });
  return { runtime, counts };
}

test("F0.26 F0.27 a caller that holds nothing but ids does all the acts of the seed", async () => {
  const { runtime } = counting();
  const engine = actsById(runtime);
  const id = "chat / 7 ✓";
  engine.setup(id);
  expect(() => engine.setup(id)).toThrow(/open already/u);
  await engine.execute(id, [{ name: "count" }, { name: "count" }]);
  const before = await engine.state(id);
  const probe = await engine.simulate(id, [{ name: "count" }]);
  expect(probe.map(({ output }) => output)).toEqual([3]);
  expect((await engine.state(id))?.events).toEqual(before?.events);
  expect((await engine.execute(id, [{ name: "count" }])).map(({ output }) => output)).toEqual([3]);

  await engine.teardown(id);
  await engine.teardown(id);
  await engine.teardown("never there");
  expect(await engine.state(id)).toBeUndefined();
  expect(() => engine.execute(id, [])).toThrow(/not active/u);
  expect(runtime.sessions.list()).toEqual([]);
});

/** An engine that notes what each session was set up with. */
function settable(seen: (readonly [string, unknown])[]): Engine {
  const setups = new Map<string, unknown>();
  return {
    kind: "diary",
    openSession({ sessionId, setup }: EngineSession) {
      seen.push([sessionId, setup]);
      setups.set(sessionId, setup["owner"]);
    },
    forkSession: (from, to) => void setups.set(to, setups.get(from)),
    call: (_request, { sessionId }) => setups.get(sessionId) ?? null,
    closeSession: (sessionId) => void setups.delete(sessionId),
  };
}
const WRITE = { name: "write", description: "Writes.", inputSchema: {} };

describe("F0.26 what a session is set up with", () => {
  test("reaches its engines, once, and those of its branches; other sessions have none", async () => {
    const seen: (readonly [string, unknown])[] = [];
    const runtime = createRuntime({ toolsets: [{ name: "diary", engine: settable(seen), tools: [WRITE] }] });
    await runtime.open();
    const pen = { colour: () => "blue" };
    const owned = runtime.session("a", { setup: { owner: "Ada", pen } });
    const call = { name: "diary::write" };
    const outputs = [await owned.execute(call), await owned.execute(call), await owned.fork({ id: "b" }).execute(call)];
    outputs.push(await runtime.session("c").execute(call), await runtime.execute(call));

    expect(outputs.map(({ output }) => output)).toEqual(["Ada", "Ada", "Ada", null, null]);
    expect(seen.slice(0, 2)).toEqual([
      ["a", { owner: "Ada", pen }],
      ["c", {}],
    ]);
    expect(Object.isFrozen(seen[0]?.[1])).toBe(true);
  });

  test("reaches an engine of its own for each session, and one that a branch begins with", async () => {
    const seen: (readonly [string, unknown])[] = [];
    const engine = perSession(() => settable(seen));
    const runtime = createRuntime({ toolsets: [{ name: "diary", engine, tools: [WRITE] }] });
    await runtime.open();
    const session = runtime.session("a", { setup: { owner: "Ada" } });
    const branch = session.fork({ id: "b" });
    const results = [await branch.execute({ name: "diary::write" }), await session.execute({ name: "diary::write" })];

    expect(results.map(({ output }) => output)).toEqual(["Ada", "Ada"]);
    expect(seen).toEqual([
      ["b", { owner: "Ada" }],
      ["a", { owner: "Ada" }],
    ]);
  });

  test("is given again by a resume", async () => {
    const seen: (readonly [string, unknown])[] = [];
    const store = memoryStore();
    const runtime = createRuntime({ store, toolsets: [{ name: "diary", engine: settable(seen), tools: [WRITE] }] });
    await runtime.open();
    const first = runtime.session("a", { setup: { owner: "Ada" } });
    await first.execute({ name: "diary::write" });
    await first.close();
    const second = await runtime.resume("a", { setup: { owner: "Bo" } });

    expect((await second.execute({ name: "diary::write" })).output).toBe("Bo");
  });

  test.each([5, "x", null, ["a"]])("is an object: %j is refused", async (setup) => {
    const { runtime } = counting();
    expect(() => runtime.session("a", { setup: setup as never })).toThrow(/setup/u);
    await expect(runtime.resume("a", { setup: setup as never })).rejects.toThrow(/setup/u);
  });
});

describe("F0.53 a strict batch", () => {
  const ran: string[] = [];
  function twoToolsets(): Runtime {
    ran.length = 0;
    const tool = (name: string, more: object = {}) => ({
      name,
      description: "",
      inputSchema: { type: "object", properties: { n: { type: "integer" } } },
      effects: { reads: ["x"], writes: [] },
      execute: () => (ran.push(name), name),
      ...more,
    });
    return createRuntime({
      toolsets: [
        { name: "m", tools: [tool("a"), tool("once", { effects: { writes: ["x"] }, oncePerTurn: true })] },
        {
          name: "n",
          tools: [
            tool("b"),
            tool("secret"),
            { name: "told", description: "", inputSchema: {} },
            tool("torn", { inputSchema: { type: "array" } }),
            tool("guarded", { requires: ["user"] }),
          ],
        },
      ],
      permission: { deny: ["n::secret"] },
      ports: fakePorts(), // whose log takes the warning that nothing runs one of them
    });
  }
  const good: readonly ToolCall[] = [
    { id: "1", name: "m::a" },
    { id: "2", name: "n::b", input: { n: 1 } },
  ];

  test.each([
    ["an unknown namespace", { id: "3", name: "zz::q" }, "not_found"],
    ["an unknown tool", { id: "3", name: "m::q" }, "not_found"],
    ["an input that does not fit", { id: "3", name: "m::a", input: { n: "many" } }, "invalid_input"],
    ["no name", { id: "3" } as ToolCall, "invalid_call"],
    ["a denied tool", { id: "3", name: "n::secret" }, "permission_denied"],
    ["a tool that is only described", { id: "3", name: "n::told" }, "not_executable"],
    ["a tool whose schema cannot be used", { id: "3", name: "n::torn" }, "unavailable"],
    ["a tool that lacks its context", { id: "3", name: "n::guarded" }, "unavailable"],
    ["a second use of what may run once", { id: "3", name: "m::once" }, "limit_exceeded"],
    ["an id that stands twice", { id: "1", name: "m::a" }, "invalid_call"],
  ])("runs nothing where one call has %s; each of the others says so", async (_what, bad, code) => {
    const runtime = twoToolsets();
    await runtime.open();
    const before: ToolCall = bad.name === "m::once" ? { id: "0", name: "m::once" } : { id: "1", name: "m::a" };
    const calls = [before, bad, ...good.slice(1)];
    const results = await runtime.execute(calls, { strict: true });

    expect(ran).toEqual([]);
    expect(results.map(({ status, error }) => [status, error?.code === code])).toEqual([
      ["skipped", false],
      ["error", true],
      ["skipped", false],
    ]);
    const { results: tried } = await runtime.session().simulate(calls, { strict: true, allowSideEffects: ["*"] });
    expect([ran, tried.map(({ status }) => status)]).toEqual([[], ["skipped", "error", "skipped"]]);
    for (const index of [0, 2])
      expect(results[index]?.error).toMatchObject({
        code: "cancelled",
        outcome: "not_started",
        message: expect.stringContaining("strict"),
      });
  });

  test("runs all where every call can be run, and without strict the others run beside a wrong one", async () => {
    const runtime = twoToolsets();
    await runtime.open();
    expect((await runtime.execute(good, { strict: true })).map(({ output }) => output)).toEqual(["a", "b"]);
    ran.length = 0;
    const mixed = await runtime.execute([...good, { name: "zz::q" }]);
    expect([ran, mixed.map(({ status }) => status)]).toEqual([
      ["a", "b"],
      ["ok", "ok", "error"],
    ]);
  });

  test("leaves a turn as it was: what may run once has not run, and one result for each call is in the history", async () => {
    const runtime = twoToolsets();
    await runtime.open();
    const session = runtime.session("s");
    await session.turn(async (turn) => {
      const refused = await session.execute([{ name: "m::once" }, { name: "zz::q" }], { strict: true });
      expect(refused.map(({ status }) => status)).toEqual(["skipped", "error"]);
      expect((await session.execute([{ name: "m::once" }], { strict: true })).map(({ status }) => status)).toEqual(["ok"]);
      expect(turn.endedBy).toBeUndefined();
    });
    expect(ran).toEqual(["once"]);
    expect(session.history.length).toBe(3);
  });

  test("is a boolean", async () => {
    await expect(twoToolsets().execute(good, { strict: "yes" as never })).rejects.toThrow(/strict/u);
  });
});
