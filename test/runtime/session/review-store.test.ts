/** Stored sessions where two owners, a cut recording, a full buffer or an odd value meet: nothing is lost, and nothing runs twice. */
import { expect, test } from "vitest";
import { ToolError } from "../../../src/core/error.ts";
import type { ToolContext } from "../../../src/core/context.ts";
import { parseJson } from "../../../src/core/base/parse-json.ts";
import type { JsonValue } from "../../../src/core/base/json.ts";
import { writeRecording } from "../../../src/core/recording/recording.ts";
import type { Tool } from "../../../src/core/tool.ts";
import type { RuntimeOptions } from "../../../src/runtime/runtime.ts";
import { importRecording } from "../../../src/runtime/import-recording.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { submitCalls } from "../../../src/runtime/submit-calls.ts";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { FallbackChains } from "../../../src/call/fallback-chains.ts";
import { CallRunner } from "../../../src/runtime/run-calls.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { sqliteStore, type SqliteStoreOptions } from "../../../src/store/sqlite-store.ts";
import { settle } from "../../../src/testing/fake-ports.ts";
import { temporaryFile } from "../../store/temporary-file.ts";
import { gate, testRuntime, tool } from "../bench-runtime.ts";
import { FailingStore } from "./failing-store.ts";

const money = { writes: ["money"] };
const own = { writes: ["session:own"] };

/** Processes over one file, each a runtime and a store of its own. */
function processes(tools: readonly Tool[], options: Omit<SqliteStoreOptions, "path"> = {}) {
  const path = temporaryFile();
  return (more: RuntimeOptions = {}) => {
    const store = sqliteStore({ path, ...options });
    return { ...testRuntime({ ...more, store, tools }), store };
  };
}

/** A session that one process began and another took over and went on with, unknown to the first. */
async function takenOver() {
  const paid: string[] = [];
  const begin = processes([tool("pay", ({ who }) => paid.push(String(who)), { effects: { ...money, external: true } })]);
  const [first, second] = [begin(), begin()];
  const lost = first.runtime.session("s");
  await lost.addMessage({ role: "user", content: "go" });
  const taken = await second.runtime.resume("s", { takeOver: true });
  await taken.execute({ name: "pay", input: { who: "second" } });
  return { paid, first, second, lost, taken };
}

const code = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "ok",
    (thrown: unknown) => (thrown instanceof Error ? Reflect.get(thrown, "code") : thrown),
  );

/** Which sessions are stored and what was run once the first process has ended, as the second sees it. */
async function found({ paid, first, second, taken }: Awaited<ReturnType<typeof takenOver>>) {
  await first.runtime.close().catch(() => {});
  const ids = (await second.store.list()).map(({ sessionId }) => sessionId);
  const calls = taken.history.map(({ call, result }) => [call.input, result?.status]);
  await second.runtime.close();
  return { ids, calls, paid };
}

const TAKEN = { ids: ["s"], calls: [[{ who: "second" }, "ok"]], paid: ["second"] };

test("I04 F0.32 once a call has detected that another process took over the session, it can no longer be forked", async () => {
  const both = await takenOver();
  const { lost } = both;
  expect(await code(lost.execute({ name: "pay", input: { who: "first" } }))).toBe("conflict");
  expect(() => lost.fork({ id: "child" })).toThrowError(expect.objectContaining({ code: "conflict" }));
  expect(await found(both)).toEqual(TAKEN);
});

test("I04 F0.32 a message that detects the takeover is enough to reject forks", async () => {
  const both = await takenOver();
  const { lost } = both;
  expect(await code(lost.addMessage({ role: "user", content: "hi" }))).toBe("conflict");
  expect(() => lost.fork({ id: "child" })).toThrowError(expect.objectContaining({ code: "conflict" }));
  expect(await found(both)).toEqual(TAKEN);
});

test("I04 F0.32 a branch forked in the same tick as the message that detects the takeover runs nothing and is not stored", async () => {
  const both = await takenOver();
  const { lost } = both;
  const message = code(lost.addMessage({ role: "user", content: "hi" }));
  const child = lost.fork({ id: "child" });
  expect(await code(child.execute({ name: "pay", input: { who: "child" } }))).toBe("conflict");
  expect(await message).toBe("conflict");
  expect(await found(both)).toEqual(TAKEN);
});

test("issue 21 I04 a submission that detects the takeover rejects each time it is repeated, and the session is marked as lost", async () => {
  const store = new FailingStore();
  const tools = [tool("pay", () => 1, { effects: money })];
  const lost = testRuntime({ store, tools }).runtime.session("s");
  await lost.addMessage({ role: "user", content: "go" });
  const submit = (): Promise<unknown> => code(lost.execute([{ name: "pay" }], { idempotencyKey: "order 1" }));
  store.durableError = new ToolError("store_failed", "The disk is away.");
  expect(await submit()).toBe("store_failed");
  store.durableError = undefined;
  const taken = await testRuntime({ store: new FailingStore(store.disk), tools }).runtime.resume("s", { takeOver: true });
  await taken.execute({ name: "pay" });
  expect([await submit(), await submit(), lost.broken?.code]).toEqual(["conflict", "conflict", "conflict"]);
});

/** A recording, in its lines. */
async function lines(session: RuntimeSession): Promise<readonly string[]> {
  const all: string[] = [];
  for await (const line of writeRecording(session.events(), { sessionId: "s", exportedAt: 5 })) all.push(line);
  return all;
}

test("I15 I03 an import that is killed amid calls leaves none that a resume would treat as never started", async () => {
  const recorded = testRuntime({ tools: [tool("pay", () => 1, { effects: money })] }).runtime.session("s");
  for (let count = 0; count < 260; count++) await recorded.execute({ name: "pay" });
  await recorded.execute(Array.from({ length: 600 }, () => ({ name: "pay" })));
  const recording = await lines(recorded);
  const store = new FailingStore();
  const read = gate();
  async function* untilKilled() {
    yield* recording.slice(0, 1_100); // hundreds of calls of the batch have begun, and none has ended
    read.open();
    await new Promise(() => {});
  }
  void importRecording(store, untilKilled()).catch(() => {});
  await read.promise;
  await settle();
  const paid: string[] = [];
  const next = store.crash();
  const again = testRuntime({ store: next, tools: [tool("pay", () => paid.push("again"), { effects: money })] });
  const resumed = await again.runtime.resume("s");
  expect([new Set(resumed.history.map(({ result }) => result?.status)), resumed.history.length, paid]).toEqual([new Set(["ok"]), 250, []]);
});

test("I15 I03 state changes of a call without a result in a recording are rolled back on import", async () => {
  const change = ({ state }: ToolContext, by: number) => state.update("sum", (sum) => (typeof sum === "number" ? sum : 0) + by);
  const tools = [
    tool("add", (_, context) => (change(context, 1), null), { effects: own }),
    tool("hang", (_, context) => (change(context, 10), new Promise(() => {})), { effects: { writes: ["money"] } }),
  ];
  const recorded = testRuntime({ tools }).runtime.session("s");
  await recorded.execute({ name: "add" });
  void recorded.execute({ name: "hang" });
  await settle();
  const store = memoryStore();
  await importRecording(store, await lines(recorded));
  const session = await testRuntime({ store, tools }).runtime.resume("s");
  expect([session.state("default", "sum"), session.history.map(({ result }) => result?.error?.code)]).toEqual([
    1,
    [undefined, "outcome_unknown"],
  ]);
});

test("I14 F0.32 a branch larger than the buffer of its store can be committed, and both continue", async () => {
  const begin = processes([tool("get", () => "x".repeat(4_000))], { maxBufferedBytes: 50_000 });
  const { runtime } = begin();
  const session = runtime.session("s");
  const branch = session.fork({ id: "b" });
  for (let count = 0; count < 20; count++) await branch.execute({ name: "get" });
  await branch.commit();
  expect([(await session.execute({ name: "get" })).status, session.history.length]).toEqual(["ok", 21]);
  await runtime.close();
  const { runtime: next } = begin();
  expect((await next.resume("s")).history.length).toBe(21);
  await next.close();
});

test("I14 a session whose whole answers do not fit into the store continues: they are read from memory alone", async () => {
  const store = new FailingStore();
  const full = { code: "store_failed", message: "No room." };
  const bench = testRuntime({ store, tools: [tool("get", () => "x\n".repeat(100_000)), tool("pay", () => 1, { effects: money })] });
  const session = bench.runtime.session("s");
  await session.execute({ name: "pay" });
  const log = store.logs.get("s");
  if (log === undefined) throw new Error("The store has no log of the session.");
  const append = log.append.bind(log);
  log.append = (events) => {
    if (events.some(({ type }) => type === "output-keep")) throw Object.assign(new Error(full.message), full);
    append(events);
  };
  const { status, truncation } = await session.execute({ name: "get" });
  const rest = await session.execute({ name: "read_result", input: { handle: truncation?.handle, limit: 1 } });
  expect([status, rest.status, (await session.execute({ name: "pay" })).status]).toEqual(["ok", "ok", "ok"]);
  expect(store.disk.types("s").filter((type) => type === "call-end").length).toBe(4);
});

test("I10 repeating a submission with unfinished calls gives resource_busy instead of fewer results than calls", async () => {
  const { runtime } = testRuntime({ tools: [tool("pay", () => 1, { effects: money })] });
  const session = runtime.session("s");
  const calls = [{ name: "pay" }, { name: "pay" }];
  const key = { idempotencyKey: "order 1" };
  await session.execute(calls, key);
  const last = session.log.findLastIndex(({ type }) => type === "call-end");
  const parts = {
    runner: new CallRunner({ log: systemPorts.log, chains: new FallbackChains() }),
    async *events() {
      yield* session.log.slice(0, last);
    },
  };
  await expect(submitCalls(session, calls, key, parts)).rejects.toMatchObject({ code: "resource_busy" });
  expect(session.history.length).toBe(2);
});

test("I03 F0.32 a simulation with an id of 1,024 characters can be committed, and then resumed", async () => {
  const store = new FailingStore();
  const tools = [tool("get", () => 1)];
  const session = testRuntime({ store, tools }).runtime.session("s");
  await session.execute({ name: "get" });
  const branch = session.fork({ simulated: true, id: "x".repeat(1_024) });
  await branch.execute({ name: "get" });
  await branch.commit();
  await session.addMessage({ role: "user", content: "go on" });
  const resumed = await testRuntime({ store: store.crash(), tools }).runtime.resume("s");
  expect(resumed.history.map(({ result }) => result?.status)).toEqual(["ok", "ok"]);
});

test("I03 a state key that is not a string is rejected on use, as it could not be resumed", async () => {
  const visit = tool("visit", ({ page }, { state }) => Reflect.apply(state.update, state, [page, () => 1]), { effects: own });
  const store = new FailingStore();
  const session = testRuntime({ store, tools: [visit] }).runtime.session("s");
  const { error } = await session.execute({ name: "visit", input: { page: 7 } });
  await session.execute({ name: "visit", input: { page: "a" } });
  expect(error?.message).toContain("The key of a state value must be a string, not number.");
  const resumed = await testRuntime({ store: store.crash(), tools: [visit] }).runtime.resume("s");
  expect(resumed.state("default", "a")).toBe(1);
});

test("F0.31 I03 a snapshot of a session that waits for its store includes earlier calls", async () => {
  const add = tool("add", (_, { state }) => state.update("n", () => 1), { effects: own });
  const { runtime } = testRuntime({ store: new FailingStore(), tools: [add] });
  const session = runtime.session("s");
  const call = session.execute({ name: "add" });
  const { events, state } = await session.snapshot();
  await call;
  expect([events.filter(({ type }) => type === "call-end").length, state]).toEqual([1, { default: { n: 1 } }]);
  await runtime.close();
});

test("F0.32 I03 a commit of a branch that waits for its store includes earlier calls", async () => {
  const add = tool("add", (_, { state }) => state.update("n", () => 1), { effects: own });
  const { runtime } = testRuntime({ store: new FailingStore(), tools: [add] });
  const session = runtime.session("s");
  const branch = session.fork();
  const call = branch.execute({ name: "add" });
  await branch.commit();
  expect([(await call).status, session.state("default", "n"), session.history.length]).toEqual(["ok", 1, 1]);
  await runtime.close();
});

test("F0.31 a state with the maximum nesting depth round-trips through a snapshot", async () => {
  let deep: JsonValue = 1;
  for (let depth = 0; depth < 64; depth++) deep = [deep];
  const { runtime } = testRuntime({ tools: [tool("set", (_, { state }) => (state.update("k", () => deep), null), { effects: own })] });
  const session = runtime.session("s");
  expect((await session.execute({ name: "set" })).status).toBe("ok");
  const snapshot = parseJson(JSON.stringify(await session.snapshot()), { maxDepth: 200 });
  const copy: RuntimeSession = Reflect.apply(runtime.session, runtime, ["copy", { from: snapshot }]);
  expect(copy.state("default", "k")).toEqual(deep);
});
