import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { copyJson, type JsonValue } from "../../src/core/base/json.ts";
import { estimateJsonBytes, estimateTextBytes } from "../../src/policy/results/estimate-bytes.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: unknown = runInNewContext("gc");

function usedBytes(): number {
  if (typeof collectGarbage === "function") collectGarbage();
  return process.memoryUsage().heapUsed;
}

const many = (make: (index: number) => JsonValue): JsonValue => Array.from({ length: 500 }, (_, index) => make(index));

test.each<readonly [string, () => JsonValue]>([
  ["empty arrays", () => many(() => [])],
  ["empty objects", () => many(() => ({}))],
  ["arrays of one item", () => many(() => [1])],
  ["integers", () => many((index) => index)],
  ["fractions", () => many((index) => index + 0.5)],
  ["texts", () => many((index) => `number ${index}`.repeat(10))],
  ["nulls", () => many(() => null)],
])("C13 the estimated size of %s is within a tenth of the memory they take", (_what, make) => {
  const measured = Array.from({ length: 5 }, () => usedToEstimated(make)).sort((one, other) => one - other);
  const median = measured[2]; // of one measurement, other parts of the process may have freed memory meanwhile
  expect(median).toBeGreaterThan(0.9);
  expect(median).toBeLessThan(1.1);
});

/** The memory that copies of a value take, divided by their estimated size. */
function usedToEstimated(make: () => JsonValue): number {
  const kept: JsonValue[] = [];
  const before = usedBytes();
  let estimated = 0;
  for (let round = 0; round < 500; round++) {
    const { value } = copyJson(JSON.parse(JSON.stringify(make())));
    kept.push(value);
    estimated += estimateJsonBytes(value);
  }
  const used = usedBytes() - before;
  expect(kept).toHaveLength(500);
  return used / estimated;
}

test("C13 fields of a content part beyond those of its type count too", () => {
  const part = { type: "text", text: "short", extra: { deep: ["x".repeat(10_000)] } } as const;
  expect(estimateJsonBytes([part])).toBeGreaterThan(10_000);
});

test("a text of two-byte characters counts twice", () => {
  expect([estimateTextBytes("abc"), estimateTextBytes("ab\u4e2d")]).toEqual([3, 6]);
});
