/** The part of the store contract about the feed: the order in which the events of all sessions became durable. */
import { pushAll } from "../core/collections/push-all.ts";
import { deepEqual, equal, ok } from "node:assert/strict";
import type { FeedEntry } from "../core/store/store-feed.ts";
import type { Store } from "../core/store/store.ts";
import { singleStoreCase, twoStoreCase, messageEvent, messageEvents, assertRejects, type StoreCase } from "./store-case.ts";

export const feedCases: readonly StoreCase[] = [
  singleStoreCase("the feed names the events of all sessions, those of one in order, and continues after each mark", async (store) => {
    const [one, other] = [store.create("a", { at: 1, durability: "sync" }), store.create("b", { at: 1, durability: "sync" })];
    for (const number of [1, 2, 3]) {
      one.append([messageEvent("a", number)]);
      other.append([messageEvent("b", number)]);
      await one.whenDurable();
      await other.whenDurable();
    }
    const entries = await readAll(store, "0");
    deepEqual(placesOf(entries, "a"), [1, 2, 3]);
    deepEqual(placesOf(entries, "b"), [1, 2, 3]);
    equal(await store.feed.latest(), entries.at(-1)?.mark);
    for (const [index, { mark }] of entries.entries()) deepEqual(await readAll(store, mark), entries.slice(index + 1));
    ok(entries.every(({ mark }) => /^[\w-]{1,100}$/u.test(mark)));
  }),
  singleStoreCase("the feed is read in pages", async (store) => {
    const log = store.create("a", { at: 1, durability: "sync" });
    log.append(messageEvents("a", 1, 5));
    await log.whenDurable();
    const { entries, isFull } = await store.feed.read({ after: "0", limit: 2 });
    deepEqual([placesOf(entries, "a"), isFull], [[1, 2], true]);
    deepEqual(placesOf((await store.feed.read({ after: entries[1]?.mark ?? "", limit: 3 })).entries, "a"), [3, 4, 5]);
    await assertRejects(() => store.feed.read({ after: "0", limit: 0 }), "invalid_argument");
  }),
  singleStoreCase("the feed of a store without events is empty, and its mark stays valid", async (store) => {
    const mark = await store.feed.latest();
    deepEqual(await store.feed.read({ after: mark }), { entries: [], isFull: false });
    const log = store.create("a", { at: 1, durability: "sync" });
    log.append([messageEvent("a", 1)]);
    await log.whenDurable();
    deepEqual(placesOf(await readAll(store, mark), "a"), [1]);
  }),
  singleStoreCase("a branch is in the feed with its own events only", async (store) => {
    const log = store.create("a", { at: 1, durability: "sync" });
    log.append(messageEvents("a", 1, 2));
    const branch = store.create("b", { at: 1, durability: "sync", parent: { sessionId: "a", length: 2 } });
    branch.append([messageEvent("b", 3)]);
    await log.whenDurable();
    await branch.whenDurable();
    deepEqual(placesOf(await readAll(store, "0"), "b"), [3]);
  }),
  singleStoreCase("events of a removed session are gone from the feed, and marks at them stay valid", async (store) => {
    for (const id of ["a", "b"]) {
      const log = store.create(id, { at: 1, durability: "sync" });
      log.append(messageEvents(id, 1, 2));
      await log.close();
    }
    const mark = await store.feed.latest();
    await store.remove("b");
    const after = store.create("c", { at: 1, durability: "sync" });
    after.append([messageEvent("c", 1)]);
    await after.whenDurable();
    deepEqual(
      (await readAll(store, "0")).map(({ sessionId }) => sessionId),
      ["a", "a", "c"],
    );
    deepEqual(placesOf(await readAll(store, mark), "c"), [1]);
  }),
  singleStoreCase("a mark that was never given is refused as gone, and a malformed one as a wrong argument", async (store) => {
    const log = store.create("a", { at: 1, durability: "sync" });
    log.append([messageEvent("a", 1)]);
    await log.whenDurable();
    const mark = await store.feed.latest();
    for (const unknown of [mark.replace(/^\d+/u, "999999"), mark.replace(/-./u, (seal) => (seal === "-0" ? "-1" : "-0"))])
      await assertRejects(() => store.feed.read({ after: unknown }), "gone");
    for (const wrong of ["", "x", "-1", "1e3", "1;drop", "1-", `${mark}-`])
      await assertRejects(() => store.feed.read({ after: wrong }), "invalid_argument");
  }),
  twoStoreCase("the feed has the events of another process, and its marks are valid there", async (one, other) => {
    const log = one.create("a", { at: 1, durability: "sync" });
    log.append([messageEvent("a", 1)]);
    await log.whenDurable();
    const mark = await one.feed.latest();
    deepEqual(placesOf(await readAll(other, "0"), "a"), [1]);
    const second = other.create("b", { at: 1, durability: "sync" });
    second.append([messageEvent("b", 1)]);
    await second.whenDurable();
    deepEqual(await readAll(one, mark), await readAll(other, mark));
    deepEqual(placesOf(await readAll(one, mark), "b"), [1]);
  }),
];

async function readAll({ feed }: Store, after: string): Promise<readonly FeedEntry[]> {
  const all: FeedEntry[] = [];
  for (let mark = after; ;) {
    const { entries, isFull } = await feed.read({ after: mark, limit: 2 });
    pushAll(all, entries);
    if (!isFull) return all;
    mark = entries.at(-1)?.mark ?? mark;
  }
}

function placesOf(entries: readonly FeedEntry[], sessionId: string): readonly number[] {
  return entries.flatMap((entry) => (entry.sessionId === sessionId ? [entry.position] : []));
}
