/** Removals of branches: what ends with them, and what another session has that takes the id, before they have ended or later. */
import { describe, expect, test } from "vitest";
import type { Store } from "../../../src/core/store/store.ts";
import { defineTool } from "../../../src/registry/define-tool.ts";
import type { Runtime } from "../../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";
import { ToolError } from "../../../src/core/error.ts";
import { removeStored } from "../../../src/runtime/resume/end-stored-calls.ts";
import { sessionWithin } from "../../../src/runtime/session-within.ts";
import { temporaryFile } from "../../store/temporary-file.ts";
import { turns } from "./slow-store.ts";

const add = defineTool({
  name: "add",
  description: "Adds.",
  inputSchema: { type: "object" },
  effects: { writes: ["a"] },
  execute: () => "added",
});

const waits = defineTool({
  name: "waits",
  description: "Never ends by itself.",
  inputSchema: { type: "object" },
  effects: { reads: ["a"] },
  mode: "background",
  execute: () => new Promise(() => {}),
});
const leaves = defineTool({
  name: "leaves",
  description: "Leaves what it has begun.",
  inputSchema: { type: "object" },
  composite: true,
  async execute(_, context) {
    const inner = await sessionWithin(context);
    await inner.submit({ name: "desk::waits", input: {} });
    return inner.id;
  },
});

const stores: readonly (readonly [string, () => Store])[] = [
  ["memory", memoryStore],
  ["sqlite", () => sqliteStore({ path: temporaryFile() })],
];

type End = (branch: RuntimeSession, runtime: Runtime) => Promise<unknown>;
const ends: Readonly<Record<string, End>> = {
  discard: (branch) => branch.discard(),
  commit: (branch) => branch.commit(),
  forget: (branch, runtime) => runtime.sessions.forget(branch.id),
};

const pairs = Object.keys(ends).flatMap((first) =>
  ["discard", "commit"].flatMap((second) => stores.map(([kind, make]) => ({ first, second, kind, make }))),
);

async function start(
  store: Store,
  keepEvents?: number,
): Promise<{ readonly runtime: Runtime; readonly desk: RuntimeSession; readonly branch: RuntimeSession }> {
  const runtime = createRuntime({ store, ...(keepEvents === undefined ? {} : { keepEvents }), toolsets: [{ name: "desk", tools: [add] }] });
  await runtime.open();
  const desk = runtime.session("desk");
  const branch = desk.fork({ id: "left" });
  await branch.execute({ name: "desk::add", input: {} });
  return { runtime, desk, branch };
}

/** A later session of the id has all that it recorded, and goes on. */
async function isWhole(store: Store, session: RuntimeSession): Promise<void> {
  expect((await session.execute({ name: "desk::add", input: {} })).status).toBe("ok");
  expect(session.broken).toBeUndefined();
  expect((await store.list({ sessionId: "left" })).map(({ length }) => length)).toEqual([session.length]);
}

test.each(pairs)("ending a branch twice does not affect a later session with its id: $first, $second, $kind", async (pair) => {
  const store = pair.make();
  const { runtime, desk, branch } = await start(store);
  await ends[pair.first]?.(branch, runtime);
  const later = desk.fork({ id: "left" });
  await later.execute({ name: "desk::add", input: {} });
  await ends[pair.second]?.(branch, runtime).catch(() => {});
  await isWhole(store, later);
  await later.close();
  await ends[pair.second]?.(branch, runtime).catch(() => {});
  expect(await store.list({ sessionId: "left" })).toHaveLength(1);
  await runtime.close();
});

test.each(pairs)("the id of a branch is free only after everything that ends it has finished: $first, $second, $kind", async (pair) => {
  const store = pair.make();
  const { remove } = store;
  const late: Store["remove"] = (id) => turns(5).then(() => remove.call(store, id));
  const { runtime, desk, branch } = await start(Object.assign(store, { remove: late }));
  const ended = [pair.first, pair.second].map(async (name) => ends[name]?.(branch, runtime).catch(() => {}));
  let later: RuntimeSession | undefined;
  const refusals = new Set<unknown>();
  while (later === undefined) {
    try {
      later = desk.fork({ id: "left" });
    } catch (thrown: unknown) {
      refusals.add(Object(thrown).code);
      await turns(1);
    }
  }
  expect(refusals).toContain("resource_busy");
  refusals.delete("duplicate"); // while it is open
  expect(refusals.size).toBe(1);
  await Promise.all(ended);
  await isWhole(store, later);
  await runtime.close();
});

describe.each(stores)("a branch that was closed, and then removed by its id, %s", (_kind, make) => {
  test.each(["discard", "commit"])("does not affect a later session with that id: %s", async (end) => {
    const store = make();
    const { runtime, desk, branch } = await start(store, 1);
    for (let more = 0; more < 3; more++) await branch.execute({ name: "desk::add", input: {} });
    await branch.close();
    await runtime.sessions.forget("left");
    for (const { at } = branch.log[0] ?? expect.fail(); Date.now() <= at;) await turns(1);
    const later = runtime.session("left");
    for (let more = 0; more < 9; more++) await later.execute({ name: "desk::add", input: {} });
    await later.close();
    const before = await store.list({ sessionId: "left" });
    const { length } = desk;
    const refused = await ends[end]?.(branch, runtime).then(
      () => undefined,
      (thrown: unknown) => Object(thrown).code,
    );
    expect([refused, desk.length]).toEqual([end === "commit" ? "conflict" : undefined, length]);
    expect([before.length, await store.list({ sessionId: "left" })]).toEqual([1, before]);
    await runtime.close();
  });
});

test.each(stores)(
  "a branch that another runtime removes during its discard does not affect a later session with its id: %s",
  async (_kind, make) => {
    const store = make();
    const { runtime, branch } = await start(store);
    const other = createRuntime({ store, toolsets: [{ name: "desk", tools: [add] }] });
    await branch.close();
    const { list } = store;
    // The branch was looked for, and is there; until it is removed, its id becomes another's.
    store.list = async (options) => {
      store.list = list;
      const found = await store.list(options);
      await other.sessions.forget("left");
      for (const { at } = branch.log[0] ?? expect.fail(); Date.now() <= at;) await turns(1);
      await other.session("left").execute({ name: "desk::add", input: {} });
      await other.sessions.get("left")?.close();
      return found;
    };
    await branch.discard();
    expect(await store.list({ sessionId: "left" })).toHaveLength(1);
    await isWhole(store, await other.resume("left"));
    await runtime.close();
    await other.close();
  },
);

test.each(stores)(
  "a removal that races with a hand-over leaves a later session with the id to the runtime that has it open: %s",
  async (_kind, make) => {
    const store = make();
    const { runtime, branch } = await start(store);
    const other = createRuntime({ store, toolsets: [{ name: "desk", tools: [add] }] });
    await branch.close();
    const taken = await other.resume("left");
    const { list } = store;
    let later: RuntimeSession | undefined;
    // It is let go, found to be free, and removed there; before it is removed here, its id becomes another's.
    store.list = async (options) => {
      if (options?.sessionId !== "left") return list.call(store, options);
      store.list = list;
      await taken.close();
      const found = await store.list(options);
      await other.sessions.forget("left");
      later = other.session("left");
      await later.execute({ name: "desk::add", input: {} });
      return found;
    };
    await expect(removeStored(store, "left", 1)).rejects.toMatchObject({ code: "resource_busy" });
    await isWhole(store, later ?? expect.fail());
    await runtime.close();
    await other.close();
  },
);

test("reading events of a session object whose id belongs to another session ends with a conflict", async () => {
  const store = sqliteStore({ path: temporaryFile() });
  const { runtime, branch } = await start(store, 1);
  await branch.close();
  await runtime.sessions.forget("left");
  const later = runtime.session("left");
  await later.addMessage({ role: "user", content: "shorter" });
  const readAll = async (): Promise<void> => {
    for await (const event of branch.events()) expect(event.sessionId).not.toBe("");
  };
  await expect(readAll()).rejects.toMatchObject({ code: "conflict" });
  await runtime.close();
});

test("a branch that was closed and resumed cannot be removed through its earlier object", async () => {
  const store = memoryStore();
  const { runtime, branch } = await start(store);
  await branch.close();
  const resumed = await runtime.resume("left");
  await expect(branch.discard()).rejects.toMatchObject({ code: "resource_busy", outcome: expect.anything() });
  await isWhole(store, resumed);
  await resumed.close();
  await branch.discard();
  expect(await store.list({ sessionId: "left" })).toEqual([]);
  await runtime.close();
});

test.each(["memory", "sqlite", "none"])("discarding a branch ends open work of its calls in their own sessions: %s", async (kind) => {
  const make = stores.find(([name]) => name === kind)?.[1];
  const runtime = createRuntime({
    ...(make === undefined ? {} : { store: make() }),
    toolsets: [{ name: "desk", tools: [waits, leaves] }],
  });
  const desk = runtime.session("desk");
  const call = { name: "desk::leaves", input: {} };
  const branch = desk.fork({ id: "left" });
  const { output } = await branch.execute(call);
  await branch.discard();
  expect([runtime.running, runtime.sessions.get(String(output)), runtime.jobs.list().filter(({ state }) => state === "running")]).toEqual([
    [],
    undefined,
    [],
  ]);
  const later = desk.fork({ id: "left" });
  await later.execute(call);
  await branch.discard();
  expect([runtime.running.length, runtime.jobs.list().filter(({ state }) => state === "running").length]).toEqual([1, 1]);
  await runtime.close();
});

test.each(["memory", "sqlite", "none"])(
  "open work of a committed branch's calls belongs to its session, and no later branch with that id ends it: %s",
  async (kind) => {
    const make = stores.find(([name]) => name === kind)?.[1];
    const runtime = createRuntime({
      ...(make === undefined ? {} : { store: make() }),
      toolsets: [{ name: "desk", tools: [waits, leaves] }],
    });
    const running = (): number => runtime.jobs.list().filter(({ state }) => state === "running").length;
    const desk = runtime.session("desk");
    const branch = desk.fork({ id: "left" });
    await branch.execute({ name: "desk::leaves", input: {} });
    await branch.commit();
    await desk.fork({ id: "left" }).discard();
    expect(running()).toBe(1);
    await runtime.sessions.forget("desk");
    expect(running()).toBe(0);
    await runtime.close();
  },
);

test.each(stores)("a removal that races with a hand-over ends open work of the session's calls: %s", async (_kind, make) => {
  const store = make();
  let inner = "";
  const stays = defineTool({
    ...leaves,
    name: "stays",
    mode: "background",
    execute: async (_, context) => {
      const session = await sessionWithin(context);
      await session.submit({ name: "desk::waits", input: {} });
      inner = session.id;
      return new Promise(() => {});
    },
  });
  const runtime = createRuntime({ store, toolsets: [{ name: "desk", tools: [waits, stays] }] });
  const desk = runtime.session("desk");
  await desk.submit({ name: "desk::stays", input: {} });
  while (inner === "") await turns(1);
  await runtime.sessions.handOver("desk");
  const { claim } = store;
  const busy = new ToolError("resource_busy", "Another process has it open, and lets it go now.");
  const claimOnce: Store["claim"] = (id, options) => {
    store.claim = claim;
    return id === "desk" ? Promise.reject(busy) : claim.call(store, id, options);
  };
  store.claim = claimOnce;
  expect(await removeStored(store, "desk", 1)).toBe(true);
  const ended = (await store.read(inner)).events.filter(({ type }) => type === "call-end" || type === "job-end");
  expect([ended.length, await store.list({ sessionId: "desk" })]).toEqual([2, []]);
  await runtime.close();
});
