/** Names, arguments, results, headers and replies come from others, and so may be as long and as unusual as they like. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { testInCI } from "../test-in-ci.ts";
import { countedPattern } from "./pattern-steps.ts";
import { readTree } from "./source-tree.ts";

/** Patterns that are given short texts only, and by what. */
const SHORT_TEXTS: Readonly<Record<string, string>> = {
  "src/generate/conversations/words/tool-purpose.ts": "MAX_TEXT characters of a description",
  "src/generate/conversations/words/tool-request.ts": "a purpose of MAX_PURPOSE characters and the words for its values",
  "src/schema/example/described-literals.ts": "a gap of fewer than 90 characters",
  "src/schema/json-text/damaged-string.ts": "MAX_STRUCTURE characters",
  "src/schema/pattern/pattern.ts": "a pattern of MAX_PATTERN_LENGTH characters, whose classes and groups are closed",
};

/** Twice the text takes less than this many times the steps; twice as many would be linear. */
const GROWTH = 2.5;
/** A repeat with a bound grows only up to there, so those that grow are tried on longer texts. */
const LENGTHS = [60, 400];
const LONGEST = 2_000;
/** So many texts of a pattern are tried at full length: those on which it still grew before. */
const MOST_LONGEST = 6;
/** For twice the longest text: 250 for each of its characters. */
const MOST_STEPS = 1_000_000;

/** A literal behind what an expression begins with; other text between slashes is looked at as well, where it is a pattern. */
const LITERAL = /(?<=(?:[(=,[:!&|?{};>]|\breturn|^)\s*)\/(?![*/])((?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)\/([dgimsuvy]*)/gmu;
const REPEAT = /[*+]|,\}|\d\d\}/u;

/** A text on which the pattern takes more than linear time. */
function grows(pattern: Pick<RegExp, "source" | "flags">): string | undefined {
  const { texts, steps } = countedPattern(pattern);
  const growsFrom = (text: (length: number) => string, length: number): boolean => {
    const twice = steps(text(2 * length), MOST_STEPS);
    return twice >= MOST_STEPS || twice > GROWTH * steps(text(length), MOST_STEPS);
  };
  const growing = texts.filter((text) => LENGTHS.every((length) => growsFrom(text, length)));
  return growing.slice(0, MOST_LONGEST).find((text) => growsFrom(text, LONGEST))?.(40);
}

/** Patterns that are put together when their module is loaded, by their source. */
const made = new Map<string, RegExp>();

beforeAll(async () => {
  const construct = (target: typeof RegExp, given: unknown[]): RegExp => {
    const pattern: RegExp = Reflect.construct(target, given);
    made.set(pattern.source, pattern);
    return pattern;
  };
  vi.stubGlobal("RegExp", new Proxy(RegExp, { construct }));
  vi.resetModules();
  for (const [path, text] of readTree("src/**/*.ts"))
    if (text.includes("new RegExp(") && !path.startsWith("src/dashboard/")) await import(/* @vite-ignore */ `../../${path}`);
  vi.unstubAllGlobals();
});

afterAll(() => vi.resetModules());

test.each([
  ["an end that is not there", /a+$/u],
  ["a beginning at each of many places", /\beyJ[\w-]{8}[\w-]*?\.x/u],
  ["two repeats of the same characters", /^\w+ +(.+)$/u],
  ["a repeat within a repeat", /^(?:a+)+$/u],
  ["an end that is not there, where the start of a text is read in another way", /^[`"'[*]+|[`"'\]*]+$/gu],
  ["a look at all that follows, from each place", /a(?=.*b)/gsu],
])("a pattern that takes more steps than its text has characters is found: %s", (_, pattern) => {
  expect(grows(pattern)).toBeDefined();
});

test("a pattern with bounded steps at each position is linear", () => {
  expect([/a{1,64}$/u, /(?<!a)a+$/u, /^\w+ +([^ ].*)$/u, /(?<=["'])\w+/gu].map(grows)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test("patterns that are built from parts are checked too", () => {
  expect([...made.keys()].filter((source) => source.includes("refresh|bearer")).length).toBe(1);
});

testInCI(
  "every regular expression in the source takes linear time for any text",
  () => {
    const slow: string[] = [];
    const tried = new Set<string>();
    const look = (place: string, { source, flags }: Pick<RegExp, "source" | "flags">): void => {
      const key = `${source}/${flags}`;
      if (tried.has(key) || !REPEAT.test(source)) return;
      tried.add(key);
      const text = grows({ source, flags });
      if (text !== undefined && SHORT_TEXTS[place] === undefined) slow.push(`${place}: /${key} on ${JSON.stringify(text)}`);
    };
    for (const [path, code] of readTree("src/**/*.{ts,tsx}"))
      for (const [, source = "", flags = ""] of code.replaceAll(/^\s*(?:\/\*[^]*?\*\/|\/\/.*)$/gmu, "").matchAll(LITERAL))
        if (isPattern(source, flags)) look(path, { source, flags });
    for (const pattern of made.values()) look("a pattern that is put together", pattern);
    expect(slow).toEqual([]);
    expect(tried.size).toBeGreaterThan(500);
  },
  300_000,
);

function isPattern(source: string, flags: string): boolean {
  try {
    return new RegExp(source, flags).source === source;
  } catch {
    return false;
  }
}
