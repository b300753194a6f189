import fc from "fast-check";
import { expect, test } from "vitest";
import { createFinder } from "../../src/policy/results/find-text.ts";

test("returns the same positions as indexOf, whatever the start", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 60 });
  const needle = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 14 });
  fc.assert(
    fc.property(text, needle, fc.nat(20), (haystack, sought, from) => {
      expect(createFinder(sought)(haystack, from)).toBe(haystack.indexOf(sought, from));
    }),
    { numRuns: 2_000 },
  );
});
