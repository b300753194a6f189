import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { ToolError } from "../../../src/core/error.ts";
import { applyPatch, diffJson, type JsonPatch } from "../../../src/core/base/json-patch.ts";
import { canonicalJson } from "../../../src/core/base/canonical-json.ts";
import { copyJson, isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../../src/core/base/json.ts";
import { parseJson } from "../../../src/core/base/parse-json.ts";

const KEYS = ["a", "b", "0", "1", "-", "", "a/b", "~", "~1", "__proto__", "constructor", "toString", "\ud800", "length"];
const key = fc.constantFrom(...KEYS);
const primitive = fc.oneof(fc.constantFrom<JsonValue>(null, true, false, 0, 1, "", "x"), fc.string({ maxLength: 3 }), fc.integer());
const json = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    primitive,
    fc.array(tie("value"), { maxLength: 6 }).map((items) => Object.freeze(items)),
    objectOf(tie("value")),
  ),
})).value;

function objectOf(value: fc.Arbitrary<JsonValue>): fc.Arbitrary<JsonObject> {
  return fc.uniqueArray(fc.tuple(key, value), { selector: ([name]) => name, maxLength: 6 }).map(frozenObject);
}

function frozenObject(entries: Iterable<readonly [string, JsonValue]>): JsonObject {
  return Object.freeze(Object.fromEntries(entries));
}

/** A value and one that was made of it by a few edits, which share everything else. */
const edited = fc
  .tuple(json, fc.array(fc.tuple(fc.array(fc.nat(5), { maxLength: 5 }), fc.nat(4), key, json), { maxLength: 4 }))
  .map(([before, edits]) => ({
    before,
    after: edits.reduce<JsonValue>((value, [way, kind, name, fresh]) => edit(value, way, { kind, name, fresh }), before),
  }));

interface Edit {
  readonly kind: number;
  readonly name: string;
  readonly fresh: JsonValue;
}

function edit(value: JsonValue, [turn, ...way]: readonly number[], what: Edit): JsonValue {
  const { kind, name, fresh } = what;
  if (turn === undefined) return isJsonArray(value) || isJsonObject(value) ? value : fresh;
  if (isJsonArray(value)) {
    const at = value.length === 0 ? 0 : turn % value.length;
    if (kind === 0) return Object.freeze(value.toSpliced(at, 0, fresh));
    if (kind === 1) return Object.freeze(value.toSpliced(at, 1));
    if (kind === 2 && way.length === 0) return Object.freeze(value.toSpliced(at, 2, fresh));
    return Object.freeze(value.map((item, index) => (index === at ? edit(item, way, what) : item)));
  }
  if (!isJsonObject(value)) return fresh;
  const entries = Object.entries(value);
  if (kind === 0) return frozenObject([...entries.filter(([other]) => other !== name), [name, fresh]]);
  if (kind === 1) return frozenObject(entries.filter((_, index) => index !== turn));
  return frozenObject(entries.map(([other, item], index) => [other, index === turn ? edit(item, way, what) : item]));
}

function isDeeplyFrozen(value: JsonValue | undefined): boolean {
  if (typeof value !== "object" || value === null) return true;
  return Object.isFrozen(value) && Object.values(value).every(isDeeplyFrozen);
}

function textOf(value: JsonValue | undefined): string {
  return value === undefined ? "undefined" : canonicalJson(value);
}

/** Every object of a tree of objects by its path, the tree itself left out. */
function innerObjects(value: JsonValue | undefined, path = ""): readonly (readonly [string, JsonObject])[] {
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const innerPath = `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    return isJsonObject(inner) ? [[innerPath, inner] as const, ...innerObjects(inner, innerPath)] : [];
  });
}

function expectRoundTrip(before: JsonValue | undefined, after: JsonValue | undefined): void {
  const text = textOf(before);
  const patch = diffJson(before, after);
  const stored = parseJson(JSON.stringify(patch));
  const applied = applyPatch(before, patch);
  expect(textOf(applied)).toBe(textOf(after));
  expect(textOf(applyPatch(before, stored as JsonPatch))).toBe(textOf(after)); // what a log gives back
  expect(textOf(before)).toBe(text);
  expect(isDeeplyFrozen(applied)).toBe(true);
  expect(diffJson(applied, after)).toEqual([]);
}

describe("diffJson", () => {
  test("F0.34 gives a patch that turns the first value into exactly the second, and leaves the first unchanged", () => {
    const some = fc.option(json, { nil: undefined });
    fc.assert(
      fc.property(some, some, (before, after) => {
        expectRoundTrip(before, after);
      }),
      { numRuns: 500 },
    );
  });

  test("F0.34 of a value and an edit of it gives a patch to exactly the edit", () => {
    fc.assert(
      fc.property(edited, ({ before, after }) => {
        expectRoundTrip(before, after);
      }),
      { numRuns: 1000 },
    );
  });

  test("F0.32 gives a patch that shares every object that no step changes", () => {
    const tree = fc.letrec<{ tree: JsonValue }>((tie) => ({
      tree: fc.oneof({ maxDepth: 4 }, primitive, objectOf(tie("tree")), objectOf(tie("tree"))),
    })).tree;
    fc.assert(
      fc.property(tree, tree, (one, other) => {
        const before = frozenObject([
          ["one", one],
          ["other", other],
        ]);
        const after = frozenObject([
          ["one", one],
          ["other", one],
          ["third", 1],
        ]);
        const patch = diffJson(before, after);
        const applied = new Map(innerObjects(applyPatch(before, patch)));
        const touched = (path: string): boolean =>
          patch.some((step) => `${step.path}/`.startsWith(`${path}/`) || `${path}/`.startsWith(`${step.path}/`));
        for (const [path, inner] of innerObjects(before)) if (!touched(path)) expect(applied.get(path)).toBe(inner);
      }),
    );
  });

  test.each<[string, JsonValue | undefined, JsonValue | undefined, JsonPatch]>([
    ["no value twice", undefined, undefined, []],
    ["a first value", undefined, null, [{ op: "add", path: "", value: null }]],
    ["no value any more", { a: 1 }, undefined, [{ op: "remove", path: "" }]],
    ["another kind of value", { a: 1 }, [1], [{ op: "replace", path: "", value: [1] }]],
    ["an empty array for an empty object", { a: {}, b: 1 }, { a: [], b: 1 }, [{ op: "replace", path: "/a", value: [] }]],
    ["null for a missing key", { b: 1 }, { a: null, b: 1 }, [{ op: "add", path: "/a", value: null }]],
    ["equal copies", { a: [{ b: [1, "x", null] }] }, { a: [{ b: [1, "x", null] }] }, []],
    ["another order of keys", { a: 1, b: 2 }, { b: 2, a: 1 }, []],
    ["a negative zero", [0, { a: -0 }], [-0, { a: 0 }], []],
    ["a deep path", { a: { b: { c: 1, d: 2 }, e: 3 } }, { a: { b: { c: 9, d: 2 }, e: 3 } }, [{ op: "replace", path: "/a/b/c", value: 9 }]],
    [
      "keys with special characters",
      { "a/b": 1, "m~n": 2, "": 3, " ": 4 },
      { "a/b": 9, "m~n": 8, "": 7, " ": 4 },
      [
        { op: "replace", path: "/a~1b", value: 9 },
        { op: "replace", path: "/m~0n", value: 8 },
        { op: "replace", path: "/", value: 7 },
      ],
    ],
    ["an append", [1, 2], [1, 2, 3], [{ op: "add", path: "/2", value: 3 }]],
    ["a prepend", [1, 2], [0, 1, 2], [{ op: "add", path: "/0", value: 0 }]],
    ["an insert among equal items", [1, 1, 1], [1, 1, 1, 1], [{ op: "add", path: "/3", value: 1 }]],
    ["a removal from the middle", [1, { a: 2 }, { a: 3 }], [1, { a: 3 }], [{ op: "remove", path: "/1" }]],
    [
      "a shorter middle",
      [1, 2, 3, 4, 5, 6],
      [1, 9, 6],
      [
        { op: "replace", path: "/1", value: 9 },
        { op: "remove", path: "/4" },
        { op: "remove", path: "/3" },
        { op: "remove", path: "/2" },
      ],
    ],
    [
      "items in the middle that changed in part",
      [1, { a: 1, b: 1 }, 2],
      [1, { a: 1, b: 2 }, 2],
      [{ op: "replace", path: "/1/b", value: 2 }],
    ],
    ["an array that keeps nothing", { a: 1, b: [1, 2, 3] }, { a: 1, b: [4, 5] }, [{ op: "replace", path: "/b", value: [4, 5] }]],
    [
      "objects that keep nothing, from the inside out",
      { a: 1, b: { c: { d: 1, e: 2 }, f: 3 } },
      { a: 1, b: { c: { d: 3, e: 4 }, f: 5 } },
      [{ op: "replace", path: "/b", value: { c: { d: 3, e: 4 }, f: 5 } }],
    ],
  ])("F0.34 gives few steps: %s", (_, before, after, patch) => {
    expect(diffJson(before, after)).toEqual(patch);
    expect(textOf(applyPatch(before, patch))).toBe(textOf(after));
  });

  test("F0.34 never reads objects that both values share", () => {
    const shared = new Proxy<JsonObject>(
      {},
      { get: unexpected, ownKeys: unexpected, has: unexpected, getOwnPropertyDescriptor: unexpected },
    );
    expect(diffJson({ a: shared, b: [shared, 1] }, { a: shared, b: [shared, 2] })).toEqual([{ op: "replace", path: "/b/1", value: 2 }]);
  });

  test("F0.34 returns a frozen patch", () => {
    const patch = diffJson(copyJson({ a: [1], c: 1 }).value, copyJson({ a: [2], b: { d: 1 } }).value);
    expect([patch, ...patch].every(Object.isFrozen)).toBe(true);
  });

  test("A06 goes at most 64 levels deep; a difference below is a replacement", () => {
    const patch = diffJson(nested(200_000, 1), nested(200_000, 2));
    expect(patch.map(({ op, path }) => ({ op, path }))).toEqual([{ op: "replace", path: "/0".repeat(64) }]);
  });

  test("F0.34 replaces an array if removing items one by one would move millions", () => {
    const before = Array.from({ length: 10_000 }, (_, index) => index);
    const after = before.slice(5_000);
    expect(diffJson({ a: 1, before }, { a: 1, before: after })).toEqual([{ op: "replace", path: "/before", value: after }]);
    expect(diffJson(before, before.slice(3)).length).toBe(3);
  });
});

describe("applyPatch", () => {
  test.each<[string, JsonValue | undefined, JsonPatch, JsonValue | undefined]>([
    ["A.1 adding a member", { foo: "bar" }, [{ op: "add", path: "/baz", value: "qux" }], { baz: "qux", foo: "bar" }],
    ["A.2 adding an item", { foo: ["bar", "baz"] }, [{ op: "add", path: "/foo/1", value: "qux" }], { foo: ["bar", "qux", "baz"] }],
    ["A.3 removing a member", { baz: "qux", foo: "bar" }, [{ op: "remove", path: "/baz" }], { foo: "bar" }],
    ["A.4 removing an item", { foo: ["bar", "qux", "baz"] }, [{ op: "remove", path: "/foo/1" }], { foo: ["bar", "baz"] }],
    ["A.5 replacing", { baz: "qux", foo: "bar" }, [{ op: "replace", path: "/baz", value: "boo" }], { baz: "boo", foo: "bar" }],
    ["A.10 adding an object", { foo: "bar" }, [{ op: "add", path: "/child", value: { a: {} } }], { foo: "bar", child: { a: {} } }],
    ["A.14 escapes in their order", { "/": 9, "~1": 10 }, [{ op: "replace", path: "/~01", value: 8 }], { "/": 9, "~1": 8 }],
    ["A.16 adding an array", { foo: ["bar"] }, [{ op: "add", path: "/foo/-", value: ["abc"] }], { foo: ["bar", ["abc"]] }],
    ["adding what is there", { a: 1 }, [{ op: "add", path: "/a", value: 2 }], { a: 2 }],
    ["adding at the root", [1], [{ op: "add", path: "", value: 2 }], 2],
    ["adding one past the end", [1], [{ op: "add", path: "/1", value: 2 }], [1, 2]],
    ["a minus as a key", {}, [{ op: "add", path: "/-", value: 1 }], { "-": 1 }],
    ["an index as a key", {}, [{ op: "add", path: "/0", value: 1 }], { "0": 1 }],
    [
      "steps that build on each other, the root too",
      { a: 1 },
      [
        { op: "remove", path: "" },
        { op: "add", path: "", value: [] },
        { op: "add", path: "/-", value: { b: {} } },
        { op: "add", path: "/0/b/c", value: 1 },
        { op: "add", path: "/-", value: 2 },
      ],
      [{ b: { c: 1 } }, 2],
    ],
  ])("F0.32 follows RFC 6902: %s", (_, before, patch, after) => {
    expect(applyPatch(before, patch)).toEqual(after);
  });

  test("F0.32 changes neither the value nor the steps, even if later steps change what earlier ones added", () => {
    const before = copyJson({ kept: { a: [1] }, list: [{ b: 1 }] }).value;
    const added = copyJson({ inner: { list: [1] } }).value;
    const patch: JsonPatch = Object.freeze([
      Object.freeze({ op: "add", path: "/one", value: added } as const),
      Object.freeze({ op: "add", path: "/two", value: added } as const),
      Object.freeze({ op: "add", path: "/one/inner/list/-", value: 2 } as const),
      Object.freeze({ op: "replace", path: "/list/0/b", value: 2 } as const),
    ]);
    const after = applyPatch(before, patch);
    expect(after).toEqual({
      kept: { a: [1] },
      list: [{ b: 2 }],
      one: { inner: { list: [1, 2] } },
      two: { inner: { list: [1] } },
    });
    expect([before, added]).toEqual([{ kept: { a: [1] }, list: [{ b: 1 }] }, { inner: { list: [1] } }]);
    expect(isDeeplyFrozen(after)).toBe(true);
    expect(isJsonObject(after) && isJsonObject(before) && after["kept"] === before["kept"] && after["two"] === added).toBe(true);
  });

  test("F0.32 copies an array once for all the steps that append to it", () => {
    let copies = 0;
    const counted = (items: JsonValue[]): JsonValue[] =>
      Object.defineProperty(items, "slice", {
        value: () => {
          copies++;
          return counted([...items]);
        },
      });
    const list = counted([0]);
    const patch = Array.from({ length: 100 }, (_, index) => ({ op: "add", path: "/list/-", value: index + 1 }) as const);
    expect(applyPatch({ list }, patch)).toEqual({ list: Array.from({ length: 101 }, (_, index) => index) });
    expect(copies).toBe(1);
  });

  test("F0.34 without steps returns the value itself", () => {
    const before = { a: 1 };
    expect(applyPatch(before, [])).toBe(before);
  });

  test("C09 treats keys that could reach a prototype as plain data", () => {
    const patch = parseJson(
      `[{"op":"add","path":"/__proto__","value":{"polluted":1}},
        {"op":"add","path":"/__proto__/more","value":2},
        {"op":"add","path":"/constructor","value":{"prototype":{}}},
        {"op":"replace","path":"/constructor/prototype","value":3}]`,
    ) as JsonPatch;
    const after = applyPatch({}, patch);
    expect(JSON.stringify(after)).toBe('{"__proto__":{"polluted":1,"more":2},"constructor":{"prototype":3}}');
    expect(Object.getPrototypeOf(after)).toBe(Object.prototype);
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
    expect(JSON.stringify(applyPatch(after, [{ op: "remove", path: "/__proto__" }]))).toBe('{"constructor":{"prototype":3}}');
    const beside = parseJson('{"a":1,"__proto__":{"b":1,"c":2}}');
    expect(diffJson({ a: 1 }, beside)).toEqual([{ op: "add", path: "/__proto__", value: { b: 1, c: 2 } }]);
    expect(diffJson(beside, parseJson('{"a":1,"__proto__":{"b":2,"c":2}}'))).toEqual([{ op: "replace", path: "/__proto__/b", value: 2 }]);
    expect(diffJson(beside, { a: 1 })).toEqual([{ op: "remove", path: "/__proto__" }]);
  });

  test("C09 does not find properties that every object inherits", () => {
    for (const path of ["/__proto__/x", "/constructor/prototype", "/toString/call", "/hasOwnProperty/x"]) {
      expect(refusal({}, [{ op: "add", path, value: 1 }])).toContain(`at "${path}" does not fit: there is no value to change it in.`);
    }
    expect(refusal({}, [{ op: "replace", path: "/__proto__", value: 1 }])).toContain('there is no "__proto__" in the object');
    expect(refusal({}, [{ op: "remove", path: "/constructor" }])).toContain('there is no "constructor" in the object');
    expect(refusal([1], [{ op: "replace", path: "/length", value: 0 }])).toContain('"length" is not an index of an array');
  });

  test.each<[JsonValue | undefined, unknown, string]>([
    [{}, { op: "add", path: "/a", value: 1 }, "The patch is not an array of steps."],
    [{}, "steps", "The patch is not an array of steps."],
    [{}, [null], "Step 1 of the patch does not fit: it is not an object."],
    [{}, [["add", "/a", 1]], "Step 1 of the patch does not fit: it is not an object."],
    [{}, [{}], "Step 1 of the patch does not fit: its path is not a string."],
    [{}, [{ op: "add", path: ["a"], value: 1 }], "Step 1 of the patch does not fit: its path is not a string."],
    [{}, [{ path: "/a" }], 'Step 1 of the patch at "/a" does not fit: its operation is missing, not "add", "replace" or "remove".'],
    [
      { a: 1 },
      [{ op: "move", from: "/a", path: "/b" }],
      'Step 1 of the patch at "/b" does not fit: its operation is "move", not "add", "replace" or "remove".',
    ],
    [{}, [{ op: "add", path: "/a" }], 'Step 1 of the patch at "/a" does not fit: it has no value.'],
    [{}, [{ op: "add", path: "a", value: 1 }], 'Step 1 of the patch at "a" does not fit: its path does not begin with "/".'],
    [
      {},
      [{ op: "add", path: "/a~2", value: 1 }],
      'Step 1 of the patch at "/a~2" does not fit: its path has a "~" that is neither "~0" nor "~1".',
    ],
    [
      {},
      [{ op: "add", path: "/~", value: 1 }],
      'Step 1 of the patch at "/~" does not fit: its path has a "~" that is neither "~0" nor "~1".',
    ],
    [undefined, [{ op: "remove", path: "" }], 'Step 1 of the patch at "" does not fit: there is no value yet.'],
    [undefined, [{ op: "replace", path: "", value: 1 }], 'Step 1 of the patch at "" does not fit: there is no value yet.'],
    [undefined, [{ op: "add", path: "/a", value: 1 }], 'Step 1 of the patch at "/a" does not fit: there is no value to change it in.'],
    [
      {},
      [
        { op: "add", path: "/a", value: {} },
        { op: "add", path: "/b/c", value: 1 },
      ],
      'Step 2 of the patch at "/b/c" does not fit: there is no value to change it in.',
    ],
    [{ a: "text" }, [{ op: "add", path: "/a/0", value: 1 }], 'Step 1 of the patch at "/a/0" does not fit: its path leads into a string.'],
    [{ a: null }, [{ op: "remove", path: "/a/b" }], 'Step 1 of the patch at "/a/b" does not fit: its path leads into null.'],
    [{ a: 1 }, [{ op: "remove", path: "/b" }], 'Step 1 of the patch at "/b" does not fit: there is no "b" in the object.'],
    [{ a: 1 }, [{ op: "replace", path: "/b", value: 1 }], 'Step 1 of the patch at "/b" does not fit: there is no "b" in the object.'],
    [[1], [{ op: "remove", path: "/1" }], 'Step 1 of the patch at "/1" does not fit: the array has no index "1".'],
    [[1], [{ op: "replace", path: "/1", value: 2 }], 'Step 1 of the patch at "/1" does not fit: the array has no index "1".'],
    [[1], [{ op: "add", path: "/2", value: 2 }], 'Step 1 of the patch at "/2" does not fit: the array has no index "2".'],
    [[[1]], [{ op: "add", path: "/1/0", value: 2 }], 'Step 1 of the patch at "/1/0" does not fit: the array has no index "1".'],
    ...["-", "-1", "01", "1.0", "1e0", " 0", "", "0x0", "__proto__", "٠"].map((index): [JsonValue, unknown, string] => [
      [1, 2],
      [{ op: "replace", path: `/${index}`, value: 3 }],
      `Step 1 of the patch at "/${index}" does not fit: "${index}" is not an index of an array.`,
    ]),
    [
      [],
      [{ op: "add", path: "/4294967295", value: 1 }],
      'Step 1 of the patch at "/4294967295" does not fit: the array has no index "4294967295".',
    ],
  ])("I15 rejects a step that does not fit: %j, %j", (before, patch, message) => {
    expect(refusal(before, patch)).toBe(`corrupt_record: ${message}`);
  });

  test("I15 goes at most 64 levels deep, and shortens a long path in its message", () => {
    const path = "/a".repeat(1_000_000);
    expect(refusal({}, [{ op: "add", path, value: 1 }])).toBe(
      `corrupt_record: Step 1 of the patch at "${path.slice(0, 200)}…" does not fit: its path is longer than 64 keys.`,
    );
    const deepest: JsonPatch = Array.from({ length: 64 }, (_, index) => ({ op: "add", path: "/a".repeat(index + 1), value: {} }));
    expect(JSON.stringify(applyPatch({}, deepest)).length).toBe(64 * '{"a":}'.length + 2);
  });

  test("I15 leaves the value unchanged when a later step does not fit", () => {
    const before = copyJson({ a: [1], b: {} }).value;
    const broken = [
      { op: "add", path: "/a/-", value: 2 },
      { op: "remove", path: "/b" },
      { op: "remove", path: "/c" },
    ];
    expect(refusal(before, broken)).toContain("Step 3");
    expect(before).toEqual({ a: [1], b: {} });
  });

  test("I15 returns JSON or throws corrupt_record whatever the steps are", () => {
    const path = fc
      .array(fc.oneof(key, fc.string({ maxLength: 2 })), { maxLength: 3 })
      .map((keys) => keys.map((name) => `/${name}`).join(""));
    const step = fc.oneof(
      json,
      fc.record(
        { op: fc.constantFrom("add", "replace", "remove", "test", 1), path: fc.oneof(path, json), value: json },
        { requiredKeys: [] },
      ),
    );
    fc.assert(
      fc.property(json, fc.array(step, { maxLength: 5 }), (before, steps) => {
        const text = textOf(before);
        const problem = refusal(before, steps);
        expect(textOf(before)).toBe(text);
        expect(problem === "fits" || problem.startsWith("corrupt_record: Step ")).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });
});

function refusal(before: JsonValue | undefined, patch: unknown): string {
  try {
    applyPatch(before, patch as JsonPatch); // hostile on purpose
    return "fits";
  } catch (error: unknown) {
    if (error instanceof ToolError) return `${error.code}: ${error.message}`;
    throw error;
  }
}

function nested(depth: number, core: JsonValue): JsonValue {
  let value = core;
  for (let level = 0; level < depth; level++) value = [value];
  return value;
}

function unexpected(): never {
  throw new Error("looked into");
}
