/** What a simulation, a rollback or a caller who gives odd values must not be able to do to a session. */
import { describe, expect, test } from "vitest";
import type { Engine } from "../../../src/core/engine.ts";
import type { Hook } from "../../../src/core/hook.ts";
import type { Tool } from "../../../src/core/tool.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { settle } from "../../../src/testing/fake-ports.ts";
import { gate, testRuntime, tool } from "../bench-runtime.ts";
import { FailingStore } from "./failing-store.ts";
import { testInCI } from "../../test-in-ci.ts";

const own = { writes: ["session:own"] };
const boom = tool("boom", () => {
  throw new Error("boom");
});
const standIn: Engine = { kind: "stub", call: () => "pretended" };

/** Keeps every result whole that has more than a few lines. */
const long = (text: string): string => `${text}\n`.repeat(100_000);

test("F4.26 a rollback restores a value from before a nested rollback too", async () => {
  let session: RuntimeSession | undefined;
  const over = gate();
  const late = tool("late", async () => {
    await over.promise;
    throw new Error("late");
  });
  const tools = [
    tool(
      "outer",
      async (_, { state }) => {
        state.update("k", () => 1);
        await session?.execute([{ name: "inner" }, { name: "boom" }], { onError: "throw" }).catch(() => {});
        over.open();
        return state.get("k");
      },
      { effects: own },
    ),
    tool("inner", (_, { state }) => state.update("k", () => 2), { effects: { writes: ["session:inner"] } }),
    boom,
    late,
  ];
  const { runtime } = testRuntime({ tools });
  session = runtime.session();
  expect((await session.execute({ name: "outer" })).output).toBe(1);
  session = runtime.session();
  await expect(session.execute([{ name: "outer" }, { name: "late" }], { onError: "throw" })).rejects.toThrow("late");
  expect(session.state("default", "k")).toBeUndefined();
});

test("F0.36 handlers of two sessions that wait for each other's turn end with resource_busy instead of hanging", async () => {
  const sessions = new Map<string, RuntimeSession>();
  const both = gate();
  let inside = 0;
  const cross = tool("cross", async ({ to }) => {
    if (++inside === 2) both.open();
    await both.promise;
    const other = sessions.get(String(to));
    return (await other?.execute({ name: "noop" }))?.status;
  });
  const { runtime } = testRuntime({ tools: [cross, tool("noop", () => 1)], timeoutMs: 0, deadlineMs: 0 });
  for (const name of ["a", "b"]) sessions.set(name, runtime.session(name));
  const ended = new Map<string, unknown>();
  for (const session of sessions.values())
    void session
      .execute({ name: "cross", input: { to: session.id === "a" ? "b" : "a" } })
      .then(({ error, output }) => ended.set(session.id, error?.code ?? output));
  await settle();
  await settle();
  expect(ended).toEqual(
    new Map([
      ["b", "resource_busy"],
      ["a", "ok"],
    ]),
  );
});

describe("C06 a large result of a simulation", () => {
  const megabytes = (text: string): string => text.repeat(4_000_000 / text.length);
  const tools = [
    tool("big", () => megabytes("simulated "), { effects: { reads: ["world"] } }),
    tool("live", () => megabytes("live "), { effects: { reads: ["world"] } }),
  ];
  const read = async (session: RuntimeSession, handle: string | undefined) =>
    (await session.execute({ name: "read_result", input: { handle, limit: 1 } })).status;

  testInCI("does not displace stored results of live calls, and is available to the session that commits it", async () => {
    const session = testRuntime({ tools }).runtime.session();
    const live = await session.execute({ name: "live" });
    for (let count = 0; count < 20; count++) await session.simulate({ name: "big" });
    const { results, commit } = await session.simulate([{ name: "big" }]);
    await commit();
    expect([await read(session, live.truncation?.handle), await read(session, results[0]?.truncation?.handle)]).toEqual(["ok", "ok"]);
  });

  test.each([false, true])("can be read by branches of a committed branch, where the branch is simulated: %s", async (simulated) => {
    const session = testRuntime({ tools }).runtime.session();
    const branch = session.fork({ simulated });
    const { truncation } = await branch.execute({ name: "big" });
    const inner = branch.fork();
    await branch.commit();
    expect([await read(session, truncation?.handle), await read(inner, truncation?.handle)]).toEqual(["ok", "ok"]);
  });

  test("is stored with the session that commits it, also through another simulation, and can be read after a restart", async () => {
    const store = new FailingStore();
    const session = testRuntime({ store, tools }).runtime.session("s");
    const outer = session.fork({ simulated: true });
    const simulation = await outer.simulate([{ name: "big" }]);
    await simulation.commit();
    await outer.commit();
    expect(store.disk.types("s")).toEqual(["session-start", "output-keep", "branch-commit", "branch-commit", "call-start", "call-end"]);
    const resumed = await testRuntime({ store: store.crash(), tools }).runtime.resume("s");
    expect(await read(resumed, simulation.results[0]?.truncation?.handle)).toBe("ok");
  });

  test("C01 cannot be read by a session that takes the id of the dropped branch", async () => {
    const { runtime } = testRuntime({ tools });
    const session = runtime.session("s");
    const simulation = await session.simulate([{ name: "big" }]);
    const handle = simulation.results[0]?.truncation?.handle;
    const branchId = handle?.replace(/^call_/, "").replace(/_\d+$/, "") ?? "";
    const stranger = runtime.session(branchId);
    expect(await read(stranger, handle)).toBe("error");
  });
});

test("C06 rolling back a simulation undoes nothing for calls that had no effect in it", async () => {
  const undone: string[] = [];
  const undoing = (name: string, effects: Tool["effects"]) =>
    tool(name, () => 1, { effects: { ...effects, undo: () => void undone.push(name) } });
  const tools = [undoing("note", own), undoing("read", { reads: ["file"], writes: [] }), undoing("write", { writes: ["file"] }), boom];
  const session = testRuntime({ tools, standIn }).runtime.session();
  const calls = ["note", "read", "write", "boom"].map((name) => ({ name }));
  await session.simulate(calls, { onError: "throw" }).catch(() => {});
  expect(undone).toEqual([]);
  await session.execute(calls, { onError: "throw" }).catch(() => {});
  expect(undone).toEqual(["write", "read", "note"]);
});

test("C06 F0.34 calls of a simulation's handler to the live session or to none are refused", async () => {
  const sent: string[] = [];
  let call: () => Promise<unknown> = async () => undefined;
  const tools = [
    tool("plan", async () => call(), { effects: { reads: ["plans"] } }),
    tool("mail", () => sent.push("mail"), { effects: { writes: ["mail"], external: true } }),
  ];
  const { runtime } = testRuntime({ tools });
  const live = runtime.session();
  for (const target of [live, runtime]) {
    call = () => target.execute({ name: "mail" });
    const { results } = await live.simulate([{ name: "plan" }]);
    expect(results[0]?.error?.message).toContain("made calls outside it, which would be real");
  }
  expect([sent, live.length]).toEqual([[], 0]);
  call = () => live.execute({ name: "mail" });
  await live.execute({ name: "plan" });
  expect(sent).toEqual(["mail"]);
});

test("C06 F0.34 a destructive call without writes, and an external call with session keys, do not run in a simulation", async () => {
  const ran: string[] = [];
  const tools = [
    tool("destroy", () => ran.push("destroy"), { effects: { reads: ["a"], writes: [], destructive: true } }),
    tool("send", () => ran.push("send"), { effects: { ...own, external: true } }),
    tool("note", () => ran.push("note"), { effects: own }),
  ];
  const { runtime } = testRuntime({ tools, approval: { never: ["*"] } });
  const { results } = await runtime.session().simulate(["destroy", "send", "note"].map((name) => ({ name })));
  expect([results.map(({ error }) => error?.code), ran]).toEqual([["not_simulatable", "not_simulatable", undefined], ["note"]]);
});

test("C06 F0.34 a simulated read of an engine with remote sessions opens the branch in it, never the live session", async () => {
  const said: string[] = [];
  const engine: Engine = {
    kind: "shell",
    state: "remote",
    openSession: ({ sessionId }) => void said.push(`open ${sessionId}`),
    closeSession: (sessionId) => void said.push(`close ${sessionId}`),
    call: () => "read",
  };
  const look: Tool = { name: "look", description: "", inputSchema: true, effects: { reads: ["shell"] } };
  const { runtime } = testRuntime({ toolsets: [{ name: "sh", engine, tools: [look] }] });
  const session = runtime.session("s");
  await session.simulate({ name: "sh::look" });
  expect(said.filter((line) => line.endsWith(" s"))).toEqual([]);
  expect(said.map((line) => line.split(" ")[0])).toEqual(["open", "close"]);
});

test("C06 a branch whose session has closed does not open that session in an engine again", async () => {
  const opened: string[] = [];
  const engine: Engine = {
    kind: "shell",
    state: "remote",
    openSession: ({ sessionId }) => void opened.push(sessionId),
    call: () => "read",
  };
  const look: Tool = { name: "look", description: "", inputSchema: true, effects: { reads: ["shell"] } };
  const { runtime } = testRuntime({ toolsets: [{ name: "sh", engine, tools: [look] }] });
  const session = runtime.session("s");
  await session.execute({ name: "sh::look" });
  const branch = session.fork({ id: "b" });
  await session.close();
  await branch.execute({ name: "sh::look" });
  expect(opened.filter((id) => id === "s")).toEqual(["s"]);
});

test("C06 a hook whose inSimulation is neither run nor skip counts as undecided: calls are refused", async () => {
  const ran: string[] = [];
  const hook: Hook = { name: "veto", beforeCall: () => ({ veto: "no" }) };
  Object.assign(hook, { inSimulation: "Run" });
  const { runtime } = testRuntime({ tools: [tool("read", () => ran.push("read"), { effects: { reads: ["a"] } })], hooks: [hook] });
  const { results } = await runtime.simulate({ name: "read" });
  expect([results.map(({ error }) => error?.code), ran]).toEqual([["not_simulatable"], []]);
});

test("C06 a nested simulation allows no side effect that the outer one does not allow", async () => {
  const ran: string[] = [];
  const names = ["a", "b"];
  const { runtime } = testRuntime({ tools: names.map((name) => tool(name, () => ran.push(name), { effects: { writes: [name] } })) });
  const session = runtime.session();
  const calls = names.map((name) => ({ name }));
  const narrow = session.fork({ simulated: true, allowSideEffects: ["default::a"] });
  await narrow.simulate(calls, { allowSideEffects: true });
  expect(ran).toEqual(["a"]);
  await session.fork({ simulated: true }).fork({ allowSideEffects: true }).execute(calls);
  await narrow.simulate(calls, { allowSideEffects: ["default::b"] });
  expect(ran).toEqual(["a"]);
});

test("C06 F0.32 fork() rejects options that may be meant for a simulation but would make a live branch", () => {
  const session = testRuntime().runtime.session();
  for (const options of [{ simulated: 1 }, { simulated: "true" }, { allowSideEffects: true }, { allowSideEffects: [] }, null]) {
    const fork = () => Reflect.apply(session.fork, session, [options]);
    expect(fork, JSON.stringify(options)).toThrowError(expect.objectContaining({ code: "invalid_argument" }));
  }
  expect(session.fork({ simulated: false }).simulation).toBeUndefined();
});

test("F0.33 options with throwing getters make execute() reject instead of throw, and the session continues", async () => {
  const { runtime } = testRuntime({ tools: [tool("noop", () => 1)] });
  const session = runtime.session();
  for (const name of ["idempotencyKey", "signal", "onError", "data"])
    for (const target of [session, runtime]) {
      const options = Object.defineProperty({}, name, {
        get: () => {
          throw new Error("mine");
        },
      });
      await expect(target.execute({ name: "noop" }, options)).rejects.toThrow("mine");
    }
  expect((await session.execute({ name: "noop" })).status).toBe("ok");
});

test("F0.31 changes by a caller to a returned log do not affect the session", async () => {
  const session = testRuntime({ tools: [tool("noop", () => 1)] }).runtime.session();
  await session.execute({ name: "noop" });
  const { length } = session;
  Object.assign(session.log, { length: 0 });
  expect([session.log.length, session.length, session.history.length]).toEqual([length, length, 1]);
});

test("F0.36 session keys of session a are distinct from those of session a:b, however they are written", async () => {
  const hold = gate();
  const ran: string[] = [];
  const tools = [
    tool("wide", async () => (await hold.promise, ran.push("wide")), { effects: { writes: ["session:b:x"] } }),
    tool("narrow", () => ran.push("narrow"), { effects: { writes: ["session:x"] } }),
  ];
  const { runtime } = testRuntime({ tools });
  const wide = runtime.session("a").execute({ name: "wide" });
  const narrow = runtime.session("a:b").execute({ name: "narrow" });
  await settle();
  expect(ran).toEqual(["narrow"]);
  hold.open();
  expect([(await wide).status, (await narrow).status]).toEqual(["ok", "ok"]);
});

test("F0.34 the diff of a simulation has the keys of pretended calls, and none of a call that the turn's rules refused", async () => {
  const write = tool("write", () => 1, { oncePerTurn: true, effects: { writes: ({ path }) => [String(path)] } });
  const { runtime } = testRuntime({ tools: [write], standIn });
  const calls = ["a", "b"].map((path) => ({ name: "write", input: { path } }));
  const { results, diff } = await runtime.session().simulate(calls);
  expect([results.map(({ status }) => status), diff.pretended]).toEqual([["ok", "error"], ["a"]]);
});

test("F0.34 a session that takes the id of an ephemeral simulation is not affected when the simulation ends", async () => {
  const hold = gate();
  const tools = [
    tool("wait", async () => hold.promise, { effects: { reads: ["x"] } }),
    tool("big", () => long("mine"), { effects: { reads: ["w"] } }),
  ];
  const { runtime } = testRuntime({ tools });
  const passing = runtime.simulate({ name: "wait" });
  const begin = () => runtime.session("simulation1");
  expect(begin).toThrowError(expect.objectContaining({ code: "duplicate" }));
  hold.open();
  await passing;
  const session = begin();
  const { truncation } = await session.execute({ name: "big" });
  await runtime.simulate({ name: "big" });
  expect((await session.execute({ name: "read_result", input: { handle: truncation?.handle } })).status).toBe("ok");
});
