import { expect, test } from "vitest";
import { findNearNames } from "../../../src/core/base/near-names.ts";

test("names that are not near are left out", () => {
  expect(findNearNames("weather", ["mail", "search", "w"])).toEqual([]);
  expect(findNearNames("ab", ["xy", "cd"])).toEqual([]);
  expect(findNearNames("", ["a", "b", ""])).toEqual([]);
  expect(findNearNames("x".repeat(257), ["x".repeat(256)])).toEqual([]);
});

test("case and separators are ignored", () => {
  expect(findNearNames("getUserById", ["get_user_by_id", "get-user", "delete_user"])).toEqual(["get_user_by_id"]);
  expect(findNearNames("mail.send", ["mail::send"])).toEqual(["mail::send"]);
});

test("only the nearest names are returned, in alphabetical order, at most three or as many as requested", () => {
  expect(findNearNames("search", ["searches", "serch", "search_", "zearch"])).toEqual(["search_"]);
  expect(findNearNames("search", ["searches", "zearch", "serch", "bearch", "searcH-x"])).toEqual(["bearch", "searcH-x", "serch"]);
  expect(findNearNames("search", ["zearch", "serch", "bearch"], 1)).toEqual(["bearch"]);
});

test.each([
  ["cat", "cut", true],
  ["cat", "cuts", false],
  ["search", "saerch", true],
  ["search", "saercx", true],
  ["search", "saexcx", false],
  ["create_issue", "craete_isue", true],
  ["create_issue", "delete_issue", false],
  ["list", "last", true],
])("the maximum distance grows with the length: %s and %s", (name, other, near) => {
  expect(findNearNames(name, [other])).toEqual(near ? [other] : []);
});

test("two swapped letters count as one edit, so that the intended word comes first", () => {
  expect(findNearNames("lsit", ["init", "list", "lint"])).toEqual(["list"]);
  expect(findNearNames("caht", ["chat", "call"])).toEqual(["chat"]);
});

test("agrees with a plain implementation of the distance", () => {
  const letters = "abAB_";
  const words = Array.from({ length: 400 }, (_, seed) =>
    Array.from({ length: 1 + (seed % 8) }, (__, at) => letters[(seed * 7 + at * at * (seed % 5) + at) % letters.length]).join(""),
  );
  const folded = (word: string): string => word.replaceAll("_", "").toLowerCase();
  for (const word of words.slice(0, 80)) {
    const asked = `${word}a`;
    const { length } = folded(asked);
    const limit = Math.min(length <= 3 ? 1 : length <= 7 ? 2 : 3, length - 1);
    const distances = words.map((word) => plainDistance(folded(asked), folded(word)));
    const least = Math.min(...distances);
    const expected = new Set(words.filter((_, at) => least <= limit && distances[at] === least));
    expect(new Set(findNearNames(asked, new Set(words), Infinity))).toEqual(expected);
  }
});

function plainDistance(one: string, other: string): number {
  const table = Array.from({ length: one.length + 1 }, (_, row) =>
    Array.from({ length: other.length + 1 }, (__, column) => (row === 0 ? column : column === 0 ? row : 0)),
  );
  const at = (row: number, column: number): number => table[row]?.[column] ?? 0;
  for (let row = 1; row <= one.length; row++) {
    for (let column = 1; column <= other.length; column++) {
      const cells = table[row] ?? [];
      cells[column] = Math.min(
        at(row - 1, column) + 1,
        at(row, column - 1) + 1,
        at(row - 1, column - 1) + (one[row - 1] === other[column - 1] ? 0 : 1),
      );
      const isSwapped = row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      if (isSwapped) cells[column] = Math.min(at(row, column), at(row - 2, column - 2) + 1);
    }
  }
  return at(one.length, other.length);
}
