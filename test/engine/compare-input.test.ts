import { describe, expect, test } from "vitest";
import fc from "fast-check";
import type { JsonObject } from "../../src/core/base/json.ts";
import { describeDifferences, leavesOf, similarity } from "../../src/engine/compare-input.ts";

function alike(one: JsonObject, other: JsonObject): number {
  return similarity(leavesOf(one), leavesOf(other));
}

test("the leaves of an input are its values by path, including empty arrays and objects", () => {
  expect([...leavesOf({ a: 1, "b c": [true, { d: null }], e: [], f: {}, g: "{}" })]).toEqual([
    ["$.a", 1],
    ['$["b c"][0]', true],
    ['$["b c"][1].d', null],
    ["$.e", []],
    ["$.f", {}],
    ["$.g", "{}"],
  ]);
});

test("at most 2,000 leaves of a huge input are compared", () => {
  const list = Array.from({ length: 1_000_000 }, (_, index) => index);
  expect(leavesOf({ list, late: 1 }).size).toBe(2_000);
});

describe("the similarity of two inputs", () => {
  test.each<readonly [string, JsonObject, JsonObject, number]>([
    ["the same", { a: 1, b: ["x"] }, { b: ["x"], a: 1 }, 1],
    ["both empty", {}, {}, 1],
    ["nothing in common", { a: 1 }, { b: 1 }, 0],
    ["one of two places", { a: 1, b: true }, { a: 1, b: false }, 0.5],
    ["a place too many", { a: 1, b: 2 }, { a: 1 }, 0.5],
    ["another number", { a: 1 }, { a: 2 }, 0.25],
    ["a text that is half the same", { a: "abcd" }, { a: "abxy" }, 0.25],
    ["a text with the same beginning and end", { a: "Oslo, Norway" }, { a: "Oslo (Norway" }, 0.5 * (10 / 12)],
    ["a text in place of an empty object", { a: "{}" }, { a: {} }, 0],
  ])("%s", (_, one, other, expected) => {
    expect(alike(one, other)).toBeCloseTo(expected, 10);
    expect(alike(other, one)).toBeCloseTo(expected, 10);
  });

  test("is from 0 to 1, symmetric, and 1 for equal inputs", () => {
    const input = fc
      .dictionary(fc.string({ maxLength: 2 }), fc.jsonValue({ maxDepth: 2 }))
      .map((value) => JSON.parse(JSON.stringify(value)) as JsonObject);
    fc.assert(
      fc.property(input, input, (one, other) => {
        expect(alike(one, other)).toBeCloseTo(alike(other, one), 10);
        expect(alike(one, other)).toBeGreaterThanOrEqual(0);
        expect(alike(one, other)).toBeLessThanOrEqual(1);
        expect(alike(one, one)).toBe(1);
      }),
    );
  });
});

test("at most five differences are listed, each with its path", () => {
  expect(describeDifferences(leavesOf({ city: "Oslo", unit: "c", same: 1 }), leavesOf({ city: "Bergen", days: [3], same: 1 }))).toEqual([
    '$.city is "Oslo", but was "Bergen" when it was recorded',
    '$.unit is "c", but was not given when it was recorded',
    "$.days[0] is missing, but was 3 when it was recorded",
  ]);
  expect(describeDifferences(leavesOf({ list: [1, 2, 3, 4, 5, 6, 7] }), leavesOf({})).slice(4)).toEqual([
    "$.list[4] is 5, but was not given when it was recorded",
    "and 2 more",
  ]);
  expect(describeDifferences(leavesOf({ text: "x".repeat(500) }), leavesOf({ text: "" }))).toEqual([
    `$.text is "${"x".repeat(59)}… (502 characters), but was "" when it was recorded`,
  ]);
});
