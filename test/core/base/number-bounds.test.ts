import { describe, expect, test } from "vitest";
import { COUNT, MILLISECONDS, FRACTION, SIZE, checkNumber, describeBounds } from "../../../src/core/base/number-bounds.ts";

describe("a number outside its bounds is rejected with the allowed range", () => {
  test.each([
    [0, COUNT, "limit of a search is 0; it takes an integer from 1."],
    [1.5, COUNT, "limit of a search is 1.5; it takes an integer from 1."],
    ["9", SIZE, 'limit of a search is "9"; it takes an integer from 0.'],
    [Number.NaN, FRACTION, "limit of a search is NaN; it takes a number from 0 to 1."],
    [Infinity, { ...MILLISECONDS, max: Number.MAX_VALUE }, "limit of a search is Infinity; it takes a number from 0."],
    [-1, { ...SIZE, max: 9, zero: "no limit" }, "limit of a search is -1; it takes an integer from 0 to 9 (0 = no limit)."],
  ])("%j", (value, bounds, message) => {
    expect(() => checkNumber(value, "limit of a search", bounds)).toThrow(expect.objectContaining({ code: "invalid_argument", message }));
  });
});

test("both bounds are inclusive, and undefined is accepted", () => {
  for (const value of [0, 1, undefined]) expect(() => checkNumber(value, "threshold", FRACTION)).not.toThrow();
  expect(describeBounds(FRACTION)).toBe("a number from 0 to 1");
});
