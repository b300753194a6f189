import fc from "fast-check";
import { expect, test } from "vitest";
import { visibilityOf, visibleTools, type VisibilityRules } from "../../src/policy/visibility.ts";

const NAMES = ["files::read", "files::write", "journal::add", "default::__proto__"];
const REGISTRY = { list: () => NAMES.map((qualifiedName) => ({ qualifiedName })) };

function seen(rules?: VisibilityRules): readonly string[] {
  return visibleTools(REGISTRY, rules).map(({ qualifiedName }) => qualifiedName);
}

test.each<[what: string, rules: unknown, message: string]>([
  ["an unknown key", { allowed: ["files::*"] }, 'A layer of rules has no option "allowed".'],
  ["nothing", null, 'A layer of rules must be an object with "allow" or "deny", not null.'],
  ["text", "files::*", 'A layer of rules must be an object with "allow" or "deny", not "files::*".'],
  ["rules of an array", [["files::*"]], "The options of a layer of rules must be an object, not an array."],
  ["a pattern alone", { allow: "files::*" }, '"allow" must be an array of name patterns, not a string.'],
  ["a wrong layer behind a right one", [{ allow: ["*"] }, { deny: [5] }], '"deny" has a pattern that is not a string: 5.'],
])("F3.37 %s is rejected, and never treated as rules that allow everything", (_, rules, message) => {
  expect(() => visibilityOf(rules as VisibilityRules)).toThrow(expect.objectContaining({ code: "invalid_argument", message }));
});

test.each<[what: string, rules: VisibilityRules | undefined, expected: readonly string[]]>([
  ["no rules allow everything", undefined, NAMES],
  ["an empty layer allows everything", {}, NAMES],
  ["no layers allow everything", [], NAMES],
  ["an empty list allows nothing", { allow: [] }, []],
  ["whole names are looked up", { allow: ["files::read", "default::__proto__"] }, ["files::read", "default::__proto__"]],
  ["a name without a toolset is one of default", { allow: ["__proto__", "read"] }, ["default::__proto__"]],
  ["names and patterns go together", { allow: ["journal::add", "files::*"], deny: ["files::write"] }, ["files::read", "journal::add"]],
  ["a layer that is missing says nothing", [undefined, { allow: ["journal::*"] }], ["journal::add"]],
  ["an inner layer narrows an outer one", [{ allow: ["files::*"] }, { allow: ["*::read"] }], ["files::read"]],
  ["an inner layer cannot widen an outer one", [{ allow: ["journal::*"] }, { allow: ["*"] }], ["journal::add"]],
  ["what an outer layer denies, no inner one gives back", [{ deny: ["files::*"] }, { allow: ["files::read"] }], []],
])("F3.37 %s", (_, rules, expected) => {
  expect(seen(rules)).toEqual(expected);
});

test("F3.37 parsed rules can be layers themselves, and parsing them again changes nothing", () => {
  const mode = visibilityOf({ allow: ["files::*"] });
  expect(visibilityOf(mode)).toBe(mode);
  expect(seen([mode, { allow: ["*::read", "journal::add"] }])).toEqual(["files::read"]);
});

test("F3.37 an additional layer can only remove tools, whatever the layers", () => {
  const pattern = fc.constantFrom("*", "files::*", "*::read", "journal::add", "default::__proto__", "nothing::here");
  const layer = fc.record({ allow: fc.array(pattern), deny: fc.array(pattern) }, { requiredKeys: [] });
  fc.assert(
    fc.property(fc.array(layer), layer, (layers, inner) => {
      const outside = seen(layers);
      expect(seen([...layers, inner])).toEqual(outside.filter((name) => seen(inner).includes(name)));
    }),
  );
});

test("F3.37 a verdict does not depend on how many names were asked about before", () => {
  const visibility = visibilityOf({ allow: ["a::*"] });
  for (let index = 0; index < 10_001; index++) visibility.permits(`b::${index}`);
  expect([visibility.permits("a::1"), visibility.permits("b::1")]).toEqual([true, false]);
});

const pattern = fc.array(fc.constantFrom("a", "b", "*"), { minLength: 1, maxLength: 5 }).map((parts) => `x::${parts.join("")}`);
const name = fc.array(fc.constantFrom("a", "b"), { maxLength: 5 }).map((parts) => `x::${parts.join("")}`);

test("issue 19.5 a pattern that is permitted matches no name that is not", () => {
  const rules = fc.record({ allow: fc.array(pattern), deny: fc.array(pattern) }, { requiredKeys: [] });
  fc.assert(
    fc.property(fc.array(rules, { maxLength: 2 }), pattern, name, (layers, asked, matched) => {
      const visibility = visibilityOf(layers);
      const isMatched = visibilityOf({ allow: [asked] }).permits(matched);
      expect(visibility.permitsPattern(asked) && isMatched && !visibility.permits(matched)).toBe(false);
    }),
  );
});

test.each<[what: string, rules: VisibilityRules, asked: string, expected: boolean]>([
  ["a narrower one than an allowed one", { allow: ["files::*"] }, "files::re*", true],
  ["one that also matches others", { allow: ["files::*"] }, "file*", false],
  ["one that matches a denied name", { allow: ["*"], deny: ["*::delete"] }, "files::*", false],
  ["one that begins differently from a denied one", { deny: ["shell::*"] }, "files::*", true],
  ["one that ends differently from a denied one", { deny: ["*::delete"] }, "*::read", true],
  ["a name without a toolset", { allow: ["default::*"] }, "read", true],
  ["a name that another layer denies", [{ allow: ["*"] }, { deny: ["default::read"] }], "read", false],
])("issue 19.5 %s is permitted or not", (_, rules, asked, expected) => {
  expect(visibilityOf(rules).permitsPattern(asked)).toBe(expected);
});
