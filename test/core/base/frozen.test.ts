import { expect, test } from "vitest";
import { deepFreeze, isDeepFrozen } from "../../../src/core/base/frozen.ts";

test("plain data that was frozen at every depth cannot change", () => {
  expect([1, "a", null, undefined, deepFreeze({ a: [{ b: 1 }], c: {} })].map((value) => isDeepFrozen(value))).toEqual([
    true,
    true,
    true,
    true,
    true,
  ]);
});

test("what may change at any depth, or is no plain data, counts as changeable", () => {
  const endless: unknown[] = [];
  endless.push(endless);
  const values = [{}, Object.freeze({ a: {} }), Object.freeze([[]]), Object.freeze(new Map()), () => {}, Object.freeze(endless)];
  expect(values.map((value) => isDeepFrozen(value))).toEqual(values.map(() => false));
});
