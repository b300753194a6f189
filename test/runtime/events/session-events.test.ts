/** `Runtime.events` of one session. */
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { ToolError } from "../../../src/core/error.ts";
import type { SessionEvent } from "../../../src/core/event.ts";
import type { Store } from "../../../src/core/store/store.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";
import { FakeClock, MemoryLog } from "../../../src/testing/fake-ports.ts";
import { temporaryFile } from "../../store/temporary-file.ts";
import { tool } from "../bench-runtime.ts";
import { line, readPositions, readUntil } from "./followed.ts";

const TOOLS = [
  tool("echo", (input) => input),
  tool("steps", async (_input, context) => {
    context.progress({ message: "half" });
    await Promise.resolve();
    return "done";
  }),
];

const runtimes: readonly (readonly [string, () => Runtime])[] = [
  ["without a store", () => createRuntime({ tools: TOOLS })],
  ["with a store in memory", () => createRuntime({ tools: TOOLS, store: memoryStore() })],
  ["with a SQLite store", () => createRuntime({ tools: TOOLS, store: sqliteStore({ path: temporaryFile() }) })],
];

async function logOf(session: { events(): AsyncIterable<SessionEvent> }): Promise<readonly SessionEvent[]> {
  const events: SessionEvent[] = [];
  for await (const event of session.events()) events.push(event);
  return events;
}

test.each(runtimes)("issue 19.3 %s, a reader gets the log first and then new events, each once and in order", async (_, make) => {
  await using runtime = make();
  const session = runtime.session("s");
  await session.execute({ name: "echo", input: { n: 1 } });
  const feed = runtime.events({ session: "s" });
  await feed.begin();
  const pending = session.execute({ name: "echo", input: { n: 2 } });
  const before = (await logOf(session)).length;
  await pending;
  const log = await logOf(session);
  const items = await readUntil(feed, (item) => "event" in item && item.position === log.length);
  const kept = items.filter((item) => "event" in item && item.position !== undefined);
  expect(kept.map((item) => ("event" in item ? item.event : undefined))).toEqual(log);
  expect(kept.map((item) => item.cursor)).toEqual(log.map((_event, index) => String(index + 1)));
  expect(before).toBeLessThanOrEqual(log.length);
});

test.each(runtimes)("issue 19.3 %s, events that are not in a log come between their neighbours, without a position", async (_, make) => {
  await using runtime = make();
  const session = runtime.session("s");
  const feed = runtime.events({ session: "s" });
  await feed.begin();
  await session.execute({ name: "steps" });
  const items = await readUntil(feed, (item) => "event" in item && item.event.type === "call-end");
  expect(items.map(line).map((text) => text.replace(/\d+/u, "n"))).toEqual([
    ...(items.length > 4 ? ["n session-start"] : []),
    "n call-start",
    "- call-attempt",
    "- call-progress",
    "n call-end",
  ]);
});

test.each(runtimes)("issue 19.3 %s, a reader continues after the event that it names", async (_, make) => {
  await using runtime = make();
  const session = runtime.session("s");
  await session.execute([{ name: "echo" }, { name: "echo" }]);
  const { length } = await logOf(session);
  await session.execute({ name: "echo" });
  const feed = runtime.events({ session: "s", after: String(length - 1) });
  expect(await readPositions(feed, 3)).toEqual([length, length + 1, length + 2]);
  expect(feed.cursor).toBe(String(length + 2));
});

test.each(runtimes)("issue 19.3 %s, a cursor beyond the log is gone, and an invalid cursor is rejected", async (_, make) => {
  await using runtime = make();
  const session = runtime.session("s");
  await session.execute({ name: "echo" });
  const { length } = await logOf(session);
  await expect(runtime.events({ session: "s", after: length + 1 }).read()).rejects.toMatchObject({ code: "gone" });
  await expect(runtime.events({ session: "s", after: "5-abc" }).read()).rejects.toMatchObject({ code: "invalid_argument" });
  await expect(runtime.events({ session: "nobody" }).begin()).rejects.toMatchObject({ code: "not_found" });
  for (const after of [-1, 0.5, Number.NaN]) expect(() => runtime.events({ after })).toThrow(ToolError);
});

test.each(runtimes)("issue 19.3 %s, a filter passes events that match all its fields", async (_, make) => {
  await using runtime = make();
  const session = runtime.session("s");
  await session.execute([{ name: "echo" }, { name: "steps" }, { name: "nothing" }]);
  const read = async (filter: object, last: string) => {
    const items = await readUntil(runtime.events({ session: "s", filter }), (item) => line(item).endsWith(last));
    return items.flatMap((item) => ("event" in item && item.event.type === "call-end" ? [item.event.result.name] : ["?"]));
  };
  expect(await read({ types: ["call-end"], tool: "steps" }, "call-end")).toEqual(["default::steps"]);
  expect(await read({ status: "error" }, "call-end")).toEqual(["nothing"]);
  expect(() => runtime.events({ filter: { kind: "call" } as object })).toThrow(/kind/u);
});

test("issue 19.3 readers get an event of a log only once the store has it, so never more than a later process", async () => {
  const path = temporaryFile();
  await using runtime = createRuntime({ tools: TOOLS, store: sqliteStore({ path }) });
  await using other = createRuntime({ tools: TOOLS, store: sqliteStore({ path, readOnly: true }) });
  const session = runtime.session("s");
  const feed = runtime.events({ session: "s" });
  await session.execute({ name: "echo" });
  for (let read = 0; read < 3;) {
    for (const item of await feed.read()) {
      if (!("event" in item) || item.position === undefined) continue;
      read = item.position;
      expect(await readPositions(other.events({ session: "s", after: read - 1 }), 1)).toContain(read);
    }
  }
});

test("issue 19.3 readers get the events of other processes, earlier and new ones", async () => {
  const path = temporaryFile();
  await using writer = createRuntime({ tools: TOOLS, store: sqliteStore({ path }) });
  await using reader = createRuntime({ tools: TOOLS, store: sqliteStore({ path }) });
  const session = writer.session("s");
  await session.execute({ name: "echo" });
  const feed = reader.events({ session: "s" });
  expect(await readPositions(feed, 3)).toEqual([1, 2, 3]);
  const pending = readPositions(feed, 2);
  await session.execute({ name: "echo" });
  expect(await pending).toEqual([4, 5]);
});

test("issue 19.3 a reader follows a session from one process to the next", async () => {
  const path = temporaryFile();
  await using first = createRuntime({ tools: TOOLS, store: sqliteStore({ path }) });
  await using second = createRuntime({ tools: TOOLS, store: sqliteStore({ path }) });
  const session = first.session("s");
  await session.execute({ name: "echo" });
  const feed = first.events({ session: "s" });
  expect(await readPositions(feed, 3)).toEqual([1, 2, 3]);
  const taken = await second.resume("s", { takeOver: true });
  await taken.execute({ name: "echo" });
  expect(await readPositions(feed, 2)).toEqual([4, 5]);
  await taken.close();
  const again = await first.resume("s").catch(async () => {
    await session.close().catch(() => {});
    return first.resume("s");
  });
  await again.execute({ name: "echo" });
  expect(await readPositions(feed, 2)).toEqual([6, 7]);
});

test("issue 19.3 a branch begins with the events that it shares with its session", async () => {
  await using runtime = createRuntime({ tools: TOOLS, store: sqliteStore({ path: temporaryFile() }) });
  const session = runtime.session("s");
  await session.execute({ name: "echo" });
  const branch = session.fork({ id: "b" });
  await branch.execute({ name: "echo" });
  expect(await readPositions(runtime.events({ session: "b" }), 6)).toEqual([1, 2, 3, 4, 5, 6]);
});

test("issue 19.3 readers of a session without a store end with it, after its last event", async () => {
  await using runtime = createRuntime({ tools: TOOLS });
  const session = runtime.session("s");
  const feed = runtime.events({ session: "s" });
  await feed.begin();
  await session.execute({ name: "echo" });
  await session.close();
  const lines: string[] = [];
  for await (const item of feed) lines.push(line(item));
  expect(lines.at(-1)).toBe("2 call-end");
});

test("issue 19.3 a reader that is closed or aborted ends at once, and the runtime stops tracking it", async () => {
  await using runtime = createRuntime({ tools: TOOLS });
  runtime.session("s");
  const controller = new AbortController();
  const feeds = [runtime.events({ session: "s", signal: controller.signal }), runtime.events({ signal: controller.signal })];
  const reads = feeds.map((feed) => feed.read());
  await Promise.all(feeds.map((feed) => feed.begin()));
  controller.abort();
  expect(await Promise.all(reads)).toEqual([[], []]);
  expect(await runtime.events({ session: "s", signal: controller.signal }).read()).toEqual([]);
});

test("issue 19.3 the whole answer of a truncated result is referenced, not sent", async () => {
  await using runtime = createRuntime({
    tools: [tool("large", () => "x".repeat(100_000))],
    maxResultBytes: 1_000,
    store: sqliteStore({ path: temporaryFile() }),
  });
  const session = runtime.session("s");
  const feed = runtime.events({ session: "s" });
  await feed.begin();
  await session.execute({ name: "large" });
  for (const after of [feed, runtime.events({ session: "s" })]) {
    const items = await readUntil(after, (item) => line(item).endsWith("call-end"));
    const kept = items.flatMap((item) => ("event" in item && item.event.type === "output-keep" ? [Object.keys(item.event)] : []));
    expect(kept).toEqual([["callId", "sessionId", "turnId", "at", "type"]]);
  }
});

test("issue 19.3 a filter by principal passes its messages, and its calls from start to end", async () => {
  await using runtime = createRuntime({ tools: TOOLS });
  const session = runtime.session("s");
  await session.execute({ name: "echo" }, { principal: "key:a" });
  await session.execute({ name: "echo" }, { principal: "key:b" });
  await session.execute({ name: "echo" }, { principal: "key:a" });
  const feed = runtime.events({ session: "s", filter: { principal: "key:a" } });
  expect(await readPositions(feed, 4)).toEqual([1, 2, 5, 6]);
});

test("a filter by principal passes the ends of its background jobs, which come after the ends of their calls", async () => {
  const job = { ...tool("job", () => "done"), mode: "background" as const };
  await using runtime = createRuntime({ tools: [job] });
  const session = runtime.session("s");
  const ends = runtime.events({ session: "s", filter: { principal: "key:a", types: ["call-end", "job-end"] } });
  await session.execute([{ name: "job" }], { principal: "key:b" });
  await session.execute([{ name: "job" }], { principal: "key:a" });
  const items = await readUntil(ends, (item) => "event" in item && item.event.type === "job-end");
  expect(items.map((item) => ("event" in item ? item.event.type : "gap"))).toEqual(["call-end", "job-end"]);
});

test("a reader of a removed session gets nothing of the next session with its id, in any process of the store", async () => {
  const path = temporaryFile();
  await using runtime = createRuntime({ tools: TOOLS, store: sqliteStore({ path }) });
  await using other = createRuntime({ tools: TOOLS, store: sqliteStore({ path }) });
  const begun = async (): Promise<void> => {
    const session = runtime.session("s");
    await session.execute([{ name: "echo" }, { name: "echo" }]);
    await session.snapshot();
  };
  await begun();
  const feeds = [runtime.events({ session: "s" }), other.events({ session: "s" })];
  for (const feed of feeds) await readUntil(feed, (item) => item.cursor === "5");
  await runtime.sessions.forget("s");
  await begun();
  for (const feed of feeds) await expect(feed.read()).rejects.toMatchObject({ code: "not_found" });
});

test("a reader gets an error within ten seconds after another process has removed the session", async () => {
  const path = temporaryFile();
  const clock = new FakeClock();
  await using runtime = createRuntime({ tools: TOOLS, store: sqliteStore({ path }) });
  await using other = createRuntime({ tools: TOOLS, store: sqliteStore({ path }), ports: { clock } });
  await runtime.session("s").execute([{ name: "echo" }]);
  await runtime.session("stays").execute([{ name: "echo" }]);
  const feed = other.events({ session: "s" });
  const stays = other.events({ session: "stays" });
  for (const one of [feed, stays]) await readUntil(one, (item) => line(item).endsWith("call-end"));
  const states = { feed: "open", stays: "open" };
  const read = feed.read();
  read.catch(() => (states.feed = "failed"));
  void stays.read().then(() => (states.stays = "ended"));
  await runtime.sessions.forget("s");
  for (let steps = 0; steps < 22 && states.feed === "open"; steps++) {
    await clock.advance(500);
    await pause(5); // the other reader reads a real file
  }
  await expect(read).rejects.toMatchObject({ code: "not_found" });
  expect(states.stays).toBe("open");
});

/** Its next read of a log fails once its feed has named an event behind a position. */
function unreadableOnce(store: Store): Store & { failAfter(position: number): void } {
  let after = Infinity;
  let isNamed = false;
  const [readFeed, readLog] = [store.feed.read, store.read];
  Object.assign(store.feed, {
    async read(...args: Parameters<Store["feed"]["read"]>) {
      const page = await readFeed.apply(store.feed, args);
      if (page.entries.some(({ position }) => position > after)) [isNamed, after] = [true, Infinity];
      return page;
    },
  });
  return Object.assign(store, {
    failAfter: (position: number) => void (after = position),
    async read(...args: Parameters<Store["read"]>) {
      if (!isNamed) return await readLog.apply(store, args);
      isNamed = false;
      throw new ToolError("store_failed", "The connection was lost.");
    },
  });
}

test.each([["one session", "s"] as const, ["all sessions", undefined] as const])(
  "issue 19.3 a reader of %s misses nothing that another process wrote while the store was unreadable",
  async (_, session) => {
    const path = temporaryFile();
    const store = unreadableOnce(sqliteStore({ path }));
    const ports = { log: new MemoryLog() };
    await using here = createRuntime({ tools: TOOLS, store, ports });
    await using elsewhere = createRuntime({ tools: TOOLS, store: sqliteStore({ path }) });
    const written = elsewhere.session("s");
    await written.execute({ name: "echo" });
    const feed = here.events(session === undefined ? { after: "0" } : { session });
    const { length } = await logOf(written);
    await readPositions(feed, length);
    const message = { role: "user", content: "more" } as const; // one event, which one look finds
    await written.addMessage(message);
    await readPositions(feed, 1); // from now on the reader waits for the store's feed
    store.failAfter(length + 1);
    await written.addMessage(message);
    expect(await readPositions(feed, 1)).toEqual([length + 2]);
    expect(ports.log.lines).toHaveLength(1);
  },
);
