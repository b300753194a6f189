/** Messages say JSON's types in JSON's words: string, number, integer, boolean, array, object, null. */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const FOREIGN = [
  /\bwhole numbers?\b/u,
  /\bgot (?:str|int|float|bool|list|dict|NoneType)\b/u,
  /\b(?:must be|expected|not|it takes|is|are|return) (?:a|no) (?:list|text|table|truth)\b(?! format)/u,
  /\bmust be true or false\b/u,
  /\blists? of (?:strings|tables|texts)\b/u,
];

test("messages name types in JSON's words", () => {
  const found = globSync("src/**/*.ts").flatMap((file) =>
    readFileSync(file, "utf8")
      .split("\n")
      .flatMap((line, index) =>
        isMessage(line) && FOREIGN.some((words) => words.test(line.replace(/ \/\/ .*$/u, "")))
          ? [`${file}:${index + 1} ${line.trim()}`]
          : [],
      ),
  );
  expect(found).toEqual([]);
});

/** Comments may speak of lists and texts. */
function isMessage(line: string): boolean {
  return /["'`]/u.test(line) && !/^\s*(?:\/\*\*|\*|\/\/)/u.test(line);
}
