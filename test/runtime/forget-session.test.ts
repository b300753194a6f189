import { describe, expect, test } from "vitest";
import { defineTool } from "../../src/registry/define-tool.ts";
import type { ToolContext } from "../../src/core/context.ts";
import type { Tool } from "../../src/core/tool.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import { sessionWithin } from "../../src/runtime/session-within.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { Keys } from "../../src/server/auth/keys.ts";
import { fakePorts, settle } from "../../src/testing/fake-ports.ts";
import { temporaryFile } from "../store/temporary-file.ts";
import { gate, testRuntime, tool } from "./bench-runtime.ts";

test("issue 19.2 a forgotten session is closed and removed from the store, and its id is free", async () => {
  const runtime = createRuntime({ store: memoryStore() });
  const session = runtime.session("a");
  await session.addMessage({ role: "user", content: "Hello." });
  expect(await runtime.sessions.forget("a")).toBe(true);
  expect(session.closed).toBe(true);
  const operatorHint = 'To begin it if there is none: runtime.resume("a", { create: true }).';
  await expect(runtime.resume("a")).rejects.toMatchObject({ code: "not_found", message: 'The store has no session "a".', operatorHint });
  expect(await runtime.sessions.forget("a")).toBe(false);
  await expect(runtime.sessions.forget("")).rejects.toMatchObject({ code: "invalid_argument" });
  expect(runtime.session("a").length).toBeGreaterThanOrEqual(0);
  await runtime.close();
});

test("F1 running calls of a forgotten session are cancelled, nested ones included; those of other sessions continue", async () => {
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const inner = defineTool({
    name: "inner",
    description: "Never ends by itself.",
    inputSchema: { type: "object" },
    effects: { writes: ["inner"] },
    execute: () => (begun.resolve(), new Promise(() => {})),
  });
  const outer = defineTool({
    name: "outer",
    description: "Calls the other one.",
    inputSchema: { type: "object" },
    composite: true,
    execute: async (_, { execute }) => (await execute({ name: "desk::inner", input: {} })).status,
  });
  const other = defineTool({
    name: "other",
    description: "Ends later.",
    inputSchema: { type: "object" },
    effects: { reads: ["other"] },
    execute: () => ended.promise.then(() => "ended"),
  });
  const runtime = createRuntime({ store: memoryStore(), toolsets: [{ name: "desk", tools: [inner, outer, other] }] });
  const session = runtime.session("a");
  const running = session.execute({ name: "desk::outer", input: {} });
  const waiting = session.execute({ name: "desk::other", input: {} });
  const elsewhere = runtime.session("b").execute({ name: "desk::other", input: {} });
  await begun.promise;
  const forgotten = runtime.sessions.forget("a");
  expect(await running).toMatchObject({
    status: "cancelled",
    error: { code: "cancelled", message: expect.stringContaining("was removed") },
  });
  await expect(waiting).rejects.toMatchObject({ code: "invalid_argument" });
  expect(await forgotten).toBe(true);
  ended.resolve();
  expect(await elsewhere).toMatchObject({ status: "ok" });
  await runtime.close();
});

test("F1 a session that cannot be removed because a branch is open keeps its calls", async () => {
  const payment = Promise.withResolvers<string>();
  const pay = defineTool({ name: "pay", description: "Pays.", effects: { writes: ["account"] }, execute: () => payment.promise });
  const runtime = createRuntime({ store: memoryStore(), tools: [pay] });
  const session = runtime.session("a");
  await session.execute([]);
  const branch = session.fork({ id: "b" });
  const running = session.execute({ name: "pay", input: {} });
  await expect(runtime.sessions.forget("a")).rejects.toMatchObject({ code: "conflict" });
  payment.resolve("paid");
  expect(await running).toMatchObject({ status: "ok", output: "paid" });
  await branch.discard();
  expect(await runtime.sessions.forget("a")).toBe(true);
  await runtime.close();
});

test.each(["memory", "sqlite"])(
  "F1 a session that cannot be removed because the store has a closed branch of it keeps its calls: %s",
  async (kind) => {
    const store = kind === "memory" ? memoryStore() : sqliteStore({ path: temporaryFile() });
    const payment = Promise.withResolvers<string>();
    const pay = defineTool({ name: "pay", description: "Pays.", effects: { writes: ["account"] }, execute: () => payment.promise });
    const runtime = createRuntime({ store, tools: [pay] });
    const session = runtime.session("a");
    await session.execute([]);
    await session.fork({ id: "b" }).close();
    const running = session.execute({ name: "pay", input: {} });
    await expect(runtime.sessions.forget("a")).rejects.toMatchObject({ code: "conflict", message: expect.stringContaining("session b") });
    expect(session.closed).toBe(false);
    payment.resolve("paid");
    expect(await running).toMatchObject({ status: "ok", output: "paid" });
    expect(await runtime.sessions.forget("b")).toBe(true);
    expect(await runtime.sessions.forget("a")).toBe(true);
    await runtime.close();
  },
);

test("F1 a session that is closing is removed after its calls have ended and returned their results", async () => {
  const payment = Promise.withResolvers<string>();
  const begun = Promise.withResolvers<void>();
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    effects: { writes: ["account"] },
    execute: async (_, { signal }) => {
      begun.resolve();
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      return await payment.promise;
    },
  });
  const runtime = createRuntime({ store: memoryStore(), tools: [pay] });
  const session = runtime.session("a");
  const running = session.execute({ name: "pay", input: {} });
  await begun.promise;
  const closed = session.close();
  const forgotten = runtime.sessions.forget("a");
  payment.resolve("paid");
  expect(await running).toMatchObject({ status: "cancelled" });
  await closed;
  expect(await forgotten).toBe(true);
  await expect(runtime.resume("a")).rejects.toMatchObject({ code: "not_found" });
  await runtime.close();
});

/** A store whose next removal waits until it is let go on. */
function slowRemoval() {
  const store = memoryStore();
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const remove = store.remove.bind(store);
  Object.assign(store, { remove: async (id: string) => (begun.resolve(), await goOn.promise, remove(id)) });
  return { store, begun: begun.promise, goOn: goOn.resolve };
}

test("F0.12 during its removal, a session's id can be neither resumed nor used anew; afterwards it is free", async () => {
  const { store, begun, goOn } = slowRemoval();
  const runtime = createRuntime({ store });
  await runtime.session("a").addMessage({ role: "user", content: "Hello." });
  await runtime.sessions.get("a")?.close();
  const forgotten = runtime.sessions.forget("a");
  await begun;
  const refused = { code: "resource_busy", message: 'The session "a" is being removed.', outcome: "not_started" };
  await expect(runtime.resume("a")).rejects.toMatchObject(refused);
  await expect(runtime.resume("a", { create: true })).rejects.toMatchObject(refused);
  expect(() => runtime.session("a")).toThrow(expect.objectContaining(refused));
  const again = runtime.sessions.forget("a");
  goOn();
  expect([await forgotten, await again]).toEqual([true, false]);
  const next = await runtime.resume("a", { create: true });
  await next.addMessage({ role: "user", content: "Hello again." });
  expect(next.log.filter(({ type }) => type === "message-add").length).toBe(1);
  await runtime.close();
});

test("F0.12 removing a session during its resume rejects the resume, and nothing of the session remains", async () => {
  const path = temporaryFile();
  const asked = Promise.withResolvers<void>();
  const stop = defineTool({
    name: "look",
    description: "Looks.",
    effects: { reads: ["sky"] },
    execute: () => (asked.resolve(), new Promise(() => {})),
  });
  const first = createRuntime({ store: sqliteStore({ path }), tools: [stop] });
  const left = first.session("a");
  void left.execute({ name: "look", input: {} }).catch(() => {});
  await asked.promise;
  await left.eventLog?.whenDurable();
  const started = Promise.withResolvers<void>();
  const looks = { ...stop, execute: () => (started.resolve(), new Promise(() => {})) };
  const second = createRuntime({ store: sqliteStore({ path }), tools: [looks] });
  const resumed = second.resume("a", { takeOver: true });
  const refused = expect(resumed).rejects.toMatchObject({ code: "conflict", message: 'The session "a" was removed while it was resumed.' });
  await started.promise;
  expect(await second.sessions.forget("a")).toBe(true);
  await refused;
  const next = second.session("a");
  await next.addMessage({ role: "user", content: "Hello." });
  expect([next.broken, next.log.filter(({ type }) => type === "message-add").length, second.sessions.resuming]).toEqual([undefined, 1, []]);
  await second.close();
  await first.close().catch(() => {});
});

test("a removal from within a session under removal does not free the id before the outer removal has ended", async () => {
  const store = memoryStore();
  const removed: string[] = [];
  const removals = [gate(), gate()];
  const remove = store.remove.bind(store);
  store.remove = async (id) => {
    const at = removed.push(id) - 1;
    await removals[at]?.promise;
    return remove(id);
  };
  const begun = gate();
  const both = gate();
  let inner: Promise<unknown> | undefined;
  const again = tool("again", async () => {
    begun.open();
    await both.promise;
    inner = runtime.sessions.forget("s");
    return inner;
  });
  const { runtime } = testRuntime({ store, tools: [again] });
  const running = runtime.session("s").execute({ name: "again" });
  await begun.promise;
  const outer = runtime.sessions.forget("s");
  both.open();
  await running;
  await settle();
  expect(removed).toEqual(["s", "s"]); // the first is that from within
  removals[0]?.open();
  await settle();
  expect(() => runtime.session("s")).toThrow(expect.objectContaining({ code: "resource_busy" }));
  removals[1]?.open();
  await Promise.all([outer, inner]);
  await runtime.session("s").close();
});

test.each(["a turn", "a job"])(
  "nested calls in sessions that calls of %s began end when the outer session is forgotten, even if a handler hangs",
  async (where) => {
    const store = memoryStore();
    const begun = gate();
    const waits = tool("wait", () => (begun.open(), new Promise(() => {})), { effects: { writes: ["inner"] }, timeoutMs: 0 });
    const delegate = (name: string, call: string): Tool => ({
      name,
      description: "Has others work.",
      inputSchema: { type: "object" },
      composite: true,
      timeoutMs: 0,
      execute: async (_input, context) => (await (await sessionWithin(context)).execute({ name: call })).status,
    });
    const runtime = createRuntime({ store, tools: [waits, delegate("within", "wait"), delegate("around", "within")] });
    const session = runtime.session("a");
    if (where === "a job") await session.submit({ name: "around" });
    else void session.execute({ name: "around" });
    await begun.promise;
    expect(await runtime.sessions.forget("a")).toBe(true);
    const stored = await store.list();
    expect(stored).toHaveLength(2);
    for (const { sessionId } of stored) {
      const { events } = await store.read(sessionId);
      expect(events.filter(({ type }) => type === "call-end")).toHaveLength(1);
    }
    expect(runtime.sessions.list()).toEqual([]);
    await runtime.close();
  },
);

test.each([
  ["memory", () => memoryStore()],
  ["sqlite", () => sqliteStore({ path: temporaryFile() })],
])("a session that another runtime of this process has open in the same store is not removed (%s)", async (_, make) => {
  const store = make();
  const tools = [tool("add", () => 1)];
  const [one, two] = [createRuntime({ store, tools }), createRuntime({ store, tools })];
  const session = one.session("a");
  await session.execute({ name: "add" });
  await expect(two.sessions.forget("a")).rejects.toMatchObject({
    code: "resource_busy",
    message: expect.stringContaining(`${process.pid}`),
  });
  expect(await session.execute({ name: "add" })).toMatchObject({ status: "ok" });
  const branch = session.fork({ id: "b" });
  await branch.execute({ name: "add" });
  await branch.close();
  const resumed = await two.resume("b");
  await expect(branch.discard()).rejects.toMatchObject({ code: "resource_busy" });
  expect(await resumed.execute({ name: "add" })).toMatchObject({ status: "ok" });
  await resumed.close();
  await branch.discard();
  await session.close();
  expect([await two.sessions.forget("a"), await store.list()]).toEqual([true, []]);
  for (const runtime of [one, two]) expect(await runtime.close()).toEqual([]);
});

test("a branch whose id was already in the store can be discarded, and the session with that id stays", async () => {
  const path = temporaryFile();
  const tools = [tool("add", () => 1)];
  const [one, two] = [sqliteStore({ path }), sqliteStore({ path })].map((store) => createRuntime({ store, tools }));
  const other = one?.session("taken");
  await other?.execute({ name: "add" });
  const parent = two?.session("parent");
  await parent?.execute({ name: "add" });
  for (const uses of [true, false]) {
    const branch = parent?.fork({ id: "taken" });
    if (uses) await expect(branch?.execute({ name: "add" })).rejects.toMatchObject({ code: "duplicate" });
    await branch?.discard();
    await branch?.discard();
  }
  const own = two?.session("taken");
  await expect(own?.execute({ name: "add" })).rejects.toMatchObject({ code: "duplicate" });
  await expect(two?.sessions.forget("taken")).rejects.toMatchObject({ code: "duplicate" });
  await expect(two?.sessions.forget("taken")).rejects.toMatchObject({ code: "resource_busy" });
  expect(await other?.execute({ name: "add" })).toMatchObject({ status: "ok" });
  for (const runtime of [one, two]) expect(await runtime?.close()).toEqual([]);
});

test("a session begun by a call of a simulation ends with the simulation", async () => {
  const inner: RuntimeSession[] = [];
  const begins = async (_: unknown, context: ToolContext) => {
    const session = await sessionWithin(context);
    inner.push(session);
    return (await session.execute({ name: "quick" })).status;
  };
  const outer = defineTool({
    name: "outer",
    description: "Begins a session.",
    inputSchema: { type: "object" },
    composite: true,
    execute: begins,
  });
  const runtime = createRuntime({ tools: [tool("quick", () => 1), tool("slow", () => new Promise(() => {}), { timeoutMs: 0 }), outer] });
  const session = runtime.session("a");
  const { results } = await session.simulate([{ name: "outer" }]);
  expect([results[0]?.output, inner.map(({ closed }) => closed)]).toEqual(["ok", [true]]);
  const branch = session.fork({ simulated: true });
  await branch.execute({ name: "outer" });
  const running = inner[1]?.execute({ name: "slow" });
  await settle();
  expect(inner[1]?.closed).toBe(false);
  await branch.discard();
  expect(inner[1]?.closed).toBe(true);
  expect((await running)?.error?.message).toBe("default::slow was cancelled: the simulation that its session belongs to has ended");
  expect(runtime.running).toEqual([]);
  await runtime.close();
});

describe("API keys of a removed session are revoked, because a later session with its id is a different one", () => {
  async function removedBy(remove: (runtime: Runtime, session: RuntimeSession) => Promise<unknown>): Promise<readonly string[]> {
    const store = memoryStore();
    const { runtime } = testRuntime({ store, tools: [tool("forget", async () => String(await runtime.sessions.forget("a")))] });
    const keys = new Keys(store.access, fakePorts());
    const session = runtime.session("a");
    await session.addMessage({ role: "user", content: "Hello." });
    const branch = session.fork({ id: "branch" });
    await branch.addMessage({ role: "user", content: "Hello." });
    for (const sessionId of ["a", "branch", "other"]) await keys.addSessionKey({ name: sessionId, scopes: ["read"], sessionId });
    await remove(runtime, branch);
    const revoked = (await keys.list({ sessionKeys: true })).flatMap((key) => (key.revokedAt === undefined ? [] : [key.name]));
    await runtime.close();
    return revoked.toSorted();
  }

  test("when a program forgets it", async () => {
    expect(await removedBy((runtime) => runtime.sessions.forget("branch"))).toEqual(["branch"]);
  });

  test("when a call of the session forgets it", async () => {
    const forget = async (runtime: Runtime, branch: RuntimeSession): Promise<void> => {
      await branch.discard();
      await runtime.sessions
        .get("a")
        ?.execute({ name: "forget" })
        .catch(() => {}); // its log is gone
    };
    expect(await removedBy(forget)).toEqual(["a", "branch"]);
  });

  test("when a branch is discarded or committed", async () => {
    expect(await removedBy((_, branch) => branch.discard())).toEqual(["branch"]);
    expect(await removedBy((_, branch) => branch.commit())).toEqual(["branch"]);
  });
});
