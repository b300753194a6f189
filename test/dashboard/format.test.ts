/** Spans as people read them. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { formatDuration } from "../../src/dashboard/show/format.ts";

const UNIT_MS = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const;

test.each([
  [0.4, "0 ms"],
  [999.4, "999 ms"],
  [999.6, "1.00 s"],
  [9_994, "9.99 s"],
  [9_999, "10.0 s"],
  [59_949, "59.9 s"],
  [59_980, "1 min 0 s"],
  [119_700, "2 min 0 s"],
  [3_599_700, "1 h 0 min"],
  [172_799_999, "2 d 0 h"],
])("%f ms are shown as %s", (ms, says) => expect(formatDuration(ms)).toBe(says));

test("the second part of a duration is less than a unit of the first, and the sum is exact to the last part", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 42 }), fc.double({ min: 1, max: 2, noNaN: true }), (power, factor) => {
      const ms = Math.min(2 ** power * factor, 1e12);
      const parts = [...formatDuration(ms).matchAll(/([\d.]+) (ms|s|min|h|d)\b/gu)].map(([, value, unit]) => ({
        value: Number(value),
        unitMs: UNIT_MS[unit as keyof typeof UNIT_MS],
      }));
      for (const [index, { value, unitMs }] of parts.entries())
        if (index > 0) expect([ms, value * unitMs < (parts[index - 1]?.unitMs ?? 0)]).toEqual([ms, true]);
      const told = parts.reduce((sum, { value, unitMs }) => sum + value * unitMs, 0);
      expect([ms, Math.abs(told - ms) <= (parts.at(-1)?.unitMs ?? 0)]).toEqual([ms, true]);
    }),
    { numRuns: 1_000 },
  );
});
