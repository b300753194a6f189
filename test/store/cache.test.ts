import type { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isSameOrInside } from "../../src/core/resources/effects.ts";
import type { CacheStore } from "../../src/core/store/store.ts";
import { MemoryCache } from "../../src/store/memory/memory-cache.ts";
import { outerResources } from "../../src/store/sql/resource-versions.ts";
import { localStore, type LocalStore } from "./local-store.ts";
import { temporaryFile } from "./temporary-file.ts";
import { inCI } from "../ci.ts";
import { testInCI } from "../test-in-ci.ts";

const resource = fc.array(fc.constantFrom("/", "a", "b", ":", "file:"), { maxLength: 6 }).map((parts) => parts.join(""));

test("outerResources returns every resource that contains the given one", () => {
  fc.assert(
    fc.property(resource, (inner) => {
      const prefixes = Array.from({ length: inner.length }, (_, length) => inner.slice(0, length));
      expect(outerResources(inner)).toEqual(prefixes.filter((outer) => isSameOrInside(inner, outer)));
    }),
    { numRuns: inCI ? 2_000 : 100 },
  );
});

interface OpenCache {
  readonly cache: CacheStore;
  /** As if so many resources had been written. */
  writeMany(count: number): Promise<void>;
}

const caches: readonly { readonly name: string; open(maxBytes: number): Promise<OpenCache> }[] = [
  {
    name: "in memory",
    async open(maxBytes) {
      const cache = new MemoryCache(maxBytes);
      return { cache, writeMany: (count) => cache.invalidate(Array.from({ length: count }, (_, index) => `r${index}`)) };
    },
  },
  {
    name: "in SQLite",
    async open(maxCacheBytes) {
      const { store, file } = localStore(":memory:", { maxCacheBytes });
      await store.open();
      return {
        cache: store.cache,
        async writeMany(count) {
          const numbers = `with recursive number (n) as (select 1 union all select n + 1 from number where n < ${count})`;
          file.exec(`${numbers} insert into haft_generation select '"r' || n || '"', 1, 1 from number`);
        },
      };
    },
  },
];

describe.each(caches)("the cache $name", ({ open }) => {
  test("L23 returns a stored result exactly when nothing that it read was written since", async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("keep" as const), key: fc.nat(5), resources: fc.array(resource, { maxLength: 3 }) }),
      fc.record({ kind: fc.constant("write" as const), resources: fc.array(resource, { maxLength: 3 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { cache } = await open(1e6);
        const expected = new Map<string, { readonly body: string; readonly resources: readonly string[] }>();
        for (const [index, one] of steps.entries()) {
          if (one.kind === "keep") {
            const entry = { key: `${one.key}`, body: `${index}`, resources: one.resources };
            await cache.put({ ...entry, versions: await cache.versions(one.resources), storedAt: index, expiresAt: undefined });
            expected.set(entry.key, entry);
          } else {
            await cache.invalidate(one.resources);
            for (const [key, { resources }] of expected) if (conflict(resources, one.resources)) expected.delete(key);
          }
          for (let key = 0; key <= 5; key++) expect(await cache.get(`${key}`, 0)).toBe(expected.get(`${key}`)?.body);
        }
      }),
      { numRuns: 60 },
    );
  });

  test("L23 stays within its bytes by dropping the oldest results, and never stores a result that is too large by itself", async () => {
    const { cache } = await open(1_000);
    for (let number = 0; number < 20; number++) await keep(cache, `key ${number}`, "x".repeat(90));
    const kept: number[] = [];
    for (let number = 0; number < 20; number++) if ((await cache.get(`key ${number}`, 0)) !== undefined) kept.push(number);
    expect(kept).toEqual(Array.from({ length: kept.length }, (_, index) => 20 - kept.length + index));
    expect(kept.length).toBeGreaterThan(7);
    await keep(cache, "key 19", "x".repeat(2_000));
    expect(await cache.get("key 19", 0)).toBe(undefined);
    expect(await cache.get("key 18", 0)).toBe("x".repeat(90));
    await keep(cache, "key 20", "x".repeat(900));
    expect([await cache.get("key 20", 0), await cache.get("key 18", 0)]).toEqual(["x".repeat(900), undefined]);
  });

  test("with more than 100,000 written resources, drops the oldest versions, and no version number is used twice", async () => {
    const { cache, writeMany } = await open(1e6);
    for (let write = 0; write < 5; write++) await cache.invalidate(["a"]);
    const before = await cache.versions(["a", "b"]);
    await keep(cache, "k", "1", ["b"]);
    await writeMany(100_001);
    for (let write = 0; write < 1_000; write++) await cache.invalidate(["a"]);
    expect(await cache.get("k", 0)).toBe(undefined);
    const after = await cache.versions(["a", "b"]);
    expect(Math.min(...after)).toBeGreaterThan(Math.max(...before));
    await keep(cache, "k", "2", ["b"]);
    expect(await cache.get("k", 0)).toBe("2");
  });
});

test("C02 a damaged cached result is not returned", async () => {
  const { store, file } = localStore(":memory:");
  await store.open();
  await keep(store.cache, "k", "10 EUR", ["price"]);
  file.exec("update haft_cache set body = replace(body, '10', '90')");
  expect(await store.cache.get("k", 0)).toBe(undefined);
  await store.close();
});

testInCI("B08 a resource with more than 16,000 enclosing resources is not cached in SQLite", async () => {
  const { store } = localStore(":memory:");
  await store.open();
  expect(await store.cache.versions(["a/".repeat(inCI ? 8_000 : 800)])).toEqual([0]);
  await expect(store.cache.versions(["a/".repeat(9_000)])).rejects.toMatchObject({ code: "too_large" });
  await store.close();
});

describe("a result cached before another process ended", () => {
  async function afterEnd(end: (writer: LocalStore, file: DatabaseSync) => unknown): Promise<readonly unknown[]> {
    const path = temporaryFile();
    const [writer, { store, file }] = [localStore(path), localStore(path)];
    await writer.store.open();
    await store.open();
    await writer.store.cache.invalidate(["price"]); // it is about to write
    await keep(store.cache, "k", "old", ["price"]);
    const found: unknown[] = [await store.cache.get("k", 0)];
    await end(writer, file);
    const [before] = await store.cache.versions(["price"]);
    for (const now of [999, 1_000, 2_000]) found.push(await store.cache.get("k", now));
    await keep(store.cache, "k", "new", ["price"]);
    found.push(await store.cache.get("k", 4_000), (await store.cache.versions(["price"]))[0] === before);
    await store.close();
    return found;
  }

  test("is not returned once a second has passed since that process was killed, because it may have written without reporting it", async () => {
    const killed = (_: LocalStore, file: DatabaseSync): void => file.exec("update haft_owner set pid = 999999999");
    expect(await afterEnd(killed)).toEqual(["old", "old", undefined, undefined, "new", false]);
    const forgotten = (_: LocalStore, file: DatabaseSync): void => file.exec("delete from haft_owner");
    expect(await afterEnd(forgotten)).toEqual(["old", "old", undefined, undefined, "new", false]);
  });

  test("is still returned while that process lives or after it closed its store", async () => {
    const kept = ["old", "old", "old", "old", "new", true];
    expect(await afterEnd(() => {})).toEqual(kept);
    expect(await afterEnd(({ store }) => store.close())).toEqual(kept);
  });
});

async function keep(cache: CacheStore, key: string, body: string, resources: readonly string[] = []): Promise<void> {
  await cache.put({
    key,
    body,
    resources,
    versions: await cache.versions(resources),
    storedAt: Number(key.slice(4)) || 0,
    expiresAt: undefined,
  });
}

function conflict(read: readonly string[], written: readonly string[]): boolean {
  return read.some((one) => written.some((other) => isSameOrInside(one, other) || isSameOrInside(other, one)));
}
