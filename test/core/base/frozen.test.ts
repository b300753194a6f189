import { expect, test } from "vitest";
import { deepFreeze, isDeepFrozen } from "../../../src/core/base/frozen.ts";

test("deeply frozen plain data counts as frozen", () => {
  expect([1, "a", null, undefined, deepFreeze({ a: [{ b: 1 }], c: {} })].map((value) => isDeepFrozen(value))).toEqual([
    true,
    true,
    true,
    true,
    true,
  ]);
});

test("a value that may change at any depth, or is not plain data, counts as changeable", () => {
  const endless: unknown[] = [];
  endless.push(endless);
  const values = [{}, Object.freeze({ a: {} }), Object.freeze([[]]), Object.freeze(new Map()), () => {}, Object.freeze(endless)];
  expect(values.map((value) => isDeepFrozen(value))).toEqual(values.map(() => false));
});
