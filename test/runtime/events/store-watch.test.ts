/** When the store is read for events of other processes. */
import { expect, test } from "vitest";
import { ToolError } from "../../../src/core/error.ts";
import { NO_FOLLOWER, type StoreChange } from "../../../src/core/store/store-changes.ts";
import { StoreWatch } from "../../../src/runtime/events/store-watch.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { fakePorts, FakeClock } from "../../../src/testing/fake-ports.ts";

const SHOP: StoreChange = { parts: ["events"], sessionIds: ["shop"] };

async function watched(isLive: boolean) {
  const clock = new FakeClock();
  const store = memoryStore();
  const reads: number[] = [];
  let tell = (_change: StoreChange): void => {};
  let stopped = 0;
  const feed = {
    latest: () => store.feed.latest(),
    read: (options: Parameters<typeof store.feed.read>[0]) => {
      reads.push(clock.now());
      return store.feed.read(options);
    },
  };
  const told = {
    ...store,
    feed,
    follow(listener: (change: StoreChange) => void) {
      tell = listener;
      return { isLive, stop: () => void stopped++ };
    },
  };
  const watch = new StoreWatch({
    store: told,
    ports: { ...fakePorts(), clock },
    onEvent() {},
    onLost() {},
    async onCheck() {},
    hasReader: (id) => id === "shop",
  }); // what the watch uses
  await watch.start();
  return { clock, reads, watch, tell: (change: StoreChange) => tell(change), stopped: () => stopped };
}

test("issue 21.2 the store is read twice a second without hints, and every two seconds with a connection for hints", async () => {
  const [polled, live] = [await watched(false), await watched(true)];
  await polled.clock.advance(2_100);
  await live.clock.advance(4_100);
  expect([polled.reads, live.reads]).toEqual([
    [500, 1_000, 1_500, 2_000],
    [2_000, 4_000],
  ]);
});

test("issue 21.2 a hint about a session with readers triggers a read at once, at most every 10 ms, and other hints never", async () => {
  const { clock, reads, tell } = await watched(true);
  await clock.advance(100);
  tell({ parts: ["events"], sessionIds: ["elsewhere"] });
  tell({ parts: ["jobs", "approvals"], sessionIds: undefined });
  await clock.advance(100);
  expect(reads).toEqual([]);
  for (let ms = 0; ms < 30; ms++) {
    tell(SHOP);
    await clock.advance(1);
  }
  expect(reads).toEqual([200, 210, 220, 230]);
});

test("issue 21.2 after a hint the store is read more often for a second, as the hint may precede the event", async () => {
  const { clock, reads, tell, watch, stopped } = await watched(true);
  tell({ parts: ["events"], sessionIds: undefined });
  await clock.advance(3_500);
  expect(reads.slice(0, 3)).toEqual([0, 50, 100]);
  expect(reads.filter((at) => at > 1_100)).toEqual([3_000]);
  watch.stop();
  await clock.advance(10_000);
  expect([reads.at(-1), stopped()]).toEqual([3_000, 1]);
});

test("issue 21.2 readers are advanced by each page, even if the next page cannot be read", async () => {
  const clock = new FakeClock();
  const store = memoryStore();
  const moved: string[] = [];
  const pages = [
    async () => ({ entries: [{ sessionId: "shop", position: 7, mark: "7-a" }], isFull: true }),
    async () => Promise.reject(new ToolError("store_failed", "The connection was lost.")),
  ];
  const feed = {
    latest: () => store.feed.latest(),
    read: () => pages.shift()?.() ?? Promise.resolve({ entries: [], isFull: false }),
  };
  const watch = new StoreWatch({
    store: { ...store, feed, follow: () => NO_FOLLOWER },
    ports: { ...fakePorts(), clock },
    onEvent: (sessionId, position) => void moved.push(`${sessionId} ${position}`),
    onLost() {},
    async onCheck() {},
    hasReader: () => true,
  });
  await watch.start();
  await clock.advance(2_000);
  watch.stop();
  expect(moved).toEqual(["shop 7"]);
});

test("a watch that is stopped during a read neither reads on nor warns", async () => {
  const clock = new FakeClock();
  const store = memoryStore();
  const warned: string[] = [];
  const pages = [Promise.withResolvers<{ entries: { sessionId: string; position: number; mark: string }[]; isFull: boolean }>()];
  let reads = 0;
  const feed = {
    latest: () => store.feed.latest(),
    read: () => pages[reads++]?.promise ?? Promise.reject(new ToolError("store_failed", "The store was closed.")),
  };
  const watch = new StoreWatch({
    store: { ...store, feed, follow: () => NO_FOLLOWER },
    ports: { ...fakePorts(), clock, log: { debug: () => {}, warn: (message) => void warned.push(message) } },
    onEvent() {},
    onLost() {},
    async onCheck() {},
    hasReader: () => true,
  });
  await watch.start();
  await clock.advance(500);
  expect(reads).toBe(1);
  watch.stop();
  pages[0]?.resolve({ entries: [{ sessionId: "shop", position: 7, mark: "7-a" }], isFull: true });
  await clock.advance(2_000);
  expect([reads, warned]).toEqual([1, []]);
});
