import { expect, test } from "vitest";
import type { Engine } from "../../src/core/engine.ts";
import { perSession } from "../../src/engine/per-session.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { engineContext } from "./engine-contexts.ts";

const bump = { name: "bump", description: "Counts.", inputSchema: {}, effects: { writes: [] } };

/** Each instance counts for itself. */
function counters() {
  const open = new Set<number>();
  let made = 0;
  const makeEngine = (): Engine => {
    const id = ++made;
    let count = 0;
    return {
      kind: "counter",
      state: "remote",
      open: async () => (open.add(id), [bump]),
      call: () => ++count,
      close: async () => void open.delete(id),
    };
  };
  return { makeEngine, open, made: () => made };
}

test("F0.59 each session and each branch has its own instance, opened by its first call and closed with it", async () => {
  const { makeEngine, open } = counters();
  const runtime = createRuntime({ toolsets: [{ name: "c", engine: perSession(makeEngine) }] });
  await runtime.open();
  const one = runtime.session();
  const other = runtime.session();
  const count = async (session: typeof one): Promise<unknown> => (await session.execute({ name: "bump" })).output;
  expect([await count(one), await count(one), await count(other)]).toEqual([1, 2, 1]);
  expect(open.size).toBe(3); // the lister, one, other
  const branch = one.fork();
  expect([await count(branch), await count(one)]).toEqual([1, 3]);
  await branch.close();
  await one.close();
  expect(open.size).toBe(2);
  await runtime.close();
  expect(open.size).toBe(0);
});

test("an argument that is not a factory of engines throws at once", () => {
  expect(() => perSession({ kind: "one" } as unknown as () => Engine)).toThrow(expect.objectContaining({ code: "invalid_argument" }));
});

test("a call outside any session has its own instance, which is closed after the answer", async () => {
  const { makeEngine, open, made } = counters();
  await using runtime = createRuntime({ toolsets: [{ name: "c", engine: perSession(makeEngine) }] });
  await runtime.open();
  expect([(await runtime.execute({ name: "bump" })).output, (await runtime.execute({ name: "bump" })).output]).toEqual([1, 1]);
  expect([open.size, made()]).toEqual([1, 3]);
});

test("an instance that fails to open ends its call as unavailable, and the next call tries again", async () => {
  const { makeEngine } = counters();
  let broken = false;
  const engine = perSession(() => {
    const inner = makeEngine();
    return { ...inner, open: async (context) => (broken ? Promise.reject(new Error("down")) : ((await inner.open?.(context)) ?? [])) };
  });
  await using runtime = createRuntime({ toolsets: [{ name: "c", engine }] });
  await runtime.open();
  broken = true;
  const session = runtime.session();
  expect(await session.execute({ name: "bump" })).toMatchObject({ error: { code: "unavailable" } });
  broken = false;
  expect(await session.execute({ name: "bump" })).toMatchObject({ output: 1 });
});

test("F4.35 an instance is closed if its session cannot be opened, and also if its session cannot be closed", async () => {
  const { makeEngine, open } = counters();
  let broken = true;
  const engine = perSession(() => ({
    ...makeEngine(),
    openSession: () => (broken ? Promise.reject(new Error("no seat")) : Promise.resolve()),
    closeSession: () => Promise.reject(new Error("the door is stuck")),
  }));
  await using runtime = createRuntime({ toolsets: [{ name: "c", engine }] });
  await runtime.open();
  const session = runtime.session();
  expect(await session.execute({ name: "bump" })).toMatchObject({ error: { code: "unavailable" } });
  expect(open.size).toBe(1);
  broken = false;
  expect(await session.execute({ name: "bump" })).toMatchObject({ output: 1 });
  await session.close();
  expect(open.size).toBe(1);
});

test("F4.35 an instance that cannot be closed is reported and does not keep the others open", async () => {
  const { makeEngine, open } = counters();
  let made = 0;
  const engine = perSession(() => {
    const inner = makeEngine();
    return made++ === 0 ? { ...inner, close: () => Promise.reject(new Error("stuck")) } : inner;
  });
  await engine.open?.(engineContext());
  for (const sessionId of ["a", "b"]) await engine.openSession?.({ sessionId, setup: {}, signal: new AbortController().signal });
  expect(open.size).toBe(3);
  await expect(engine.close?.()).rejects.toThrow("stuck");
  expect([...open]).toEqual([1]);
});

test("F0.59 an instance that finishes opening after close is closed again", async () => {
  const { makeEngine, open } = counters();
  const opening = Promise.withResolvers<void>();
  let slow = false;
  const engine = perSession(() => {
    const inner = makeEngine();
    return { ...inner, open: async (context) => (slow ? await opening.promise : undefined, (await inner.open?.(context)) ?? []) };
  });
  await engine.open?.(engineContext());
  slow = true;
  const beginning = Promise.resolve(engine.openSession?.({ sessionId: "a", setup: {}, signal: new AbortController().signal }));
  const closing = engine.close?.();
  opening.resolve();
  await expect(beginning).rejects.toThrow();
  await closing;
  expect(open.size).toBe(0);
});

test("F0.59 instances opened for a simulation or a fork are closed with it", async () => {
  const { makeEngine, open } = counters();
  const looks = { ...bump, name: "look", effects: { reads: [], writes: [] } };
  const engine = perSession(() => {
    const inner = makeEngine();
    return { ...inner, open: async (context) => (await inner.open?.(context), [bump, looks]) };
  });
  await using runtime = createRuntime({ toolsets: [{ name: "c", engine }] });
  await runtime.open();
  const session = runtime.session();
  await session.execute({ name: "look" });
  const simulated = await session.simulate({ name: "look" });
  const fork = session.fork();
  await fork.execute({ name: "look" });
  expect([simulated.results.map(({ status }) => status), open.size]).toEqual([["ok"], 3]);
  await fork.close();
  await session.close();
  expect(open.size).toBe(1);
});
