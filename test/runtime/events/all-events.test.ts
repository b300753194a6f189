/** `Runtime.events` of all sessions. */
import { expect, test } from "vitest";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import type { EventFeed } from "../../../src/runtime/events/event-feed.ts";
import type { FeedItem } from "../../../src/runtime/events/feed-item.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";
import { temporaryFile } from "../../store/temporary-file.ts";
import { tool } from "../bench-runtime.ts";
import { line, readUntil } from "./followed.ts";
import { testInCI } from "../../test-in-ci.ts";

const TOOLS = [
  tool("echo", (input) => input),
  tool("steps", async (_input, context) => {
    context.progress({ message: "half" });
    await Promise.resolve();
  }),
];

const runtimes: readonly (readonly [string, () => Runtime])[] = [
  ["without a store", () => createRuntime({ tools: TOOLS })],
  ["with a store in memory", () => createRuntime({ tools: TOOLS, store: memoryStore() })],
  ["with a SQLite store", () => createRuntime({ tools: TOOLS, store: sqliteStore({ path: temporaryFile() }) })],
];

/** `session position` of the events of logs. */
function places(items: readonly FeedItem[]): readonly string[] {
  return items.flatMap((item) => ("event" in item && item.position !== undefined ? [`${item.sessionId} ${item.position}`] : []));
}

async function readEnds(feed: EventFeed, count: number): Promise<readonly FeedItem[]> {
  let left = count;
  return readUntil(feed, (item) => "event" in item && item.event.type === "call-end" && --left === 0);
}

test.each(runtimes)(
  "issue 19.3 %s, one reader gets new events of all sessions, each once, and those of a session in order",
  async (_, make) => {
    await using runtime = make();
    const [one, other] = [runtime.session("one"), runtime.session("other")];
    await one.execute({ name: "echo" });
    const before = one.length;
    const feed = runtime.events();
    await feed.begin();
    await Promise.all([
      one.execute([{ name: "steps" }, { name: "echo" }]),
      other.execute({ name: "echo" }),
      runtime.execute({ name: "echo" }),
    ]);
    const items = await readEnds(feed, 4);
    const ours = places(items);
    expect(new Set(ours).size).toBe(ours.length);
    expect(ours.filter((place) => place.startsWith("one"))).toEqual([1, 2, 3, 4].map((n) => `one ${before + n}`));
    expect(items.filter((item) => item.cursor === undefined).map(line)).toContain("- call-progress");
    const trace = items.map(line).map((text) => text.replace(/\d+/u, "n"));
    expect(trace.indexOf("- call-progress")).toBeGreaterThan(trace.indexOf("n call-start"));
  },
);

test.each(runtimes)("issue 19.3 %s, a reader continues after any event, and gets exactly the rest", async (_, make) => {
  await using runtime = make();
  const first = runtime.events({ after: 0 });
  await first.begin();
  for (const id of ["a", "b", "c"]) await runtime.session(id).execute({ name: "echo" });
  const items = (await readEnds(first, 3)).filter((item) => item.cursor !== undefined);
  for (const [index, { cursor = "" }] of items.slice(0, -1).entries()) {
    const rest = items.slice(index + 1);
    let left = places(rest).length;
    const again = await readUntil(runtime.events({ after: cursor }), (item) => item.cursor !== undefined && --left === 0);
    expect(places(again)).toEqual(places(rest));
  }
});

test.each(runtimes)("issue 19.3 %s, an unknown cursor is gone, and an invalid one is rejected", async (_, make) => {
  await using runtime = make();
  const feed = runtime.events({ after: 0 });
  await feed.begin();
  await runtime.session("a").execute({ name: "echo" });
  await readEnds(feed, 1);
  await expect(runtime.events({ after: "999-abc" }).read()).rejects.toMatchObject({ code: "gone" });
  for (const after of ["x", "", "17", "1-2-3"])
    await expect(runtime.events({ after }).read()).rejects.toMatchObject({ code: "invalid_argument" });
});

test("issue 19.3 a cursor is valid in a later process, and in another one meanwhile", async () => {
  const path = temporaryFile();
  const open = () => createRuntime({ tools: TOOLS, store: sqliteStore({ path }) });
  let cursor: string | undefined;
  {
    await using first = open();
    const feed = first.events({ after: 0 });
    await first.session("a").execute({ name: "echo" });
    cursor = (await readEnds(feed, 1)).findLast((item) => item.cursor !== undefined)?.cursor;
    await first.session("b").execute({ name: "echo" });
  }
  await using second = open();
  const feed = second.events({ after: cursor ?? "" });
  expect(places(await readEnds(feed, 1))).toEqual(["b 1", "b 2", "b 3"]);
  await using third = open();
  const pending = readEnds(feed, 1);
  await third.session("c").execute({ name: "echo" });
  expect(places(await pending)).toEqual(["c 1", "c 2", "c 3"]);
});

test("issue 19.3 a commit is emitted once for the branch and once for its session, without repeating an event", async () => {
  await using runtime = createRuntime({ tools: TOOLS, store: sqliteStore({ path: temporaryFile() }) });
  const session = runtime.session("s");
  await session.execute({ name: "echo" });
  const feed = runtime.events();
  await feed.begin();
  const branch = session.fork({ id: "b" });
  await branch.execute({ name: "echo" });
  const own = await readEnds(feed, 1);
  await branch.commit();
  expect(places(own)).toEqual(["b 4", "b 5", "b 6"]);
  expect(places(await readEnds(feed, 1))).toEqual(["s 4", "s 5", "s 6"]);
});

test("issue 19.3 the number of events in memory is bounded, and a reader that falls behind gets the number it missed", async () => {
  await using runtime = createRuntime({ tools: TOOLS });
  const slow = runtime.events({ after: 0 });
  await slow.begin();
  const session = runtime.session("s");
  for (let round = 0; round < 110; round++) {
    await session.execute(Array.from({ length: 100 }, () => ({ name: "echo" })));
    await new Promise((resolve) => setImmediate(resolve));
  }
  const items = await readUntil(slow, (item) => item.cursor !== undefined && "event" in item);
  const [missed] = items.flatMap((item) => ("gap" in item && item.gap.of === "kept" ? [item.gap.missed] : []));
  const first = items.find((item) => "event" in item && item.position !== undefined);
  expect(places(first === undefined ? [] : [first])).toEqual([`s ${(missed ?? Number.NaN) + 1}`]);
  await expect(runtime.events({ after: 0 }).read()).rejects.toMatchObject({ code: "gone" });
});

testInCI("issue 19.3 a slow reader misses only events that are in no log, and is notified of the gap", async () => {
  await using runtime = createRuntime({
    tools: [
      tool("talk", (_input, context) => {
        for (let n = 0; n < 40; n++) context.progress({ done: n });
      }),
    ],
    store: sqliteStore({ path: temporaryFile() }),
  });
  const session = runtime.session("s");
  await session.execute({ name: "talk" });
  for (const feed of [runtime.events({ session: "s", after: session.length }), runtime.events()]) {
    const before = session.length;
    await feed.begin();
    for (let call = 0; call < 200; call++) {
      await session.execute({ name: "talk" });
      await new Promise((resolve) => setImmediate(resolve));
    }
    let last = 0;
    const items = await readUntil(feed, (item) => "event" in item && (last = item.position ?? last) === session.length);
    expect(places(items)).toEqual(Array.from({ length: session.length - before }, (_, index) => `s ${before + index + 1}`));
    const missed = items.reduce((sum, item) => sum + ("gap" in item ? item.gap.missed : 0), 0);
    const live = items.filter((item) => "event" in item && item.position === undefined).length;
    expect(missed).toBeGreaterThan(0);
    expect(missed + live).toBe(200 * 41);
    feed.close();
  }
});
