/** Removals of branches: what ends with them, and what another session has that takes the id, before they have ended or later. */
import { expect, test } from "vitest";
import type { Store } from "../../../src/core/store.ts";
import { defineTool } from "../../../src/registry/define-tool.ts";
import type { Runtime } from "../../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";
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

async function start(store: Store): Promise<{ readonly runtime: Runtime; readonly desk: RuntimeSession; readonly branch: RuntimeSession }> {
  const runtime = createRuntime({ store, toolsets: [{ name: "desk", tools: [add] }] });
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

test.each(pairs)("a branch that is gone is ended again: another session of its id stays whole: $first, $second, $kind", async (pair) => {
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

test.each(pairs)("the id of a branch is not free before all that ends it has ended: $first, $second, $kind", async (pair) => {
  const store = pair.make();
  const { remove } = store;
  const late: Store["remove"] = (id) => turns(5).then(() => remove.call(store, id));
  const { runtime, desk, branch } = await start(Object.assign(store, { remove: late }));
  const ended = [pair.first, pair.second].map(async (name) => ends[name]?.(branch, runtime).catch(() => {}));
  let later: RuntimeSession | undefined;
  const refusals = new Set<unknown>();
  for (let turn = 0; turn < 1_000 && later === undefined; turn++) {
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
  await isWhole(store, later ?? expect.fail("never free"));
  await runtime.close();
});

test("a branch that was closed and resumed is not removed by its earlier object", async () => {
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

test.each(["memory", "sqlite", "none"])(
  "a branch that is dropped ends what its calls have left open in sessions of their own: %s",
  async (kind) => {
    const make = stores.find(([name]) => name === kind)?.[1];
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
    const runtime = createRuntime({
      ...(make === undefined ? {} : { store: make() }),
      toolsets: [{ name: "desk", tools: [waits, leaves] }],
    });
    const desk = runtime.session("desk");
    const call = { name: "desk::leaves", input: {} };
    const branch = desk.fork({ id: "left" });
    const { output } = await branch.execute(call);
    await branch.discard();
    expect([runtime.running, runtime.sessions.get(String(output)), runtime.jobs.list().filter(({ state }) => state === "running")]).toEqual(
      [[], undefined, []],
    );
    const later = desk.fork({ id: "left" });
    await later.execute(call);
    await branch.discard();
    expect([runtime.running.length, runtime.jobs.list().filter(({ state }) => state === "running").length]).toEqual([1, 1]);
    await runtime.close();
  },
);
