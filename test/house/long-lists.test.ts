import { expect, test } from "vitest";
import { readTree } from "./source-tree.ts";

/** A spread that makes one argument of each item of a list; a spread inside `{}` or `[]` makes none. */
const SPREAD = /(?:\.(?:push|unshift|concat|splice)|Math\.(?:max|min)|String\.from(?:CharCode|CodePoint))\((?:[^()[\]{}]*, )?\.\.\./u;

test("no list whose length is not known is spread into the arguments of a call", () => {
  const places = [...readTree("src/**/*.{ts,tsx}")].flatMap(([path, text]) =>
    text.split("\n").flatMap((line, index) => (SPREAD.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
  );
  expect(places, "use pushAll, maxOf and minOf of src/core/collections/push-all.ts").toEqual([]);
});
