/** The end of a job that somebody waited for is durable: it is never another one after a crash or in another process. */
import { expect, test } from "vitest";
import { ToolError } from "../../../src/core/error.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";
import { storedEvents } from "../../../src/session/read-events.ts";
import { settle } from "../../../src/testing/fake-ports.ts";
import { temporaryFile } from "../../store/temporary-file.ts";
import { gate, testRuntime, tool } from "../bench-runtime.ts";
import { FailingStore } from "../session/failing-store.ts";

const READS = { effects: { reads: ["x"], writes: [] } } as const;

async function submitted(store: FailingStore, options: object = {}) {
  const done = gate<string>();
  const bench = testRuntime({ store, tools: [tool("look", () => done.promise, READS)], ...options });
  const session = bench.runtime.session("s");
  const { id } = await session.submit({ name: "look" });
  return { ...bench, session, id, done };
}

test("F1.22 a wait resolves when the end is durable, even if the wait starts after the end", async () => {
  const store = new FailingStore();
  const { runtime, id, done } = await submitted(store);
  store.hold();
  const waited: string[] = [];
  const wait = (name: string): Promise<unknown> => runtime.jobs.wait(id).then(() => waited.push(name));
  const waits = [wait("before its end")];
  done.open("seen");
  await settle();
  expect(runtime.jobs.get(id)?.state).toBe("done");
  waits.push(wait("after its end"));
  await settle();
  expect(waited).toEqual([]);
  store.goOn();
  await Promise.all(waits);
  expect(store.disk.types("s").slice(-2)).toEqual(["call-end", "job-end"]);
});

test("F1.22 a slow store does not hold up a wait that has a time limit or is cancelled", async () => {
  const store = new FailingStore();
  const { runtime, ports, id, done } = await submitted(store);
  store.hold();
  const early = runtime.jobs.wait(id, { timeoutMs: 50 });
  done.open("seen");
  await settle();
  const late = runtime.jobs.wait(id, { timeoutMs: 50 });
  const cancel = new AbortController();
  const cancelled = runtime.jobs.wait(id, { signal: cancel.signal }).catch((error: ToolError) => error.code);
  cancel.abort();
  await ports.clock.advance(50);
  expect([(await early).state, (await late).state, await cancelled]).toEqual(["done", "done", "cancelled"]);
  for (const waited of [await early, await late]) expect(waited).not.toHaveProperty("result"); // nobody has been told that
  store.goOn();
  expect(await runtime.jobs.wait(id)).toMatchObject({ result: { output: "seen" } });
  expect(ports.clock.pending).toBe(0);
});

test("F1.22 a wait started by a listener of the end also resolves no earlier", async () => {
  const store = new FailingStore();
  const codes: string[] = [];
  const { runtime, session, id, done } = await submitted(store);
  session.onJob(() => void runtime.jobs.wait(id).catch((error: ToolError) => codes.push(error.code)));
  store.appendError = new ToolError("store_failed", "The disk is full.");
  done.open("seen");
  await settle();
  expect(codes).toEqual(["store_failed"]);
});

test.each(["appendError", "durableError"] as const)(
  "a wait for an end that cannot be recorded (%s) rejects, and the job runs again",
  async (fails) => {
    const store = new FailingStore();
    const { runtime, id, done } = await submitted(store);
    store[fails] = new ToolError("store_failed", "The disk is full.");
    done.open("seen");
    await expect(runtime.jobs.wait(id)).rejects.toMatchObject({ code: "store_failed" });
    await expect(runtime.jobs.wait(id)).rejects.toMatchObject({ code: "store_failed" });
    const after = testRuntime({ store: store.crash(), tools: [tool("look", () => "seen again", READS)] });
    await after.runtime.resume("s");
    expect(await after.runtime.jobs.wait(id)).toMatchObject({ state: "done", result: { output: "seen again" } });
  },
);

test("a wait does not wait for durability where results need not be durable", async () => {
  const store = new FailingStore();
  const { runtime, id, done } = await submitted(store, { durability: "async" });
  store.durableError = new ToolError("store_failed", "The disk is full.");
  done.open("seen");
  expect(await runtime.jobs.wait(id)).toMatchObject({ state: "done" });
});

test("two processes on one file: the one that lost the session returns no result that the other does not have", async () => {
  const path = temporaryFile();
  const processOn = (says: string) => {
    const done = gate();
    const runtime = createRuntime({ store: sqliteStore({ path }), tools: [tool("look", () => done.promise.then(() => says), READS)] });
    return { runtime, done };
  };
  const [one, other] = [processOn("one"), processOn("other")];
  const { id } = await one.runtime.session("s").submit({ name: "look" });
  await expect(other.runtime.resume("s")).rejects.toMatchObject({ code: "resource_busy" });
  await other.runtime.resume("s", { takeOver: true });
  one.done.open();
  await expect(one.runtime.jobs.wait(id)).rejects.toMatchObject({ code: "conflict" });
  other.done.open();
  expect(await other.runtime.jobs.wait(id)).toMatchObject({ result: { output: "other" } });
  await one.runtime.close();
  await other.runtime.close();
  const store = sqliteStore({ path });
  const ends: unknown[] = [];
  for await (const event of storedEvents(store, "s")) if (event.type === "call-end") ends.push(event.result.output);
  await store.close();
  expect(ends).toEqual(["other"]);
});
