import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nativeCost } from "../../src/schema/pattern/pattern-cost.ts";
import { re2Matcher } from "../../src/schema/pattern/pattern-re2.ts";
import { readPattern } from "../../src/schema/pattern/pattern-syntax.ts";
import { compilePattern } from "../../src/schema/pattern/pattern.ts";

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
])("A10 %s: %s", (_name, source, good, bad) => {
  const matches = compilePattern(source);
  expect([good.map(matches), bad.map(matches)]).toEqual([good.map(() => true), bad.map(() => false)]);
});

describe("the native engine runs only what is linear there", () => {
  const cost = (source: string): unknown => nativeCost(readPattern(source, true));

  test.each(["^(a+)+$", "a+b", "^a+b+$", "^(a|b)*$", "^(a?){30}$", "^(a{1,30}){1,30}$", "\\s+$", "^.*(x|y){1,20}$", "(^a+)+", "^a*|b+c"])(
    "A10 %s is not",
    (source) => {
      expect(cost(source)).toBeUndefined();
    },
  );

  test.each([
    ["^a+$", { fixed: 0, perCharacter: 4 }],
    ["abc", { fixed: 0, perCharacter: 4 }],
    ["^a{2}|b", { fixed: 4, perCharacter: 2 }],
    ["^(?:ab){1,3}$", { fixed: 13, perCharacter: 0 }],
  ])("%s costs %j", (source, expected) => {
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

/** V8 finds `\B` between the halves of a surrogate pair, where ECMAScript has no position at all. */
function withoutPairs(source: string, subject: string): string {
  return source.includes("\\B") ? subject.replaceAll("😀", "é") : subject;
}

test("A10 both engines say what ECMAScript says", () => {
  fc.assert(
    fc.property(pattern, text, (source, anyText) => {
      const subject = withoutPairs(source, anyText);
      const expected = new RegExp(source, "u").test(subject);
      expect(compilePattern(source)(subject)).toBe(expected);
      expect(re2Matcher(readPattern(source, true))(subject)).toBe(expected);
    }),
    { numRuns: 2000 },
  );
});

test("A10 look-ahead after a leading ^ means what ECMAScript says", () => {
  const look = fc.tuple(fc.constantFrom("(?=", "(?!"), pattern).map(([open, body]) => `${open}${body.replaceAll("?<n>", "?:")})`);
  fc.assert(
    fc.property(fc.array(look, { minLength: 1, maxLength: 3 }), pattern, text, (looks, rest, anyText) => {
      const source = `^${looks.join("")}${rest}`;
      const subject = withoutPairs(source, anyText);
      expect(compilePattern(source)(subject)).toBe(new RegExp(source, "u").test(subject));
    }),
    { numRuns: 1000 },
  );
});

test("patterns that only the older syntax allows are read as it reads them", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["^[\\w-.]+$", "a-."],
    ["^\\_{$", "_{"],
    ["^a{,2}$", "a{,2}"],
    ["\\-+\\@+$", "--@"],
    ["^]}$", "]}"],
  ];
  for (const [source, subject] of cases) {
    expect(compilePattern(source)(subject)).toBe(true);
    expect(re2Matcher(readPattern(source, false))(subject)).toBe(true);
  }
});

test.each([
  ["(", 'the pattern "(" is not a regular expression.'],
  ["^(a)\\1", 'the pattern "^(a)\\\\1" cannot be matched in linear time: back-references are not supported.'],
  ["(?=.*a)b+", 'the pattern "(?=.*a)b+" cannot be matched in linear time: look-around is only supported right after a leading ^.'],
  [
    "(?:^(?=a*b*)c+d+)",
    'the pattern "(?:^(?=a*b*)c+d+)" cannot be matched in linear time: look-around is only supported right after a leading ^.',
  ],
  ["(a+){900}", 'the pattern "(a+){900}" cannot be matched in linear time: its repeats are too large when written out.'],
  ["a".repeat(5000), "a pattern has 5000 characters; 4096 is the limit."],
  [
    "(".repeat(100) + ")".repeat(100),
    `the pattern "${"(".repeat(100)}${")".repeat(100)}" cannot be matched in linear time: groups are nested too deeply.`,
  ],
])("%s is refused", (source, message) => {
  expect(() => compilePattern(source)).toThrowError(expect.objectContaining({ code: "invalid_schema", message }));
});
