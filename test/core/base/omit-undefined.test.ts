import { expect, expectTypeOf, test } from "vitest";
import { omitUndefined } from "../../../src/core/base/omit-undefined.ts";

test("omits only undefined members; the others keep their order and types", () => {
  const maybe: number | undefined = [1][1];
  const set = omitUndefined({ b: null, left: maybe, a: 0, c: "" });
  expect(Object.entries(set)).toEqual([
    ["b", null],
    ["a", 0],
    ["c", ""],
  ]);
  expectTypeOf(set).toEqualTypeOf<{ b: null; a: number; c: string } & { left?: number }>();
});
