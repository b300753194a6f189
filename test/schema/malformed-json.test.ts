/** The JSON that models mean: our own examples, and other libraries' suites as far as they are at hand (`../shared/cases`, `$HAFT_CASES`). */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonValue } from "../../src/core/base/json.ts";
import { fixJsonText, readJsonText } from "../../src/schema/repair/fix-json-text.ts";
import { MAX_DAMAGED_CHARS } from "../../src/schema/json-text/damaged-text.ts";
import { mendJsonText } from "../../src/schema/json-text/mend-json-text.ts";

describe("text that is not repaired", () => {
  test.each([
    "",
    "See {this and that.",
    "First, this.\nAnswer: **True**",
    "Take {name} and [1] with you.",
    '{"a",',
    '{"a" ]',
    '{"a":1}x',
    '{"a": 1, "a": 2}',
    '{"id": 1915883588174806058,}',
    "[1e999,]",
    `${"[".repeat(70)}1`,
    `{"a": '${"x".repeat(MAX_DAMAGED_CHARS)}'}`,
  ])("%j has no JSON value", (text) => {
    expect(mendJsonText(text)).toBeUndefined();
  });

  test.each(['{"a": {"constructor": {"prototype": {"admin": true}}}}', "{'constructor': {'prototype': 1}}"])(
    "A01 %j is rejected, with and without repair",
    (text) => {
      expect([mendJsonText(text), readJsonText(text), "value" in fixJsonText(text)]).toEqual([undefined, undefined, false]);
    },
  );

  test("A01 a __proto__ key is dropped, however it is spelled", () => {
    for (const text of ['{"__proto__": {"x": 1}, "a": 1}', '{"\\u005f_proto__": 1, "a": 1}', "{'__proto__': 1, 'a': \"b \"c\" d\"}"])
      expect(Object.keys(mendJsonText(text) as object)).toEqual(["a"]);
    expect(({} as { x?: unknown }).x).toBeUndefined();
  });
});

describe("text that is repaired", () => {
  test.each<[string, unknown]>([
    ["The result:\n```json\n{'a': True}\n```\nThat is all.", { a: true }],
    ['Use {name} for this: {"a": [1, 2]} and go.', { a: [1, 2] }],
    ['I think [1, 2] is the list.\nAnd {"a": 1}.', [1, 2]],
    ['{"a": 1}\n{"a": 2}', [{ a: 1 }, { a: 2 }]],
    ['{"a": 1}[2]', [{ a: 1 }, [2]]],
    ['{"say": "the word "yes", or "no", aloud", "to": "her"}', { say: 'the word "yes", or "no", aloud', to: "her" }],
    ['{"code": "if (a == "x") { return "y"; }", "n": 1}', { code: 'if (a == "x") { return "y"; }', n: 1 }],
    ['["he said "hi" to me", "then left"]', ['he said "hi" to me', "then left"]],
    ['{"pair": (1, "b"), "one": (2), "none": ()}', { pair: [1, "b"], one: 2, none: [] }],
    ['{"list": ["a": 1, "b": 2, 3]}', { list: [{ a: 1, b: 2 }, 3] }],
    ['{"a": 1}, "b": 2}', { a: 1, b: 2 }],
    ['{"ratio": 1/3, "n": 2}', { ratio: "1/3", n: 2 }],
    ['{"key:value}', { key: "value" }],
    ['{"a": ""b"}', { a: "b" }],
    ['{"a": """b "c"\nd"""}', { a: 'b "c"\nd' }],
    ['{"a": 1, "a": 1}', { a: 1 }],
    ['{"a": [1, {"b": "cut o', { a: [1, { b: "cut o" }] }],
    ["Answer: (see below)", "Answer: (see below)"],
    ['{"a": "b"} is the answer, not "c"', { a: "b" }],
    ['It said "no" to {"a": "b"} at first', { a: "b" }],
    ['First {"a": 1} and then {"b": 2}.', { a: 1 }],
    ['[Note] The result:\n```json\n{"a": "b"}\n```', { a: "b" }],
    ['The file {"a": "```x {} ```"} it is', { a: "```x {} ```" }],
    ['{"to":"bob@x.com",,"cc":"eve@x.com"}', { to: "bob@x.com", cc: "eve@x.com" }],
    ['{"amount":-, "b": 1}', { amount: null, b: 1 }],
    ["[- 1]", [-1]],
    ['{"key:"value"}', { key: "value" }],
    ['[{"a": 1}}, {"b": 2}]', [{ a: 1 }, { b: 2 }]],
    ['[{"a": 1}], {"b": 2}]', [{ a: 1 }, { b: 2 }]],
    ['{"a": [1]], "b": 2}', { a: [1], b: 2 }],
    ['["a", oops "b", "c"]', ["a", "b", "c"]],
    [String.raw`{"pattern": "^\d+\s*$", "path": "C:\Users\new"}`, { pattern: String.raw`^\d+\s*$`, path: String.raw`C:\Users\new` }],
  ])("%j is read as %j", (text, value) => {
    expect(mendJsonText(text)).toEqual(value);
  });

  test("valid JSON is parsed exactly, and the value is frozen", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const text = JSON.stringify(value).replaceAll("__proto__", "proto");
        expect(mendJsonText(text)).toEqual(JSON.parse(text));
      }),
    );
    expect(Object.isFrozen(mendJsonText('{\'a\': "b "c" d"}'))).toBe(true);
  });

  test("A19 any text gives a value or undefined, and nothing is thrown", () => {
    const piece = fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      "(",
      ")",
      '"',
      "'",
      ":",
      ",",
      "\\",
      "a",
      "1",
      " ",
      "\n",
      "//",
      "/*",
      "#",
      "```",
      "\u201c",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const value = mendJsonText(pieces.join(""));
        expect(value === undefined || JSON.stringify(value) !== undefined).toBe(true);
      }),
    );
  });
});

describe("the input of a call", () => {
  test.each<[string, unknown]>([
    ['{"text": "she said "no" and left"}', { text: 'she said "no" and left' }],
    ['{"at": (1, 2)}', { at: [1, 2] }],
  ])("%j is repaired", (text, value) => {
    expect(fixJsonText(text)).toMatchObject({ value });
  });

  test.each(['{"a": "she said "no', '{"at": (1, 2), "b": "c', '{"a": 1}, {"b": 2}x}', 'So {"a": "she said "no" and left"}'])(
    "%j is not repaired, because something is missing or does not belong to it",
    (text) => {
      expect("value" in fixJsonText(text)).toBe(false);
    },
  );
});

interface Row {
  readonly id: string;
  readonly input: string;
  readonly expected?: JsonValue;
  readonly alreadyValid?: boolean;
  readonly rejects?: string;
  readonly strict?: boolean;
  readonly schema?: unknown;
}

const folder = join(process.env["HAFT_CASES"] ?? join(import.meta.dirname, "../../../shared/cases"), "malformed");
const present = existsSync(folder);
if (!present) console.warn("cases/malformed is not at hand: the suites of other libraries are not run");

function rowsOf(name: string): readonly Row[] {
  const rows = JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8")) as readonly Row[];
  return rows.filter(({ schema }) => schema === undefined);
}

function readRow({ input, strict }: Row): JsonValue | undefined {
  return strict === true ? readJsonText(input) : mendJsonText(input);
}

function recovered(rows: readonly Row[]): number {
  const repairable = rows.filter((row) => row.expected !== undefined);
  return repairable.filter((row) => isEqual(readRow(row), row.expected)).length / repairable.length;
}

function isEqual(value: JsonValue | undefined, expected: JsonValue | undefined): boolean {
  try {
    expect(value).toEqual(expected);
    return true;
  } catch {
    return false;
  }
}

describe.skipIf(!present)("test suites of other libraries", () => {
  test.each([
    ["jsonrepair", 0.98],
    ["json_repair", 0.7],
  ])("F1.9 %s: at least a share of %d is recovered", (name, share) => {
    expect(recovered(rowsOf(name))).toBeGreaterThanOrEqual(share);
  });

  test.each(["jsonrepair", "json_repair"])("%s: valid rows are parsed exactly, and rows that must be rejected are rejected", (name) => {
    const rows = rowsOf(name);
    const valid = rows.filter(({ alreadyValid, expected }) => alreadyValid === true && expected !== undefined);
    expect(valid.map((row) => [row.id, readRow(row)])).toEqual(valid.map(({ id, expected }) => [id, expected]));
    const refused = rows.filter(({ rejects }) => rejects !== undefined);
    expect(refused.map((row) => [row.id, readRow(row)])).toEqual(refused.map(({ id }) => [id, undefined]));
  });

  test("A01 prototype pollution rows are rejected or made harmless", () => {
    for (const row of rowsOf("proto_pollution_json")) {
      const value = mendJsonText(row.input);
      if (row.expected !== undefined) expect(value).toEqual(row.expected);
      else expect(JSON.stringify(value ?? null)).not.toMatch(/__proto__|prototype/u);
    }
  });
});
