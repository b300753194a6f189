import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileGlob, compilePlainGlob } from "../../src/toolsets/files/glob-pattern.ts";

const matches = (pattern: string, path: string): boolean => compileGlob(pattern)(path.split("/"));

describe("glob patterns", () => {
  test.each([
    ["*.ts", "a.ts", true],
    ["*.ts", "a/b.ts", false],
    ["*", ".hidden", true],
    ["**/*.ts", "a.ts", true],
    ["**/*.ts", "a/b/c.ts", true],
    ["a/**", "a", false],
    ["a/**", "a/b/c", true],
    ["a/**/b", "a/b", true],
    ["a/**/b", "a/x/y/b", true],
    ["a/**/b/**/c", "a/b/x/b/y/c", true],
    ["a/**/b/**/c", "a/x/c", false],
    ["**", "a/b", true],
    ["**/**", "a", true],
    ["a**b", "axxb", true],
    ["a**b", "ax/xb", false],
    ["./a/./b", "a/b", true],
    ["a?c", "abc", true],
    ["a?c", "a🎉c", true],
    ["a?c", "ac", false],
    ["[a-c]x", "bx", true],
    ["[!a-c]x", "bx", false],
    ["[^a-c]x", "dx", true],
    ["[]]x", "]x", true],
    ["[a-]x", "-x", true],
    ["[x", "[x", true],
    ["\\*", "*", true],
    ["\\*", "a", false],
    ["{a,b}.ts", "b.ts", true],
    ["{a,b{c,d}}.ts", "bd.ts", true],
    ["{a}.ts", "{a}.ts", true],
    ["{a,}x", "x", true],
    ["src/{a,b/c}/*.ts", "src/b/c/x.ts", true],
    ["{", "{", true],
    ["*a*b*", "xaxbx", true],
    ["*.test.*", "a.test.ts", true],
    ["A.ts", "a.ts", false],
  ])("%s against %s: %s", (pattern, path, expected) => {
    expect(matches(pattern, path)).toBe(expected);
  });

  test("A10 no pattern takes exponential time: stars and double stars against a long path that does not match", () => {
    const name = "a".repeat(4000);
    expect(matches(`${"*a".repeat(400)}b`, name)).toBe(false);
    expect(compileGlob(`${"**/a/".repeat(190)}b`)(Array.from({ length: 2000 }, () => "a"))).toBe(false);
    expect(matches(`${"[ab]*".repeat(190)}c`, name)).toBe(false);
  });

  test("stars match like an equivalent regular expression", () => {
    const part = fc.constantFrom("a", "b", "*", "?", "**");
    const pattern = fc.array(
      fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("")),
      { minLength: 1, maxLength: 4 },
    );
    const path = fc.array(fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(pattern, path, (segments, names) => {
        const parts = segments.map((segment) =>
          /^\*\*$/u.test(segment) ? "(?:[^/]+/)*" : `${segment.replaceAll(/\*+/gu, "[^/]*").replaceAll("?", "[^/]")}/`,
        );
        const last = segments.at(-1) === "**" ? "[^/]+/" : "";
        expect(compilePlainGlob(segments.join("/"))(names)).toBe(new RegExp(`^${parts.join("")}${last}$`, "u").test(`${names.join("/")}/`));
      }),
      { seed: 1, numRuns: 2000 },
    );
  });
});
