/** JSON as it is shown to a person, who may have to decide by it. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonTokens } from "../../src/dashboard/show/json-tokens.ts";

const shown = (value: unknown, budget: number): string =>
  jsonTokens(value, budget)
    .tokens.map(({ text }) => text)
    .join("");

test("any value is shown whole if the limit allows it", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (given) => {
      const value: unknown = JSON.parse(JSON.stringify(given));
      expect(shown(value, 1_000_000)).toBe(JSON.stringify(value, undefined, 2));
    }),
    { numRuns: 100 },
  );
});

test.each([64, 128, 400])("a value nested %i levels deep is shown, or marked as truncated", (depth) => {
  let value: unknown = { command: "rm -rf /" };
  for (let level = 1; level < depth; level++) value = level % 2 === 0 ? [value] : { in: value };
  expect(shown(value, 1_000_000)).toBe(JSON.stringify(value, undefined, 2));
  const { isCut } = jsonTokens(value, 20_000);
  expect(isCut || shown(value, 20_000).includes("rm -rf /")).toBe(true);
});
