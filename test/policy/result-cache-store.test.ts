import { expect, test } from "vitest";
import type { CacheRecord } from "../../src/core/store/store.ts";
import { StoredResults } from "../../src/policy/cache/stored-results.ts";
import { MemoryLog, settle } from "../../src/testing/fake-ports.ts";
import { MemoryCacheStore } from "./memory-cache-store.ts";

function setUp(): { readonly store: MemoryCacheStore; readonly log: MemoryLog; readonly stored: StoredResults } {
  const store = new MemoryCacheStore();
  const log = new MemoryLog();
  return { store, log, stored: new StoredResults({ open: async () => {}, cache: store }, log) };
}

async function record(stored: StoredResults, key: string, resources: readonly string[]): Promise<CacheRecord> {
  return { key, body: "1", resources, versions: (await stored.versions(resources)) ?? [], storedAt: 0, expiresAt: undefined };
}

test("until the first persistent read no write waits, and that read first passes all earlier writes to the store", async () => {
  const { store, stored } = setUp();
  expect([stored.beforeWrite(["a"]), stored.beforeWrite(["b", "a"])]).toEqual([undefined, undefined]);
  stored.afterWrite(["c"]);
  expect(store.asked).toEqual([]);
  await stored.get("k", 0);
  expect(store.asked).toEqual(["invalidate a b c", "get"]);
});

test("after useIf enables it, the store is notified of each write before the write begins, without a read", async () => {
  const { store, stored } = setUp();
  const answers = [false, false, true];
  const waits: boolean[] = [];
  for (const version of [1, 1, 1, 2, 3, 4]) {
    stored.enableIf(() => answers.shift() ?? false, version);
    const known = stored.beforeWrite([`a${version}`]);
    waits.push(known !== undefined);
    await known;
  }
  expect([waits, answers, store.asked]).toEqual([[false, false, false, false, true, true], [], ["invalidate a1 a2 a3", "invalidate a4"]]);
});

test("a store that is not needed is not opened", async () => {
  let opened = 0;
  const stored = new StoredResults({ open: async () => void opened++, cache: new MemoryCacheStore() }, new MemoryLog());
  await stored.whenSettled();
  expect(opened).toBe(0);
  stored.afterWrite(["a"]);
  await stored.whenSettled();
  expect(opened).toBe(1);
});

test("after the first read the store is notified of each write before it begins and after it ends", async () => {
  const { store, stored } = setUp();
  await stored.get("k", 0);
  await stored.beforeWrite(["a"]);
  expect(store.asked).toEqual(["get", "invalidate a"]);
  stored.afterWrite(["a"]);
  await stored.whenSettled();
  expect(store.asked).toEqual(["get", "invalidate a", "invalidate a"]);
});

test("an answer read before a write is not stored, and one stored before the write is not found", async () => {
  const { store, stored } = setUp();
  const early = await record(stored, "early", ["file:/a"]);
  stored.put(early);
  await stored.whenSettled();
  expect(await stored.get("early", 0)).toBe("1");
  const late = await record(stored, "late", ["file:/a"]);
  stored.afterWrite(["file:/a/b"]);
  stored.put(late);
  await stored.whenSettled();
  expect([await stored.get("early", 0), await stored.get("late", 0), [...store.entries.keys()]]).toEqual([undefined, undefined, ["early"]]);
});

test("an answer that is read after a write of this process is stored, as the store knows the write first", async () => {
  const { store, stored } = setUp();
  stored.afterWrite(["file:/a"]);
  stored.put(await record(stored, "k", ["file:/a"]));
  expect(store.asked.slice(0, 2)).toEqual(["invalidate file:/a", "versions"]);
  await stored.whenSettled();
  expect(await stored.get("k", 0)).toBe("1");
});

test("writes during a notification are passed on in the next one, and a read waits for both", async () => {
  const { store, stored } = setUp();
  await stored.get("k", 0);
  let open = (): void => {};
  store.gate = new Promise<void>((resolve) => (open = resolve));
  const first = stored.beforeWrite(["a"]);
  await settle();
  const second = stored.beforeWrite(["b"]);
  const read = stored.get("k", 0);
  await settle();
  expect(store.asked).toEqual(["get", "invalidate a"]);
  open();
  await Promise.all([first, second, read]);
  expect(store.asked).toEqual(["get", "invalidate a", "invalidate b", "get"]);
});

test("without a persistent read, written keys are passed on 256 at a time, so that they do not pile up", async () => {
  const { store, stored } = setUp();
  for (let index = 0; index < 1_000; index++) {
    stored.afterWrite([`file:/${index}`]);
    await settle();
  }
  expect(store.asked.map((request) => request.split(" ").length - 1)).toEqual([256, 256, 256]);
});

test("a failing store returns and stores no answers, rejects a write, is notified later, and is logged once", async () => {
  const { store, stored, log } = setUp();
  await stored.get("k", 0);
  store.failing = true;
  await expect(stored.beforeWrite(["a"])).rejects.toThrow("The disk is full.");
  stored.afterWrite(["b"]);
  for (let round = 0; round < 3; round++) {
    expect([await stored.get("k", 0), await stored.versions(["a"])]).toEqual([undefined, undefined]);
    stored.put({ key: "k", body: "1", resources: [], versions: [], storedAt: 0, expiresAt: undefined });
    await stored.whenSettled();
  }
  expect(log.lines.map((line) => line.message)).toEqual([
    expect.stringContaining("does not yet know"),
    expect.stringContaining("cannot be read"),
    expect.stringContaining("was not stored"),
  ]);
  store.failing = false;
  store.asked.length = 0;
  await stored.get("k", 0);
  expect(store.asked).toEqual(["invalidate a b", "get"]);
});
