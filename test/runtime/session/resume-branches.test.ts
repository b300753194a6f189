/** Forks, commits and damaged logs after a crash. */
import { expect, test } from "vitest";
import { ToolError } from "../../../src/core/error.ts";
import type { JsonValue } from "../../../src/core/base/json.ts";
import type { Tool } from "../../../src/core/tool.ts";
import type { RuntimeOptions } from "../../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { countingIds, settle } from "../../../src/testing/fake-ports.ts";
import { gate, testRuntime, tool } from "../bench-runtime.ts";
import { FailingStore } from "./failing-store.ts";

const set = tool("set", ({ key, value }, { state }) => state.update(String(key), () => value as JsonValue));
const put = (key: string, value: JsonValue) => ({ name: "set", input: { key, value } });

let processes = 0;

/** The runtime of another process: it gives no id that one before has given. */
function runtimeOf(store: FailingStore, tools: readonly Tool[] = [set], options: RuntimeOptions = {}) {
  const [process, ids] = [++processes, countingIds()];
  return testRuntime({ ...options, store, tools, ports: { ids: { next: (prefix) => `${ids.next(prefix)}_${process}` } } }).runtime;
}

const view = (session: RuntimeSession): unknown => [session.history, session.log, session.length, session.state("default", "k")];

test("F0.32 I03 a fork, and a fork of that, are resumed with their shared history, whether or not their parents are open", async () => {
  const store = new FailingStore();
  const runtime = runtimeOf(store);
  const session = runtime.session("s");
  await session.execute(put("k", 1));
  const branch = session.fork({ id: "b" });
  await branch.execute(put("k", 2));
  const leaf = branch.fork({ id: "l" });
  await Promise.all([session.execute(put("k", 10)), branch.execute(put("k", 20)), leaf.execute(put("k", 30))]);
  const after = runtimeOf(store.crash());
  const resumed = await after.resume("l");
  expect(view(resumed)).toEqual(view(leaf));
  expect(view(await after.resume("b"))).toEqual(view(branch));
  expect(view(await after.resume("s"))).toEqual(view(session));
  await resumed.execute(put("k", 31));
  expect(resumed.history.map((entry) => (entry.call.input as { readonly value: number }).value)).toEqual([1, 2, 30, 31]);
  await expect(resumed.commit()).rejects.toMatchObject({ code: "invalid_argument" });
});

test("F0.32 I03 a fork that was taken during a turn is resumed without that turn", async () => {
  const going = gate();
  const store = new FailingStore();
  const slow = tool("slow", async (_, { state }) => (state.update("k", () => "slow"), going.promise), { effects: { reads: [] } });
  const runtime = runtimeOf(store, [set, slow]);
  const session = runtime.session("s");
  await session.execute(put("k", 1));
  void session.execute({ name: "slow" });
  await settle();
  const branch = session.fork({ id: "b" });
  await branch.execute(put("other", 2));
  const resumed = await runtimeOf(store.crash(), []).resume("b");
  expect(view(resumed)).toEqual(view(branch));
  expect([resumed.state("default", "k"), resumed.history.length]).toEqual([1, 2]);
});

test("F0.32 I03 after a crash a commit is complete, and its calls can be read, forked and committed again", async () => {
  const store = new FailingStore();
  const runtime = runtimeOf(store, [set], { standIn: { kind: "stub", call: () => "pretended" } });
  runtime.registry.register(tool("pay", () => "paid", { effects: { writes: ["money"] } }));
  const session = runtime.session("s");
  await session.execute(put("k", 1));
  await (await session.simulate([put("k", 2), { name: "pay" }])).commit();
  const branch = session.fork({ id: "b" });
  await branch.execute(put("k", 3));
  await branch.commit();
  const after = runtimeOf(store.crash());
  const resumed = await after.resume("s");
  expect(view(resumed)).toEqual(view(session));
  expect(resumed.history.map((entry) => entry.result?.origin)).toEqual(["live", "live", "simulated", "live"]);
  await (await resumed.simulate(put("k", 4))).commit();
  await expect(after.resume("b")).rejects.toMatchObject({ code: "not_found" }); // it is part of the session now
  expect(
    (
      await runtimeOf(new FailingStore())
        .session("r", { from: await resumed.snapshot() })
        .snapshot()
    ).state,
  ).toEqual({ default: { k: 4 } });
});

test("C06 I03 a crash during a simulation leaves nothing of it", async () => {
  const store = new FailingStore();
  const never = tool("never", () => new Promise(() => {}));
  const session = runtimeOf(store, [set, never]).session("s");
  await session.execute(put("k", 1));
  void session.simulate([put("k", 2), { name: "never" }]);
  await settle();
  await session.eventLog?.whenDurable();
  const resumed = await runtimeOf(store.crash()).resume("s");
  expect(view(resumed)).toEqual(view(session));
  expect([resumed.state("default", "k"), [...store.disk.logs.keys()]]).toEqual([1, ["s"]]);
});

test("F0.28 resuming a session that is open here or elsewhere is rejected, and works once it has ended", async () => {
  const store = new FailingStore();
  const runtime = runtimeOf(store);
  const session = runtime.session("s");
  await session.execute(put("k", 1));
  await expect(runtime.resume("s")).rejects.toMatchObject({ code: "duplicate" });
  await expect(runtimeOf(new FailingStore(store.disk)).resume("s")).rejects.toMatchObject({ code: "resource_busy" });
  await session.close();
  const resumed = await runtime.resume("s");
  expect([resumed.state("default", "k"), session.closed]).toEqual([1, true]);
  await expect(session.execute(put("k", 2))).rejects.toMatchObject({ code: "invalid_argument" });
  await expect(runtime.resume(5 as unknown as string)).rejects.toMatchObject({ code: "invalid_argument" });
});

test("I02 a failed resume can be retried: nothing stays claimed, open or begun", async () => {
  const store = new FailingStore();
  const calls: string[] = [];
  const engine = {
    kind: "own",
    call: () => "answer",
    openSession: () => void calls.push("open"),
    closeSession: () => void calls.push("close"),
  };
  const toolsets = [{ name: "t", engine, tools: [{ name: "read", description: "", inputSchema: true, effects: { reads: [] } }] }];
  const waiting = { ...engine, call: () => new Promise(() => {}) };
  const session = runtimeOf(store, [], { toolsets: [{ ...toolsets[0], name: "t", engine: waiting }] }).session("s");
  void session.execute([{ name: "t::read" }]);
  await settle();
  await session.eventLog?.whenDurable();
  calls.length = 0;
  const next = store.crash();
  const runtime = runtimeOf(next, [], { toolsets });
  next.durableError = new ToolError("store_failed", "The disk is full.");
  await expect(runtime.resume("s")).rejects.toMatchObject({ code: "store_failed" });
  next.durableError = undefined;
  next.disk.claims.clear();
  const resumed = await runtime.resume("s");
  expect([resumed.history.map((entry) => entry.result?.output), calls]).toEqual([["answer"], ["open", "close", "open"]]);
});

test("I02 results of a resume that cannot be stored are reported at once", async () => {
  const store = new FailingStore();
  const session = runtimeOf(store, [tool("read", () => new Promise(() => {}), { effects: { reads: [] } })]).session("s");
  void session.execute([{ name: "read" }]);
  await settle();
  await session.eventLog?.whenDurable();
  const next = store.crash();
  next.appendError = new ToolError("store_failed", "The disk is full.");
  await expect(runtimeOf(next, []).resume("s")).rejects.toMatchObject({ code: "store_failed" });
});

test("I01 a damaged log is rejected with the position of the damage, and so is a fork that shares it", async () => {
  const store = new FailingStore();
  const runtime = runtimeOf(store);
  const session = runtime.session("s");
  for (let n = 0; n < 5; n++) await session.execute(put("k", n));
  const branch = session.fork({ id: "b" });
  await branch.execute(put("k", 9));
  const next = store.crash();
  const log = next.disk.logs.get("b");
  if (log !== undefined) log.damagedAt = 7;
  const after = runtimeOf(next);
  await expect(after.resume("b")).rejects.toMatchObject({ code: "corrupt_record" });
  // A claim that does not look: the damage shows when it is read.
  next.claimsDamaged = true;
  await expect(after.resume("b")).rejects.toMatchObject({
    code: "corrupt_record",
    message: 'The log of session "b" is damaged at event 7: its checksum is wrong',
    hint: "The 6 events before it can be read and exported.",
  });
  expect((await after.resume("s")).state("default", "k")).toBe(4);
});

test("I01 a log with inconsistent events is rejected, and resuming can be tried again", async () => {
  const store = new FailingStore();
  const session = runtimeOf(store).session("s");
  await session.execute(put("k", { a: 1 }));
  await session.execute(put("k", { a: 2 }));
  const next = store.crash();
  const lines = next.disk.logs.get("s")?.lines ?? [];
  const kept = [...lines];
  lines.splice(
    lines.findIndex((line) => line.includes("state-change")),
    1,
  );
  const after = runtimeOf(next);
  await expect(after.resume("s")).rejects.toMatchObject({ code: "corrupt_record" });
  lines.splice(0, lines.length, ...kept);
  expect((await after.resume("s")).state("default", "k")).toEqual({ a: 2 });
});

test("I03 a long session is resumed with its latest events in memory and all of its state", async () => {
  const store = new FailingStore();
  const session = runtimeOf(store).session("s");
  for (let round = 0; round < 30; round++) await session.execute(Array.from({ length: 20 }, (_, at) => put(`k${at}`, round)));
  const resumed = await runtimeOf(store.crash(), [set], { keepEvents: 50 }).resume("s");
  expect([resumed.length, resumed.log.length < 110, resumed.log.at(-1)]).toEqual([session.length, true, session.log.at(-1)]);
  expect(resumed.stateMap.size).toBe(20);
  expect((await resumed.snapshot()).events).toEqual(session.log);
});
