import { expect, test } from "vitest";
import { advisoryNote, contextAdvisory } from "../../src/history/context-advisory.ts";

test.each([
  [0, "ok"],
  [6_999, "ok"],
  [7_000, "warning"],
  [8_499, "warning"],
  [8_500, "danger"],
  [9_500, "danger"],
  [9_501, "critical"],
  [20_000, "critical"],
] as const)("F3.34 %i of 10,000 tokens is %s", (used, level) => {
  expect(contextAdvisory(used, 10_000)).toEqual({ level, utilization: used / 10_000, usedTokens: used, contextTokens: 10_000 });
});

test("F3.34 each level above ok has its own advisory", () => {
  expect([10, 75, 90, 99].map((used) => advisoryNote(contextAdvisory(used, 100)))).toEqual([
    undefined,
    "75 % of your context is used. Ask for less at a time, and do not read again what you have read.",
    "90 % of your context is used. Make only the calls that the answer needs, with small results.",
    "99 % of your context is used. Answer now with what you have: another large result will not fit.",
  ]);
});

test("a context size that leaves no room throws", () => {
  for (const size of [0, -1, Number.NaN]) expect(() => contextAdvisory(1, size)).toThrow("contextTokens must be a number above 0");
});
