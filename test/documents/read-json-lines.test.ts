import { expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import type { JsonValue } from "../../src/core/base/json.ts";
import { readJsonLines } from "../../src/documents/read-json-lines.ts";

function evenNumber(value: JsonValue): number {
  if (typeof value === "number" && value % 2 === 0) return value;
  throw new ToolError("invalid_argument", "That is no even number.");
}

test("every non-blank line is read, and each invalid line is reported with its position", () => {
  expect(readJsonLines({ text: "2\r\n\n 4 \n5\n[1,\n6", file: "n.jsonl" }, evenNumber)).toEqual({
    items: [2, 4, 6],
    problems: ["n.jsonl:4: That is no even number.", expect.stringMatching(/^n\.jsonl:5:4: (?!.*column)/u)],
  });
});

test.each([
  [20, "n.jsonl:20: That is no even number."],
  [21, "and 2 more lines"],
  [1_000, "and 981 more lines"],
  [1_001, "and at least 982 more lines"],
  [2_000, "and at least 982 more lines"],
])("%i problems are reported as twenty lines, the last of which is %j", (count, last) => {
  const { problems } = readJsonLines({ text: "1\n".repeat(count), file: "n.jsonl" }, evenNumber);
  expect([problems.length, problems.at(-1)]).toEqual([20, last]);
});

test("a text of another kind is not read to its end", () => {
  let read = 0;
  readJsonLines({ text: "1\n".repeat(5_000), file: "n.jsonl" }, (value) => {
    read++;
    return evenNumber(value);
  });
  expect(read).toBe(1_001);
});
