import fc from "fast-check";
import { expect, test } from "vitest";
import { coversPattern, createFastMatcher, createPermission, type PermissionRules } from "../../src/policy/permission.ts";
import { inProcessorTime } from "../processor-time.ts";

function allowed(rules: PermissionRules, names: readonly string[]): readonly string[] {
  const gate = createPermission(rules);
  return names.filter((name) => gate(name) === undefined);
}

function fits(pattern: string, name: string): boolean {
  return createPermission({ allow: [pattern] })(name) === undefined;
}

const NAMES = ["files::read", "files::delete", "mail::send", "default::__proto__"];

test("a denied tool is refused with the pattern that denies it", () => {
  const refusal = createPermission({ allow: ["*"], deny: ["files::*"] })("files::read");
  expect(refusal).toBe('The permission rules deny files::read by the pattern "files::*".');
});

test("a tool that matches no allow pattern is denied", () => {
  const refusal = createPermission({ allow: ["mail::*"] })("files::read");
  expect(refusal).toBe("The permission rules allow only certain tools, and files::read is not one of them.");
});

test.each<[PermissionRules, readonly string[]]>([
  [{}, NAMES],
  [{ allow: [] }, []],
  [{ deny: [] }, NAMES],
  [{ allow: ["*"], deny: ["*"] }, []],
  [{ allow: ["*::read", "mail::send"] }, ["files::read", "mail::send"]],
  [{ deny: ["*::delete"] }, ["files::read", "mail::send", "default::__proto__"]],
  [{ allow: ["files::*"], deny: ["files::delete"] }, ["files::read"]],
  [{ deny: ["*::__proto__"] }, ["files::read", "files::delete", "mail::send"]],
])("the rules %j allow %j", (rules, expected) => {
  expect(allowed(rules, NAMES)).toEqual(expected);
});

test("a star matches any text, including none, and characters are not matched twice", () => {
  expect(fits("a*b*c", "abc")).toBe(true);
  expect(fits("a*b*c", "a::b::c")).toBe(true);
  expect(fits("a*b*c", "acb")).toBe(false);
  expect(fits("ab*ba", "aba")).toBe(false);
  expect(fits("a*bc*c", "abc")).toBe(false);
  expect(fits("a**b", "ab")).toBe(true);
});

test("a pattern of 500 stars is matched without delay", () => {
  const gate = createPermission({ deny: ["*a".repeat(500)] });
  expect(inProcessorTime(1_000, () => gate(`${"a".repeat(500)}::b`))).toBeUndefined();
});

test("a pattern without a toolset matches only tools of the default toolset", () => {
  const allow = createPermission({ allow: ["read", "files::*"] });
  expect(["default::read", "files::x", "mail::read", "default::reader"].map((name) => allow(name) === undefined)).toEqual([
    true,
    true,
    false,
    false,
  ]);
  const deny = createPermission({ deny: ["read"] });
  expect(deny("default::read")).toBe('The permission rules deny default::read by the pattern "read".');
  expect(deny("mail::read")).toBeUndefined();
});

test.each<[unknown, string]>([
  [{ deny: [""] }, '"deny" has an empty pattern.'],
  [{ deny: [5] }, '"deny" has a pattern that is not a string: 5.'],
  [{ deny: "files::*" }, '"deny" must be an array of name patterns, not a string.'],
  [{ deny: ["*".repeat(1_025)] }, '"deny" has a pattern of 1025 characters; 1024 is the limit.'],
])("the rules %j are rejected", (rules, message) => {
  expect(() => createPermission(rules as PermissionRules)).toThrow(message); // rules as a program without types gives them
});

/** Short alphabets, so that names often fit. */
const word = (letters: string) => fc.array(fc.constantFrom(...letters.split("")), { maxLength: 5 }).map((parts) => parts.join(""));
const patternText = fc.tuple(word("ab*"), word("ab*")).map(([toolset, tool]) => `${toolset}::${tool}`);
const nameText = fc.tuple(word("ab"), word("ab")).map(([toolset, tool]) => `${toolset}::${tool}`);
const toExpression = (pattern: string): RegExp => new RegExp(`^${pattern.replaceAll("*", ".*")}$`, "u");

test("a star stands for any text, anywhere and any number of times, in rules and in their faster form", () => {
  fc.assert(
    fc.property(patternText, nameText, (pattern, name) => {
      const isMatch = toExpression(pattern).test(name);
      expect(fits(pattern, name)).toBe(isMatch);
      expect(createFastMatcher(["other::tool", pattern], "allow")(name) !== undefined).toBe(isMatch);
    }),
    { numRuns: 2_000 },
  );
});

test("a pattern covers each one that has other text or more stars in place of its stars, and matches what that matches", () => {
  const fill = (pattern: string, fillings: readonly string[]): string => pattern.replaceAll("*", () => fillings[0] ?? "");
  fc.assert(
    fc.property(patternText, fc.array(word("ab*"), { maxLength: 1 }), fc.array(word("ab"), { maxLength: 1 }), (outer, inner, text) => {
      const covered = fill(outer, inner);
      expect([coversPattern(outer, covered), fits(outer, fill(covered, text))]).toEqual([true, true]);
    }),
    { numRuns: 500 },
  );
});
