/** What waits for the store, what does not, and what is told when it fails. */
import { expect, test } from "vitest";
import { ToolError } from "../../../src/core/error.ts";
import type { JsonValue } from "../../../src/core/base/json.ts";
import type { ToolResult } from "../../../src/core/result.ts";
import { createRuntime, type RuntimeOptions } from "../../../src/runtime/runtime.ts";
import { settle } from "../../../src/testing/fake-ports.ts";
import { gate, testRuntime, tool } from "../bench-runtime.ts";
import { FailingStore } from "./failing-store.ts";

const FULL = new ToolError("store_failed", "The disk is full.", { hint: "Make room." });

/** A runtime over a store that fails on demand, and what its handlers did. */
function stored(options: RuntimeOptions = {}) {
  const store = new FailingStore();
  const ran: string[] = [];
  const tools = [
    tool("pay", () => ran.push("pay"), { effects: { writes: ["money"] } }),
    tool("put", () => ran.push("put"), { effects: { writes: ["file"], idempotent: true } }),
    tool("read", () => ran.push("read"), { effects: { reads: ["news"] } }),
    tool("balance", () => ran.push("balance"), { effects: { reads: ["money"] } }),
    tool("mail", () => ran.push("mail"), { effects: { writes: ["mail"], external: true } }),
    tool("set", ({ value }, { state }) => (ran.push("set"), state.update("k", () => value as JsonValue))),
  ];
  const bench = testRuntime({ ...options, store, tools });
  return { ...bench, store, ran, session: bench.runtime.session("s") };
}

async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol("pending");
  await settle();
  return (await Promise.race([promise, Promise.resolve(pending)])) === pending;
}

test("I11 a write that may not be repeated waits for its intent; reads and idempotent writes do not", async () => {
  const { session, store, ran } = stored();
  await session.execute({ name: "read" });
  ran.length = 0;
  store.hold();
  const batch = session.execute(["pay", "put", "read", "mail"].map((name) => ({ name })));
  expect([await isPending(batch), ran]).toEqual([true, ["put", "read"]]);
  store.goOn();
  const results = await batch;
  expect([results.map((result) => result.status), ran]).toEqual([
    ["ok", "ok", "ok", "ok"],
    ["put", "read", "pay", "mail"],
  ]);
  expect(store.disk.events("s").filter((event) => event.type === "call-intent")).toMatchObject([
    { callId: results[0]?.callId, toolName: "default::pay", input: {} },
    { callId: results[3]?.callId, toolName: "default::mail", input: {} },
  ]);
});

test("I11 a retried call has one intent, which comes before its first attempt", async () => {
  const store = new FailingStore();
  let tries = 0;
  const refuse = (): never => {
    throw new ToolError("network_error", "refused", { outcome: "not_started" });
  };
  const pay = tool("pay", () => (++tries < 3 ? refuse() : "paid"), { effects: { writes: ["money"] } });
  const { runtime, ports } = testRuntime({ store, tools: [pay] });
  const pending = runtime.session("s").execute({ name: "pay" });
  await ports.clock.advance(60_000);
  expect(await pending).toMatchObject({ status: "ok", attempts: 3 });
  expect(store.disk.types("s").filter((type) => type.startsWith("call-"))).toEqual(["call-start", "call-intent", "call-end"]);
});

test("I11 F0.33 a call that waits for the store keeps its place: a read of the key that it writes comes after it", async () => {
  const { session, store, ran } = stored();
  await session.execute({ name: "read" });
  store.hold();
  const batch = session.execute(["pay", "balance", "pay", "balance"].map((name) => ({ name })));
  expect([await isPending(batch), ran]).toEqual([true, ["read"]]);
  store.goOn();
  await batch;
  expect(ran).toEqual(["read", "pay", "balance", "pay", "balance"]);
});

test("I11 F0.33 a call that is cancelled while it waits for the store gives up its place", async () => {
  const { session, store, ran } = stored();
  await session.execute({ name: "read" });
  store.hold();
  const stop = new AbortController();
  const paying = session.execute([{ name: "pay" }], { signal: stop.signal });
  const other = session.fork().simulate({ name: "balance" });
  expect(await isPending(other)).toBe(true);
  stop.abort();
  expect((await other).results[0]?.status).toBe("ok");
  store.goOn();
  await paying;
  expect(ran).toEqual(["read", "balance"]);
});

test("I11 execute resolves once its results are durable, and acknowledged results survive a crash", async () => {
  const { session, store, ran } = stored();
  await session.execute({ name: "put" });
  store.hold();
  const reading = session.execute({ name: "read" });
  expect([await isPending(reading), ran]).toEqual([true, ["put", "read"]]);
  expect(store.disk.types("s").filter((type) => type === "call-end").length).toBe(1);
  store.goOn();
  await reading;
  expect(store.disk.types("s")).toEqual(session.log.map((event) => event.type));
});

test("I11 no call of a new session runs before the store has recorded the session", async () => {
  const { session, store, ran } = stored();
  store.hold();
  const calls = session.execute([{ name: "read" }, { name: "put" }]);
  const message = session.addMessage({ role: "user", content: "hi" });
  expect([await isPending(calls), await isPending(message), ran]).toEqual([true, true, []]);
  store.goOn();
  await Promise.all([calls, message]);
  expect(session.log.map((event) => event.type)).toEqual([
    "session-start",
    "call-start",
    "call-start",
    "call-end",
    "call-end",
    "message-add",
  ]);
});

test("I02 a store that fails before a call is dispatched ends that call as not started, and the next try works", async () => {
  const { session, store, ran } = stored();
  await session.execute({ name: "read" });
  store.durableError = FULL;
  const failing = session.execute([{ name: "pay" }]);
  await expect(failing).rejects.toMatchObject({ code: "store_failed", hint: "Make room.", outcome: "not_started" });
  expect(session.history.at(-1)?.result).toMatchObject({
    status: "error",
    attempts: 0,
    error: {
      code: "store_failed",
      message: "default::pay was not started: The disk is full.",
      outcome: "not_started",
      retryable: true,
      operatorHint: "Make room.",
    },
  });
  store.durableError = undefined;
  expect((await session.execute({ name: "pay" })).status).toBe("ok");
  expect([ran, store.disk.events("s")]).toEqual([["read", "pay"], session.log]);
});

test("I02 a store that accepts no more events starts no call that may not be repeated, and every later error says why", async () => {
  const { session, store, ran } = stored();
  await session.execute({ name: "read" });
  store.appendError = FULL;
  const call = [{ name: "pay" }, { name: "mail" }, { name: "read" }];
  await expect(session.execute(call)).rejects.toMatchObject({ code: "store_failed" });
  expect(session.history.map(({ result }) => [result?.error?.code, result?.error?.outcome])).toEqual([
    [undefined, undefined],
    ["store_failed", "not_started"],
    ["store_failed", "not_started"],
    [undefined, undefined],
  ]);
  store.appendError = undefined;
  for (const again of [session.execute({ name: "read" }), session.addMessage({ role: "user", content: "x" }), session.execute([])]) {
    await expect(again).rejects.toMatchObject({ code: "store_failed", message: "The disk is full." });
  }
  expect([ran, store.disk.types("s").at(-1)]).toEqual([["read", "read"], "call-end"]);
});

test("I02 a store that fails after a call was dispatched rejects the execute, and the session still has the result", async () => {
  const { session, store, ran, runtime } = stored();
  await session.execute({ name: "read" });
  store.durableError = FULL;
  await expect(session.execute({ name: "set", input: { value: 1 } })).rejects.toMatchObject({ code: "store_failed", outcome: "unknown" });
  expect([session.history.at(-1)?.result?.status, session.state("default", "k"), ran]).toEqual(["ok", 1, ["read", "set"]]);
  store.durableError = undefined;
  await session.execute({ name: "read" });
  expect(store.disk.events("s")).toEqual(session.log);
  expect(await runtime.close()).toEqual([]);
});

test("I02 a failure of the batch is reported before one of the store", async () => {
  const store = new FailingStore();
  const boom = tool("boom", () => ((store.durableError = FULL), Promise.reject(new Error("boom"))), { effects: { reads: [] } });
  const session = testRuntime({ store, tools: [boom] }).runtime.session();
  await expect(session.execute([{ name: "boom" }], { onError: "throw" })).rejects.toMatchObject({ name: "ToolExecutionError" });
  await expect(session.execute([])).rejects.toBe(FULL);
});

test("I11 a call waits for an unresponsive store until its deadline, and ends as not started", async () => {
  const store = new FailingStore();
  let ran = 0;
  const pay = tool("pay", () => ++ran, { effects: { writes: ["money"] }, deadlineMs: 1_000 });
  const { runtime, ports } = testRuntime({ store, tools: [pay] });
  const session = runtime.session("s");
  await session.addMessage({ role: "user", content: "pay" });
  store.hold();
  const paying = session.execute({ name: "pay" });
  await ports.clock.advance(1_000);
  expect(session.history[0]?.result?.error).toMatchObject({ code: "timeout", outcome: "not_started", retryable: false });
  store.goOn();
  expect([(await paying).error?.code, ran]).toEqual(["timeout", 0]);
});

test("I11 a call that is cancelled while it waits for the store does not start", async () => {
  const { session, store, ran } = stored();
  await session.execute({ name: "read" });
  store.hold();
  const stop = new AbortController();
  const paying = session.execute([{ name: "pay" }], { signal: stop.signal });
  await settle();
  stop.abort();
  await settle();
  expect(session.history.at(-1)?.result).toMatchObject({ status: "cancelled", error: { outcome: "not_started" } });
  store.goOn();
  await paying;
  expect(ran).toEqual(["read"]);
});

test('I11 durability "async" waits for no write, and writes the same events', async () => {
  const { session, store, ran } = stored({ durability: "async" });
  await session.execute({ name: "read" });
  store.hold();
  const results: readonly ToolResult[] = await session.execute([{ name: "pay" }, { name: "put" }]);
  await session.addMessage({ role: "user", content: "hi" });
  expect([results.map((result) => result.status), ran]).toEqual([
    ["ok", "ok"],
    ["read", "pay", "put"],
  ]);
  store.goOn();
  await session.close();
  expect(store.disk.types("s")).toEqual(session.log.map((event) => event.type));
  expect(store.disk.types("s").filter((type) => type === "call-intent").length).toBe(1);
});

test("I04 a session that another process has taken over can record nothing more", async () => {
  const { session, store, ran } = stored();
  await session.execute({ name: "set", input: { value: 1 } });
  const other = testRuntime({
    store: new FailingStore(store.disk),
    tools: [tool("pay", () => "paid", { effects: { writes: ["money"] } })],
  });
  await expect(other.runtime.resume("s")).rejects.toMatchObject({ code: "resource_busy" });
  const taken = await other.runtime.resume("s", { takeOver: true });
  await taken.execute({ name: "pay" });
  await expect(session.execute({ name: "pay" })).rejects.toMatchObject({ code: "conflict" });
  await expect(session.execute({ name: "read" })).rejects.toMatchObject({ code: "conflict" });
  await expect(session.addMessage({ role: "user", content: "x" })).rejects.toMatchObject({ code: "conflict" });
  expect([ran.includes("pay"), store.disk.events("s")]).toEqual([false, taken.log]);
  await expect(session.close()).rejects.toMatchObject({ code: "conflict" });
});

test("I02 events that cannot be written when a session or a runtime closes are reported", async () => {
  const { session, store, runtime } = stored();
  const second = runtime.session("t");
  await Promise.all([session.execute({ name: "read" }), second.execute({ name: "read" })]);
  store.durableError = FULL;
  await expect(session.execute({ name: "read" })).rejects.toMatchObject({ cause: FULL });
  await expect(second.execute({ name: "read" })).rejects.toMatchObject({ cause: FULL });
  await expect(session.close()).rejects.toBe(FULL);
  expect((await runtime.close()).map((error) => error.code)).toEqual(["store_failed"]);
});

test("F0.32 a fork's log continues its parent's, also while the parent's is still buffered", async () => {
  const { session, store } = stored();
  await session.execute({ name: "set", input: { value: 1 } });
  const going = gate();
  store.hold();
  const writing = session.execute({ name: "set", input: { value: 2 } });
  await settle();
  const branch = session.fork({ id: "b" });
  const branching = branch.execute({ name: "set", input: { value: 3 } });
  store.goOn();
  going.open();
  await Promise.all([writing, branching]);
  expect(store.disk.events("b").slice(0, session.length)).toEqual(store.disk.events("s"));
  expect(store.disk.events("b")).toEqual(branch.log);
  expect([...store.disk.logs.keys()]).toEqual(["s", "b"]);
});

test("F0.32 a stored session keeps only its latest events in memory, and all of them can be read", async () => {
  const { runtime, store } = stored({ keepEvents: 10 });
  const session = runtime.session("t");
  for (let round = 0; round < 50; round++) await session.execute({ name: "read" });
  expect([session.length, session.log.length < 25, session.firstKept + session.log.length]).toEqual([101, true, 101]);
  const events = [];
  for await (const event of session.events()) events.push(event);
  expect(events).toEqual(store.disk.events("t"));
  expect((await session.snapshot()).events).toEqual(events);
});

test("F0.32 a runtime rejects an invalid keepEvents or durability", () => {
  for (const options of [{ keepEvents: 0 }, { keepEvents: 1.5 }, { keepEvents: Number.NaN }, { durability: "maybe" as "sync" }]) {
    expect(() => createRuntime(options)).toThrowError(expect.objectContaining({ code: "invalid_argument" }));
  }
});
