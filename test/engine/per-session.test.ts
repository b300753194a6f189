import { expect, test } from "vitest";
import type { Engine } from "../../src/core/engine.ts";
import { perSession } from "../../src/engine/per-session.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";

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

test("F0.59 each session and each branch has an instance of its own, opened with its first call and closed with it", async () => {
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

test("a call outside any session has an instance for itself, gone with its answer", async () => {
  const { makeEngine, open, made } = counters();
  await using runtime = createRuntime({ toolsets: [{ name: "c", engine: perSession(makeEngine) }] });
  await runtime.open();
  expect([(await runtime.execute({ name: "bump" })).output, (await runtime.execute({ name: "bump" })).output]).toEqual([1, 1]);
  expect([open.size, made()]).toEqual([1, 3]);
});

test("an instance that does not open ends its call as unavailable, and the next call tries again", async () => {
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
