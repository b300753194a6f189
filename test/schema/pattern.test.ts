import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { inProcessorTime } from "../processor-time.ts";
import { nativeCost } from "../../src/schema/pattern/pattern-cost.ts";
import { automatonMatcher } from "../../src/schema/pattern/automaton.ts";
import { parsePattern } from "../../src/schema/pattern/pattern-syntax.ts";
import { linearPattern } from "../../src/schema/pattern/pattern.ts";
import { MAX_STEPS } from "../../src/schema/schema-limits.ts";
import { simplifyForSearch } from "../../src/schema/pattern/pattern.ts";

/** As the automaton sees it, also where the native engine may run. */
const automaton = (source: string, unicode: boolean) => automatonMatcher(simplifyForSearch(parsePattern(source, unicode)), unicode);

const DURATION = "^P(?:(\\d+W)|(?!.*W)(?=\\d|T\\d)(\\d+Y)?(\\d+M)?(\\d+D)?(T(?=\\d)(\\d+H)?(\\d+M)?(\\d+([.,]\\d+)?S)?)?)$";

test.each([
  ["not empty", "^(?!\\s*$).+", [" x", "x"], ["", "  "]],
  ["password", "^(?=.*[A-Z])(?=.*\\d).{8,}$", ["abcdefG1"], ["abcdefg1", "G1"]],
  ["slug", "^[a-z0-9]+(-[a-z0-9]+)*$", ["a", "a-b-1"], ["a--b", "-a"]],
  ["e-mail", "^[\\w.+\\-]+@[\\w-]+(\\.[\\w-]+)+$", ["a.b@c.de"], ["a@b", "@c.de"]],
  ["e-mail without double dots", "^(?!.*\\.\\.)[a-z.]+@[a-z]+\\.[a-z]+$", ["a.b@c.de"], ["a..b@c.de"]],
  ["uuid", "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", ["123e4567-e89b-12d3-a456-426614174000"], ["123e4567"]],
  ["date", "^\\d{4}-\\d{2}-\\d{2}$", ["2024-02-29"], ["24-2-29"]],
  ["host", "^(?!-)[A-Za-z0-9-]{1,63}(?<!-)$", ["a-b"], ["-a", "a-"]],
  ["number", "^-?(?:0|[1-9]\\d*)(?:\\.\\d+)?$", ["-1.5", "0"], ["01", "1."]],
  ["letters of any script", "^\\p{Lu}\\p{L}*$", ["Éa"], ["éa"]],
  ["long text", "^.{1,5000}$", ["a".repeat(5000)], ["", "a".repeat(5001)]],
  ["unanchored", "b+c", ["xbbcx"], ["bb"]],
  ["text of any length up to a large one", "^.{0,262144}$", ["", "a".repeat(262_144)], ["a".repeat(262_145), "\n"]],
  [
    "name of a resource",
    "arn:[^:]*:iam::[^:]*:(role|user)/.{1,576}",
    ["arn:aws:iam::1:role/a", "arn:aws:iam::1:user/".padEnd(600, "a")],
    ["arn:aws:iam::1:role/"],
  ],
  ["host names", "^(((?!-)[A-Za-z0-9-]{0,62}[A-Za-z0-9])\\.)+[a-z]{2,}$", ["a-b.example.com"], ["-a.com", "a-.com"]],
  ["duration, as zod writes it", DURATION, ["P1Y2M", "PT1.5S", "P3W"], ["P", "PT", "P1W1D"]],
  ["no double hyphen anywhere", "^[a-z]([a-z]|-(?!-))*[a-z]$", ["a-b-c"], ["a--b"]],
  ["not at the end", "^[a-z.]+(?<!\\.git)$", ["a.gi"], ["a.git"]],
  ["a surrogate pair is one character to look behind", "^.{2}(?<=^.(?!😀).)b*$", ["😀ab"], ["😀😀b"]],
  ["control characters in octal", "^[^/:|\\000-\\037]+$", ["a b"], ["a\tb", "a/b"]],
  ["a property that is no script", "^\\p{ASCII}*$", ["a~"], ["é"]],
])("A10 %s: %s", (_name, source, good, bad) => {
  const matches = linearPattern(source).test;
  expect([good.map(matches), bad.map(matches)]).toEqual([good.map(() => true), bad.map(() => false)]);
});

describe("the native engine is used only for patterns that it matches in linear time", () => {
  const cost = (source: string): unknown => nativeCost(parsePattern(source, true));

  test.each([
    "^(a+)+$",
    "a+b",
    "^a+b+$",
    "^(a|b)*$",
    "^(a?){30}$",
    "^(a{1,30}){1,30}$",
    "\\s+$",
    "^.*(x|y){1,20}$",
    "(^a+)+",
    "^a*|b+c",
    "\\p{L}\\p{L}\\p{L}\\p{L}x",
  ])("A10 %s is not run natively", (source) => {
    expect(cost(source)).toBeUndefined();
  });

  test("A10 a pattern with more than a hundred look-arounds at each character is not run natively", () => {
    expect(cost(`^(?:${"(?=)".repeat(101)}a)*$`)).toBeUndefined();
  });

  test.each([
    ["^a+$", { fixed: 0, perCharacter: 4 }],
    ["abc", { fixed: 0, perCharacter: 4 }],
    ["^a{2}|b", { fixed: 4, perCharacter: 2 }],
    ["^(?:ab){1,3}$", { fixed: 13, perCharacter: 0 }],
    ["^(?!a)b", { fixed: 5, perCharacter: 0 }],
    ["^[\\p{L}\\d]$", { fixed: 35, perCharacter: 0 }],
    ["^[^a]\\W.😀b$", { fixed: 20, perCharacter: 0 }],
    ["^.{0,501}$", { fixed: 0, perCharacter: 19 }],
  ])("%s has the native cost %j", (source, expected) => {
    expect(cost(source)).toEqual(expected);
  });
});

/** Small patterns in every construct that both engines know. */
const atom = fc.constantFrom(
  "a",
  "b",
  ".",
  "\\d",
  "\\D",
  "\\w",
  "\\W",
  "\\s",
  "\\S",
  "[ab]",
  "[^a]",
  "[a-c\\d]",
  "[^\\s_]",
  "[\\W]",
  "[^\\D1]",
  "\\.",
  "\\x61",
  "\\u0062",
  "\\u{1F600}",
  "\\n",
  "\\cJ",
  "[]",
  "[^]",
  "[\\b]",
  "\\b",
  "\\B",
  "^",
  "$",
  "\\p{L}",
  "\\P{Lu}",
  "-",
  "\\/",
  "\\0",
);
const pattern = fc
  .letrec<{ any: string }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 4 },
      atom,
      fc.tuple(tie("any"), tie("any")).map(([left, right]) => left + right),
      fc.tuple(tie("any"), tie("any")).map(([left, right]) => `(?:${left}|${right})`),
      fc.tuple(tie("any"), fc.constantFrom("*", "+", "?", "{2}", "{0,2}", "{1,}", "*?", "+?")).map(([body, times]) => `(${body})${times}`),
      tie("any").map((body) => `(?<n>${body})`),
    ),
  }))
  .any.filter((source) => !/\(\?<n>.*\(\?<n>/u.test(source));
const text = fc.string({
  unit: fc.constantFrom("a", "b", "A", "1", "_", " ", "\n", "\u2028", "\u00a0", "é", "😀", "\0", "\b", "-", ".", "/"),
  maxLength: 8,
});

/** V8 also looks between the halves of a surrogate pair, where ECMAScript has no position: for `\B`, and for what look-around forbids. */
function withoutPairs(source: string, subject: string): string {
  return /\\B|\(\?<?!/u.test(source) ? subject.replaceAll("😀", "é") : subject;
}

/** Patterns with look-around, which may stand in one another and in repeats. */
const looking = fc.letrec<{ any: string }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    pattern.map((source) => source.replaceAll("?<n>", "?:")),
    fc.tuple(fc.constantFrom("(?=", "(?!", "(?<=", "(?<!"), tie("any")).map(([open, body]) => `${open}${body})`),
    fc.tuple(tie("any"), tie("any")).map(([left, right]) => left + right),
    fc.tuple(tie("any"), tie("any")).map(([left, right]) => `(?:${left}|${right})`),
    fc.tuple(tie("any"), fc.constantFrom("*", "+", "?", "{2}", "{0,3}", "{1,2}")).map(([body, times]) => `(?:${body})${times}`),
  ),
})).any;

test.each([
  ["without look-around", pattern],
  ["with look-around", looking],
])("A10 both engines match like ECMAScript: %s", (_which, patterns) => {
  fc.assert(
    fc.property(patterns, text, (source, anyText) => {
      const subject = withoutPairs(source, anyText);
      const expected = new RegExp(source, "u").test(subject);
      expect(linearPattern(source).test(subject)).toBe(expected);
      const matches = automaton(source, true);
      expect(matches(subject)).toBe(expected);
      expect(matches(subject)).toBe(expected); // by what it has kept of the first time
    }),
    { numRuns: 2000 },
  );
});

test("A10 a pattern that is valid only without the u flag matches UTF-16 units, as in ECMAScript", () => {
  const units = fc.constantFrom("", "😀", "[😀😂]", "[^😀]", "\\ud83d\\ude00", "[\\ud83d\\ude00]", "😀{2}");
  const older = fc
    .tuple(looking, units, looking)
    .map((parts) => parts.join(""))
    .filter((source) => !/\\p|\\P|\\u\{/u.test(source));
  fc.assert(
    fc.property(older, text, (source, subject) => {
      expect(automaton(source, false)(subject)).toBe(new RegExp(source).test(subject));
    }),
    { numRuns: 1000 },
  );
});

test("A10 a text that exceeds the cached states is matched to its end, and is charged by the states of its pattern", () => {
  const source = "a(?:a|b){300}(?=c(?:a|c){200})|x+y+";
  const { test: matches, stepsPerCharacter } = linearPattern(source);
  let state = 1;
  const subject = Array.from({ length: 20_000 }, () => "ab"[(state = (state * 48_271) % 2_147_483_647) % 2]).join("");
  expect(matches(subject)).toBe(false);
  expect(matches(`${subject}c${"a".repeat(200)}`)).toBe(true);
  expect(stepsPerCharacter).toBeGreaterThan(100);
});

describe("a step takes bounded time", () => {
  const characters = (count: number, from: number) =>
    Array.from({ length: count }, (_none, index) => String.fromCodePoint(from + index * 3)).join("");

  test("A10 for large character sets and a text of many different characters", () => {
    const { test: matches, stepsPerCharacter } = linearPattern(`(?:[${characters(1300, 0x100)}]+|.)+\\0$`);
    expect(stepsPerCharacter).toBeLessThan(2);
    expect(inProcessorTime(1_000, () => matches(characters(300_000, 0x10000)))).toBe(false);
  });

  test("A10 for Unicode properties, each of which is charged", () => {
    const properties = ["Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Nd", "Nl", "No"].map((name) => `\\p{${name}}`).join("");
    const { test: matches, stepsPerCharacter, compileCost } = linearPattern(`(?:[${properties.repeat(60)}]+)+\\u{0}$`);
    expect([stepsPerCharacter > 300, compileCost > 60_000]).toEqual([true, true]);
    expect(inProcessorTime(1_000, () => matches(characters(300_000, 0x10000)))).toBe(false);
    expect(linearPattern(`^[${properties}]*$`).compileCost).toBeGreaterThan(1_000);
    expect(linearPattern(`^${"[ab]".repeat(1_000)}$`).compileCost).toBeGreaterThan(1_000);
  });

  test("A10 for captures, which the native engine would store at each repetition", () => {
    expect(linearPattern(`^(?:${"()".repeat(1_000)}a)*c`).test("a".repeat(50_000))).toBe(false);
    expect(linearPattern("^(?<name>[(]\\((?<!b)(c|d))+$").test("((c((d")).toBe(true);
  });
});

test.each([
  ["^(?:(?=a)a)*c", 12_000_000],
  ["^.{0,2147483646}c", 1_600_000],
])("A10 the native engine does not run out of memory for %s", (source, length) => {
  const { test: matches, stepsPerCharacter } = linearPattern(source);
  expect(matches("a".repeat(length))).toBe(false);
  expect(stepsPerCharacter).toBeGreaterThan(0.15);
  if (length < 2_000_000) expect(2 * length * stepsPerCharacter).toBeGreaterThan(MAX_STEPS);
});

test("patterns that are valid only without the u flag keep their meaning", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["^[\\w-.]+$", "a-."],
    ["^\\_{$", "_{"],
    ["^a{,2}$", "a{,2}"],
    ["\\-+\\@+$", "--@"],
    ["^]}$", "]}"],
  ];
  for (const [source, subject] of cases) {
    expect(linearPattern(source).test(subject)).toBe(true);
    expect(automaton(source, false)(subject)).toBe(true);
  }
});

test.each([
  ["(", 'the pattern "(" is not a regular expression.'],
  ["^(a)\\1", 'the pattern "^(a)\\\\1" cannot be matched in linear time: back-references are not supported.'],
  ["(a+b){9000}", 'the pattern "(a+b){9000}" cannot be matched in linear time: its repeats are too large when expanded.'],
  ["a".repeat(5000), "a pattern has 5000 characters; 4096 is the limit."],
  [
    "(".repeat(100) + ")".repeat(100),
    `the pattern "${"(".repeat(100)}${")".repeat(100)}" cannot be matched in linear time: groups are nested too deeply.`,
  ],
])("%s throws invalid_schema", (source, message) => {
  expect(() => linearPattern(source)).toThrowError(expect.objectContaining({ code: "invalid_schema", message }));
});
