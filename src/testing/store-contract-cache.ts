/** The part of the store contract about cached results that outlive the process. */
import { deepEqual, equal, notEqual } from "node:assert/strict";
import type { CacheRecord, CacheStore } from "../core/store/store.ts";
import { singleStoreCase, twoStoreCase, type StoreCase } from "./store-case.ts";

export const cacheCases: readonly StoreCase[] = [
  singleStoreCase("a result is kept under its key until it expires", async ({ cache }) => {
    await keep(cache, { key: "k\u0000\ud800", body: '{"a":"\\u0000"}', expiresAt: 100 });
    await keep(cache, { key: "for ever", body: "\ud800", expiresAt: undefined });
    equal(await cache.get("k\u0000\ud800", 99), '{"a":"\\u0000"}');
    equal(await cache.get("k\u0000\ud800", 100), undefined);
    equal(await cache.get("k", 0), undefined);
    equal(await cache.get("for ever", Number.MAX_SAFE_INTEGER), "\ud800");
    await keep(cache, { key: "for ever", body: "newer", expiresAt: undefined });
    equal(await cache.get("for ever", 0), "newer");
  }),
  singleStoreCase("a result from more than a minute in the future has expired", async ({ cache }) => {
    await keep(cache, { key: "ends", body: "1", storedAt: 100_000, expiresAt: 200_000 });
    await keep(cache, { key: "for ever", body: "1", storedAt: 100_000, expiresAt: undefined });
    equal(await cache.get("ends", 40_000), "1");
    equal(await cache.get("ends", 39_999), undefined);
    equal(await cache.get("for ever", 0), "1");
  }),
  singleStoreCase("a write invalidates reads of its resource, inside it and around it, and nothing else", async ({ cache }) => {
    const resources = ["file:/a", "file:/a/b", "file:/a/b/c", "file:/ab", "file:/a/x", "file:", "other:/a/b"];
    for (const resource of resources) await keep(cache, { key: resource, body: "1", resources: [resource] });
    await cache.invalidate(["file:/a/b"]);
    const left = [];
    for (const resource of resources) if ((await cache.get(resource, 0)) !== undefined) left.push(resource);
    deepEqual(left, ["file:/ab", "file:/a/x", "other:/a/b"]);
  }),
  singleStoreCase("a result of several resources is out of date with any one of them", async ({ cache }) => {
    for (const written of ["one", "two"]) {
      await keep(cache, { key: "k", body: "1", resources: ["one", "two"] });
      equal(await cache.get("k", 0), "1");
      await cache.invalidate(["elsewhere"]);
      equal(await cache.get("k", 0), "1");
      await cache.invalidate([written]);
      equal(await cache.get("k", 0), undefined);
    }
  }),
  singleStoreCase("a result that was read before a write is not kept after it", async ({ cache }) => {
    const before = await cache.versions(["file:/a"]);
    await cache.invalidate(["file:/a/b"]);
    notEqual((await cache.versions(["file:/a"]))[0], before[0]);
    await cache.put({ key: "k", body: "old", resources: ["file:/a"], versions: before, storedAt: 0, expiresAt: undefined });
    equal(await cache.get("k", 0), undefined);
    await keep(cache, { key: "k", body: "new", resources: ["file:/a"] });
    equal(await cache.get("k", 0), "new");
  }),
  singleStoreCase("versions come in the order of the resources, equal ones for equal resources", async ({ cache }) => {
    await cache.invalidate(["b"]);
    const [first, second, third] = await cache.versions(["a", "b", "a"]);
    deepEqual([first === third, first === second], [true, false]);
    deepEqual(await cache.versions([]), []);
    await cache.invalidate([]);
  }),
  twoStoreCase("a result that one store keeps is read by the other, and a write through either drops it", async (one, other) => {
    await keep(one.cache, { key: "k", body: "1", resources: ["a/b"] });
    equal(await other.cache.get("k", 0), "1");
    await other.cache.invalidate(["a"]);
    equal(await one.cache.get("k", 0), undefined);
  }),
];

/** Stores a body with the current versions of its resources. */
async function keep(cache: CacheStore, entry: Pick<CacheRecord, "key" | "body"> & Partial<CacheRecord>): Promise<void> {
  const { resources = [], expiresAt } = entry;
  await cache.put({ storedAt: 0, ...entry, resources, versions: await cache.versions(resources), expiresAt });
}
