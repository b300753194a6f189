import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { ToolError } from "../../../src/core/error.ts";
import { applyPatch } from "../../../src/core/base/json-patch.ts";
import type { JsonLimits } from "../../../src/core/base/json-limits.ts";
import { copyJson, isJsonObject, type JsonObject, type JsonValue } from "../../../src/core/base/json.ts";
import { parseJson } from "../../../src/core/base/parse-json.ts";
import { shareJson } from "../../../src/core/base/share-json.ts";

function shareObject(value: unknown): JsonObject {
  const shared = shareJson(value);
  if (isJsonObject(shared)) return shared;
  throw new Error("not an object");
}

function isDeeplyFrozen(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  return Object.isFrozen(value) && Reflect.ownKeys(value).every((key) => isDeeplyFrozen(Reflect.get(value, key)));
}

type Outcome = { readonly json: string } | { readonly code: string; readonly message: string };

function outcome(make: () => JsonValue): Outcome {
  try {
    return { json: JSON.stringify(make()) };
  } catch (error: unknown) {
    if (error instanceof ToolError) return { code: error.code, message: error.message };
    throw error;
  }
}

class Point {
  readonly x: unknown;

  constructor(x: unknown) {
    this.x = x;
  }

  toJSON(): unknown {
    return { point: this.x };
  }
}

const odd = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom<unknown>(null, true, 0, -0, "x", "\ud800"),
    fc.constantFrom<unknown>(undefined, new Date(0), new Point([1])),
    {
      arbitrary: fc.constantFrom<unknown>(Number.NaN, 1n, Symbol("s"), () => 1, new Map(), new Date(Number.NaN), new Point(1n)),
      weight: 1,
    },
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(tie("value"), { maxLength: 3 }).map((items) => Object.assign(Array.from({ length: 4 }), items)),
    fc.array(fc.tuple(fc.constantFrom("a", "b", "__proto__", "toJSON"), tie("value")), { maxLength: 4 }).map(Object.fromEntries),
    fc.array(fc.tuple(fc.constantFrom("a", "b"), tie("value")), { maxLength: 2 }).map(toBareObject),
    tie("value").map((x) => new Point(x)),
  ),
})).value;

function toBareObject(entries: [string, unknown][]): unknown {
  return Object.assign(Object.create(null), Object.fromEntries(entries));
}

describe("shareJson", () => {
  test("F0.31 returns the same as copyJson, or throws the same error", () => {
    fc.assert(
      fc.property(odd, (value) => {
        expect(outcome(() => shareJson(value))).toEqual(outcome(() => copyJson(value).value));
      }),
      { numRuns: 2000 },
    );
  });

  test("F0.31 also returns the same as copyJson for a value built from an earlier copy", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), odd, (value, fresh) => {
        const shared = shareJson(value);
        const next = { fresh, again: [shared, { shared }], ...(isJsonObject(shared) ? shared : {}) };
        expect(outcome(() => shareJson(next))).toEqual(outcome(() => copyJson(next).value));
      }),
      { numRuns: 1000 },
    );
  });

  test("F0.31 returns a deeply frozen value, whatever its source", () => {
    fc.assert(
      fc.property(odd, (value) => {
        let shared: JsonValue;
        try {
          shared = shareJson(value);
        } catch {
          return fc.pre(false);
        }
        expect(isDeeplyFrozen(shared)).toBe(true);
      }),
    );
  });

  test("F0.32 of a changed path keeps every other part by reference, and no object of the caller", () => {
    const before = shareObject({ users: { ann: { age: 1, tags: ["a"] }, bob: { age: 2 } }, log: [{ at: 1 }, { at: 2 }] });
    const users = before["users"] as JsonObject;
    const ann = { ...(users["ann"] as JsonObject), age: 9 };
    const given = { ...before, users: { ...users, ann } };
    const after = shareObject(given);
    const afterUsers = after["users"] as JsonObject;
    const afterAnn = afterUsers["ann"] as JsonObject;
    expect(after).toEqual({ users: { ann: { age: 9, tags: ["a"] }, bob: { age: 2 } }, log: [{ at: 1 }, { at: 2 }] });
    expect(after["log"]).toBe(before["log"]);
    expect(afterUsers["bob"]).toBe(users["bob"]);
    expect(afterAnn["tags"]).toBe((users["ann"] as JsonObject)["tags"]);
    expect([after === given, afterUsers === given.users, afterAnn === ann]).toEqual([false, false, false]);
    ann.age = 10;
    expect([afterAnn["age"], isDeeplyFrozen(after)]).toEqual([9, true]);
  });

  test("F0.32 of a shared value returns that value, and of one of its parts that part", () => {
    const shared = shareObject({ a: [{}], b: {} });
    expect([shareJson(shared), shareJson(shared["a"]), shareJson([shared["b"]])]).toEqual([shared, [{}], [{}]]);
    expect(shareJson(shared) === shared && shareJson(shared["a"]) === shared["a"]).toBe(true);
  });

  test("F0.32 of a patched value shares the parts that the patch did not touch", () => {
    const before = shareObject({ big: { list: [1, { a: 1 }] }, small: { n: 1 } });
    const after = shareObject(applyPatch(before, [{ op: "replace", path: "/small/n", value: 2 }]));
    expect(after).toEqual({ big: { list: [1, { a: 1 }] }, small: { n: 2 } });
    expect(after["big"]).toBe(before["big"]);
    expect(shareJson({ ...after })).toEqual(after);
    expect((shareJson({ ...after }) as JsonObject)["small"]).toBe(after["small"]);
  });

  test("F0.32 also shares beside a date, an undefined member and a __proto__ key", () => {
    const big = shareJson({ list: [1, 2, 3] });
    const after = shareObject({ big, at: new Date(0), none: undefined, ["__proto__"]: 1, items: [undefined, new Point(big)] });
    expect(JSON.stringify(after)).toBe(
      '{"big":{"list":[1,2,3]},"at":"1970-01-01T00:00:00.000Z","items":[null,{"point":{"list":[1,2,3]}}]}',
    );
    expect(after["big"]).toBe(big);
  });
});

test("C09 leaves out a __proto__ key, which reaches no prototype", () => {
  const hostile = parseJson('{"a":{"__proto__":{"polluted":1},"b":1}}');
  const inner = shareObject(hostile)["a"];
  expect(JSON.stringify(inner)).toBe('{"b":1}');
  expect([Object.getPrototypeOf(inner) === Object.prototype, Reflect.get(inner as JsonObject, "polluted")]).toEqual([true, undefined]);
});

describe("values that the caller could still change are copied", () => {
  const inner = shareJson({ n: 1 });

  test.each<[string, () => { readonly given: object; readonly change: () => void }]>([
    ["frozen outside only", () => changing({ list: [1] }, (given) => given.list.push(2))],
    ["frozen, with a getter", getting],
    ["a copy of a shared object", () => changing({ ...(inner as object), list: [0] }, (given) => given.list.push(1))],
    ["an object that inherits from a shared one", inheriting],
    ["a proxy of a shared object", proxied],
    ["a structured clone", () => changing(structuredClone({ inner, list: [1] }), (given) => given.list.push(2))],
  ])("C04 %s", (_, make) => {
    const { given, change } = make();
    const copy = shareJson({ given });
    const text = JSON.stringify(copy);
    change();
    expect(JSON.stringify(copy)).toBe(text);
    expect(JSON.stringify(shareJson({ given }))).not.toBe(text);
    expect(isDeeplyFrozen(copy)).toBe(true);
  });

  function changing<T extends object>(given: T, change: (given: T) => void): { given: object; change: () => void } {
    return { given: Object.freeze(given), change: () => change(given) };
  }

  function getting(): { given: object; change: () => void } {
    let n = 1;
    const given = Object.freeze({
      get n() {
        return n;
      },
    });
    return { given, change: () => n++ };
  }

  function inheriting(): { given: object; change: () => void } {
    let n = 1;
    const given: object = Object.create(inner as object, { toJSON: { value: () => [n] } });
    return { given, change: () => n++ };
  }

  function proxied(): { given: object; change: () => void } {
    let key = "n";
    const given = new Proxy(
      {},
      {
        ownKeys: () => [key],
        getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }),
        get: (_, name) => (name === key ? Reflect.get(inner as object, "n") : undefined),
      },
    );
    return { given, change: () => (key = "m") };
  }
});

describe("limits apply to the whole tree, shared parts included", () => {
  test("A06 the same values exceed them as in copyJson, whatever is shared", () => {
    const limits = fc.record<JsonLimits>({ maxDepth: fc.nat(6), maxNodes: fc.nat(20), maxChars: fc.nat(30) }, { requiredKeys: [] });
    const plain = fc.jsonValue({ maxDepth: 3 });
    fc.assert(
      fc.property(plain, plain, limits, (value, fresh, limits) => {
        const shared = shareJson(value);
        const next = [fresh, shared, { shared: [shared] }];
        expect(outcome(() => shareJson(next, limits))).toEqual(outcome(() => copyJson(next, limits).value));
      }),
      { numRuns: 1000 },
    );
  });

  test("A06 repeated wrapping of a value stops at the maximum depth", () => {
    let value = shareJson({});
    for (let depth = 1; depth < 64; depth++) value = shareJson(depth % 2 === 0 ? { value } : [value]);
    expect(() => shareJson({ value })).toThrowError(expect.objectContaining({ code: "too_large" }));
    expect(() => shareJson([1, { a: value }])).toThrowError(expect.objectContaining({ code: "too_large" }));
    expect(shareJson(value)).toBe(value);
  });

  test("A06 a shared value is as deep as its deepest part, wherever that is", () => {
    for (const parts of [
      [[[[]]], {}],
      [{}, [[[]]]],
    ]) {
      const shared = shareJson(parts);
      expect(shareJson([shared], { maxDepth: 5 })).toEqual([parts]);
      expect(() => shareJson([shared], { maxDepth: 4 })).toThrowError(expect.objectContaining({ code: "too_large" }));
    }
  });

  test("A06 repeated doubling of a value stops at the maximum number of values", () => {
    let value = shareJson([1]);
    let doubled = 0;
    const double = (): void => {
      for (; doubled < 64; doubled++) value = shareJson([value, value], { maxNodes: 1_000 });
    };
    expect(double).toThrowError(
      expect.objectContaining({ code: "too_large", message: expect.stringContaining("more values than is allowed") }),
    );
    expect(doubled).toBe(8); // 3 · 2⁸ − 2 values are 766, once more would be 1,534
  });

  test("A06 text of shared parts counts", () => {
    const value = shareJson({ key: "value" });
    expect(shareJson([value, value], { maxChars: 16 })).toEqual([{ key: "value" }, { key: "value" }]);
    expect(() => shareJson([value, value], { maxChars: 15 })).toThrowError(
      expect.objectContaining({ code: "too_large", message: expect.stringContaining("more text than is allowed") }),
    );
  });

  test("A06 a part shared before an error can be shared again", () => {
    const part = shareJson({ a: [1, 2] });
    expect(() => shareJson({ part, bad: 1n })).toThrowError(
      expect.objectContaining({ code: "not_json", message: "$.bad: a bigint is not JSON" }),
    );
    expect((shareJson({ part }) as JsonObject)["part"]).toBe(part);
  });

  test("A06 a cycle through shared parts is rejected as circular", () => {
    const cycle: Record<string, unknown> = { part: shareJson({ a: 1 }) };
    cycle["self"] = [cycle];
    expect(() => shareJson(cycle)).toThrowError(
      expect.objectContaining({ code: "not_json", message: "$.self[0]: is circular: it contains itself" }),
    );
  });
});
