import { describe, expect, test, vi } from "vitest";
import fc from "fast-check";
import { changedKeys, hashKey, PersistentMap } from "../../../src/core/collections/persistent-map.ts";

/** Two keys that begin with `prefix` and whose hashes are equal in the bits of the mask: in all 32 bits, or not. */
function collide(prefix: string, mask: number, fully: boolean): readonly [string, string] {
  const seen = new Map<number, string>();
  for (let index = 0; index < 2_000_000; index++) {
    const scattered = Math.imul(index, 0x9e3779b1);
    const key = prefix + String.fromCharCode(scattered >>> 16, scattered & 0xffff);
    const hash = hashKey(key);
    const other = seen.get(hash & mask);
    if (other !== undefined && (hashKey(other) === hash) === fully) return [other, key];
    seen.set(hash & mask, key);
  }
  throw new Error("no collision found");
}

/** 64 keys of one hash. What follows equal hashes hashes equally, so six pairs in a row give every combination. */
function collidingKeys(): readonly string[] {
  let keys = [""];
  for (let round = 0; round < 6; round++) {
    const first = keys[0] ?? "";
    const pair = collide(first, -1, true);
    keys = pair.flatMap((end) => keys.map((key) => key + end.slice(first.length)));
  }
  return keys;
}

const COLLIDING = collidingKeys();
const NEARLY = collide("near", 0x3fffffff, false);
const KEYS = [...COLLIDING.slice(0, 12), ...NEARLY, "", "a", "b", "__proto__", "constructor", "\ud800", "\u0000", "state\u0000key"];

type Operation = { readonly key: string; readonly value: number | undefined } | { readonly key: string; readonly deleted: true };

const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({
    key: fc.oneof(fc.constantFrom(...KEYS), fc.string({ maxLength: 2 })),
    value: fc.option(fc.nat(3), { nil: undefined }),
  }),
  fc.record({ key: fc.constantFrom(...KEYS), deleted: fc.constant<true>(true) }),
);

function change(map: PersistentMap<number | undefined>, operation: Operation): PersistentMap<number | undefined> {
  return "deleted" in operation ? map.delete(operation.key) : map.set(operation.key, operation.value);
}

function changeModel(model: ReadonlyMap<string, number | undefined>, operation: Operation): ReadonlyMap<string, number | undefined> {
  const next = new Map(model);
  if ("deleted" in operation) next.delete(operation.key);
  else next.set(operation.key, operation.value);
  return next;
}

function sorted<V>(entries: Iterable<readonly [string, V]>): readonly (readonly [string, V])[] {
  return [...entries].sort(([one], [other]) => (one < other ? -1 : 1));
}

function expectSame<V>(map: PersistentMap<V>, model: ReadonlyMap<string, V>): void {
  expect(sorted(map.entries())).toEqual(sorted(model));
  expect(map.size).toBe(model.size);
  for (const key of KEYS) expect([key, map.has(key), map.get(key)]).toEqual([key, model.has(key), model.get(key)]);
}

describe("a persistent map", () => {
  test("F0.32 behaves like a Map, and every earlier map stays unchanged", () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 60 }), (operations) => {
        let map = PersistentMap.empty<number | undefined>();
        let model: ReadonlyMap<string, number | undefined> = new Map();
        const all = [{ map, model }];
        for (const operation of operations) {
          map = change(map, operation);
          model = changeModel(model, operation);
          all.push({ map, model });
        }
        for (const { map, model } of all) expectSame(map, model);
      }),
      { numRuns: 200 },
    );
  });

  test("F0.32 changedKeys returns the keys whose values differ between two maps, sorted", () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 40 }), fc.array(operation, { maxLength: 40 }), fc.nat(40), (one, other, fork) => {
        const start = one.slice(0, fork);
        const before = one.reduce(change, PersistentMap.empty<number | undefined>());
        const after = other.reduce(change, start.reduce(change, PersistentMap.empty<number | undefined>()));
        const [from, to] = [new Map(before.entries()), new Map(after.entries())];
        const keys = new Set([...from.keys(), ...to.keys()]);
        const expected = [...keys].filter((key) => from.has(key) !== to.has(key) || from.get(key) !== to.get(key)).sort();
        expect(changedKeys(before, after)).toEqual(expected);
        expect(changedKeys(after, before)).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  test("F0.32 iterates in an order that depends only on its keys", () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 60 }), (operations) => {
        const map = operations.reduce(change, PersistentMap.empty<number | undefined>());
        const rebuilt = sorted(map.entries()).reduce(
          (next, [key, value]) => next.set(key, value),
          PersistentMap.empty<number | undefined>(),
        );
        expect([...map.entries()]).toEqual([...rebuilt.entries()]);
      }),
      { numRuns: 200 },
    );
  });

  test("F0.32 returns itself when a change has no effect", () => {
    const value = { a: 1 };
    const map = PersistentMap.empty<unknown>().set("a", value).set("b", undefined).set("c", Number.NaN);
    expect([map.set("a", value), map.set("b", undefined), map.set("c", Number.NaN), map.delete("d")].every((same) => same === map)).toBe(
      true,
    );
    expect(map.set("a", { a: 1 })).not.toBe(map);
    expect(map.set("d", undefined).has("d")).toBe(true);
    expect(PersistentMap.empty().delete("a").size).toBe(0);
  });

  test("F0.32 finds changed keys without comparing the shared parts", () => {
    const keys = Array.from({ length: 5_000 }, (_, index) => `key-${index}`);
    const before = keys.reduce((map, key) => map.set(key, 1), PersistentMap.empty<number>());
    const after = before.set("key-77", 2);
    const compared = vi.spyOn(Object, "is");
    const changed = changedKeys(before, after);
    const comparisons = compared.mock.calls.length;
    compared.mockRestore();
    expect(changed).toEqual(["key-77"]);
    expect(comparisons).toBeLessThan(10);
  });

  test("F0.32 holds thousands of keys, and drops each when it is deleted", () => {
    const keys = Array.from({ length: 5_000 }, (_, index) => `toolset\u0000key-${index}`);
    const full = keys.reduce((map, key, index) => map.set(key, index), PersistentMap.empty<number>());
    expect(full.size).toBe(5_000);
    expect(keys.every((key, index) => full.get(key) === index)).toBe(true);
    expect(changedKeys(full, full.set("toolset\u0000key-77", -1).delete("toolset\u0000key-4000").set("new", 1))).toEqual([
      "new",
      "toolset\u0000key-4000",
      "toolset\u0000key-77",
    ]);
    const odd = keys.reduce((map, key, index) => (index % 2 === 0 ? map.delete(key) : map), full);
    expect(odd.size).toBe(2_500);
    expect(keys.every((key, index) => odd.has(key) === (index % 2 === 1))).toBe(true);
    const none = keys.reduce((map, key) => map.delete(key), odd);
    expect([none.size, ...none.entries()]).toEqual([0]);
    expect(changedKeys(none, PersistentMap.empty<number>())).toEqual([]);
  });
});

describe("keys chosen to collide", () => {
  test("A06 really share one hash, or all but its last two bits", () => {
    expect(COLLIDING.length).toBe(64);
    expect(new Set(COLLIDING).size).toBe(64);
    expect(new Set(COLLIDING.map(hashKey)).size).toBe(1);
    const [one, other] = NEARLY;
    expect([hashKey(one) === hashKey(other), (hashKey(one) & 0x3fffffff) === (hashKey(other) & 0x3fffffff)]).toEqual([false, true]);
  });

  test("A06 are all stored, replaced and deleted one by one", () => {
    const model = new Map(COLLIDING.map((key, index) => [key, index]));
    const full = [...model].reduce((map, [key, value]) => map.set(key, value), PersistentMap.empty<number>().set("other", 0));
    expect(sorted(full.delete("other").entries())).toEqual(sorted(model));
    const [first = "", second = ""] = COLLIDING;
    expect(changedKeys(full, full.set(first, -1).delete(second))).toEqual([first, second].sort());
    expect(changedKeys(full, PersistentMap.empty<number>().set("other", 0))).toEqual(COLLIDING.toSorted());
    let map = full;
    for (const [index, key] of COLLIDING.entries()) {
      map = map.delete(key);
      expect([map.size, map.has(key), COLLIDING.slice(index + 1).every((left) => map.get(left) === model.get(left))]).toEqual([
        64 - index,
        false,
        true,
      ]);
    }
    expect([...map.entries()]).toEqual([["other", 0]]);
  });

  test("A06 are not found when another key with the same hash was set", () => {
    const [first = "", second = "", third = ""] = COLLIDING;
    const one = PersistentMap.empty<number>().set(first, 1);
    expect([one.has(second), one.get(second), one.delete(second) === one]).toEqual([false, undefined, true]);
    const two = one.set(second, 2);
    expect([two.has(third), two.get(third), two.delete(third) === two]).toEqual([false, undefined, true]);
  });
});
