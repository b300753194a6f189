import { expect, test } from "vitest";
import { sliceChars } from "../../../src/core/base/truncate-text.ts";

test.each([
  [0, 1, { text: "😀", from: 0 }],
  [1, 1, { text: "😀", from: 0 }],
  [2, 1, { text: "a", from: 2 }],
  [2, 2, { text: "a😀", from: 2 }],
  [4, 9, { text: "😀", from: 3 }],
  [5, 9, { text: "", from: 5 }],
  [9, 1, { text: "", from: 9 }],
])("a part from %i of length %i has whole characters only", (from, length, part) => {
  expect(sliceChars("😀a😀", from, length)).toEqual(part);
});

test("a half of a pair that stands alone is a character of its own", () => {
  expect([sliceChars("\udc00a", 1, 1), sliceChars("\ud800a", 1, 1), sliceChars("\ud800a", 0, 1)].map(({ text }) => text)).toEqual([
    "a",
    "a",
    "\ud800",
  ]);
});
