/** Every requirement and attack case the project answers to has a test that names it, or a reason why not. */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const REQUIREMENTS = [
  ...range("F0.", 1, 61),
  ...range("F1.", 1, 52),
  ...range("F1.", 53, 72),
  ...range("F2.", 1, 30),
  ...range("F3.", 1, 40),
  ...range("F4.", 1, 40),
];
const ATTACKS = [
  ...range("A", 1, 24, 2),
  ...range("B", 1, 18, 2),
  ...range("C", 1, 13, 2),
  ...range("I", 1, 15, 2),
  "G01",
  "G02",
  "G03",
  "G04",
  ...range("D", 1, 20, 2),
  ...range("E", 1, 20, 2),
  ...range("F", 1, 19, 2),
  ...range("J", 1, 9, 2),
  "H01",
  "H02",
  ...range("H", 5, 9, 2),
];

const SCENARIOS = [...range("L", 1, 7, 2), ...range("L", 9, 24, 2), "L26", "L32", "L33", "L35", "L36"];

/** What has no test of its own, and why. */
const WAIVED: Readonly<Record<string, string>> = {
  B17: "handlers run in the program's own process and are trusted like it; docs/concepts/calls.md says so",
  I06: "there is no broker",
};

function range(prefix: string, from: number, to: number, digits = 1): readonly string[] {
  return Array.from({ length: to - from + 1 }, (_, index) => `${prefix}${String(from + index).padStart(digits, "0")}`);
}

/** The title of a test or a group, also behind `.each([…])`. */
const TITLE = /\b(?:test|testInCI|describe)(?:\.\w+)*(?:<[^(]*>)?\((?:[^"`\n]*\)\(|\s*|\[[\s\S]*?\]\)\()\s*["`]([^"`]*)["`]/gu;

function namedInTitles(): ReadonlySet<string> {
  const named = new Set<string>();
  for (const file of globSync("test/**/*.test.ts")) {
    for (const [, title = ""] of readFileSync(file, "utf8").matchAll(TITLE)) {
      for (const [id] of title.matchAll(/\b(?:F\d\.\d+|[A-JL]\d{2})\b/gu)) named.add(id);
    }
  }
  return named;
}

test("every requirement and attack case is named by a test's title or waived with a reason", () => {
  const named = namedInTitles();
  const missing = [...REQUIREMENTS, ...ATTACKS, ...SCENARIOS].filter((id) => !named.has(id) && WAIVED[id] === undefined);
  expect(missing).toEqual([]);
});
