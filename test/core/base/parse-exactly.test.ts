import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { findStringEnd, parseExactly } from "../../../src/core/base/parse-exactly.ts";
import { parseJson } from "../../../src/core/base/parse-json.ts";
import { readWireJson } from "../../../src/wire/framing/wire-json.ts";

/** Every way to write a character of a key. */
function spell(key: string, escaped: boolean): string {
  if (!escaped) return JSON.stringify(key);
  return `"${Array.from({ length: key.length }, (_, at) => `\\u${key.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")}"`;
}

const key = fc.oneof(
  fc.constantFrom(
    "\\",
    "\n",
    '"',
    "\t",
    "\ud800",
    "a\\",
    "a\n",
    'a"',
    "\\\\",
    "\\n",
    "\n\n",
    "__proto__",
    "1",
    "",
    "\ue000",
    "\ue0000",
    "\ue0000.",
    "\ue0000.0",
    "a",
  ),
  fc.string({ maxLength: 3 }),
);
const member = fc.tuple(key, fc.boolean(), fc.nat(9));
const members = fc.uniqueArray(member, { selector: ([name]) => name, maxLength: 4 });

function textOf(list: readonly (readonly [string, boolean, number])[], inner: string): string {
  return `{"q": [${inner}],${list
    .filter(([name]) => name !== "q")
    .map(([name, escaped, value]) => ` ${spell(name, escaped)}\n:${value}`)
    .concat('"last":"\\n: \\" \\\\"')
    .join(",")}}`;
}

describe("keys written with an escape", () => {
  test.each([parseExactly, parseJson, readWireJson])("keep their names whatever was parsed before: %o", (parse) => {
    for (const first of ["\\", "a\\", "\\\\"]) parse(`{"a":1,${JSON.stringify(first)}:2}`);
    for (const name of ["\n", "\t", '"', "\ud800", "a\n", 'a"', "\\n"])
      expect(Object.keys(parse(`{"a":1,${JSON.stringify(name)}:2}`) as object)).toEqual(["a", name]);
  });

  test("keep their order and values in any objects", () => {
    fc.assert(
      fc.property(members, members, (outer, inner) => {
        const text = textOf(outer, textOf(inner, "0"));
        const value = parseExactly(text) as { q: [object] };
        const expected = (list: typeof outer): [string, number][] =>
          list.flatMap(([name, , at]) => (name === "q" ? [] : [[name, at] as [string, number]]));
        const found = (from: object): [string, unknown][] => Object.entries(from).filter(([name]) => name !== "q" && name !== "last");
        const sorted = (list: [string, unknown][]): string[] => list.map((entry) => JSON.stringify(entry)).sort();
        expect(sorted(found(value))).toEqual(sorted(expected(outer)));
        expect(sorted(found(value.q[0]))).toEqual(sorted(expected(inner)));
        expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
      }),
      { numRuns: 2_000 },
    );
  });

  test("are renamed at any depth, and the text of values is not changed", () => {
    const text = `${'{"\\n":'.repeat(50_000)}"\\": \\n"${"}".repeat(50_000)}`;
    let value = parseExactly(text);
    for (let depth = 0; depth < 50_000; depth++) value = (value as Record<string, unknown>)["\n"];
    expect(value).toBe('": \n');
  });

  test.each(["\ue000".repeat(1_000_000), "\ue0000.".repeat(100_000)])("cost the same beside text that looks like a marker", (text) => {
    expect(parseExactly(`{"\\n":1,"${text}":2}`)).toEqual({ "\n": 1, [text]: 2 });
  });

  test.each(['{"\\n":1', '{"\\x":1}', '{"a\\', '{"\\n":1}}', '"\\":'])("in damaged JSON such as %s are rejected", (text) => {
    expect(() => parseExactly(text)).toThrow(SyntaxError);
    expect(findStringEnd(text, 2)).toBeLessThanOrEqual(text.length);
  });
});
