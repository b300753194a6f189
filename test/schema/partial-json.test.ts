/** JSON that is still being written. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isJsonArray, isJsonObject, type JsonValue } from "../../src/core/base/json.ts";
import { PartialJson, readPartialJson } from "../../src/schema/repair/partial-json.ts";

function read(...pieces: readonly string[]): PartialJson {
  const reader = new PartialJson();
  for (const piece of pieces) reader.push(piece);
  return reader;
}

describe("the partial value", () => {
  test.each<[string, unknown]>([
    ["", undefined],
    ['{"a', {}],
    ['{"a": ', {}],
    ['{"a": "', { a: "" }],
    ['{"a": "b', { a: "b" }],
    ['{"a": "b\\', { a: "b" }],
    ['{"a": "b\\u00', { a: "b" }],
    ['{"a": 12', {}],
    ['{"a": 12,', { a: 12 }],
    ['{"a": tru', {}],
    ['{"a": true', { a: true }],
    ["[1, [2, ", [1, [2]]],
    ['["\\ud83d', [""]],
    ['["\\ud83d\\ude00', ["😀"]],
    ['["😀'.slice(0, 3), [""]],
    ['["\\ud83d"', ["\ud83d"]],
    ["5", undefined],
    ["5 ", 5],
  ])("of %j is %j", (text, value) => {
    expect(read(text).value).toEqual(value);
  });

  test.each(["no idea", '{"a": 1} x', "[1}", '{"a": 1, "a": 2}', '{"a" 1}', "[01]", '["\\x"]', '["\\u00zz"]', `${"[".repeat(65)}1`, "]"])(
    "%j never completes, and has no final value",
    (text) => {
      const reader = read(text);
      expect(reader.complete).toBe(false);
      expect(reader.finish()).toBeUndefined();
    },
  );

  test("A01 a __proto__ key is dropped and does not reach a prototype", () => {
    const { value, complete } = read('{"__proto__": {"admin": true}, "constructor": {"prototype": 1}}');
    expect(Object.keys(value as object)).toEqual(["constructor"]);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(complete).toBe(true);
  });

  test("H07 in any split, no shown value is withdrawn, and the final value equals JSON.parse", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5, stringUnit: "binary" }), fc.array(fc.nat(60)), fc.boolean(), (raw, cuts, spaced) => {
        const whole = JSON.parse(JSON.stringify({ value: raw }), (key, item: unknown) =>
          key === "__proto__" ? undefined : item,
        ) as JsonValue;
        const text = JSON.stringify(whole, null, spaced ? 1 : 0);
        const reader = new PartialJson();
        let at = 0;
        for (const cut of [...cuts, text.length]) {
          reader.push(text.slice(at, at + cut));
          at += cut;
          expect(fits(reader.value, whole)).toBe(true);
        }
        expect(reader.value).toEqual(whole);
        expect(reader.complete).toBe(true);
      }),
    );
  });

  test("A06 a text of 200,000 characters has a partial value after every chunk of twelve", () => {
    const text = JSON.stringify({ text: 'a "b" \\ '.repeat(20_000), list: Array.from({ length: 5_000 }, (_, index) => index) });
    const reader = new PartialJson();
    for (let at = 0; at < text.length; at += 12) {
      reader.push(text.slice(at, at + 12));
      expect(reader.value).toBeDefined();
    }
    expect(reader.value).toEqual(JSON.parse(text));
  });
});

describe("readPartialJson", () => {
  test.each<[string, unknown]>([
    ["nul", null],
    ["-", undefined],
    ["12.", 12],
    ["1.5e+", 1.5],
    ["1.2.3", undefined],
    ['{"a": 1, "b', { a: 1 }],
    ['{"a": {"b": -2', { a: { b: -2 } }],
  ])("reads %j as %j", (text, value) => {
    expect(readPartialJson(text)).toEqual(value);
  });
});

const file = join(process.env["HAFT_CASES"] ?? join(import.meta.dirname, "../../../shared/cases"), "malformed/partial_json.json");

test.skipIf(!existsSync(file))("H07 every row of the partial JSON suite gives its expected value", () => {
  const rows = JSON.parse(readFileSync(file, "utf8")) as readonly {
    readonly id: string;
    readonly input: string;
    readonly expected: unknown;
  }[];
  expect(rows.map(({ id, input }) => [id, readPartialJson(input)])).toEqual(rows.map(({ id, expected }) => [id, expected]));
});

/** True where the whole can grow out of the part. */
function fits(part: JsonValue | undefined, whole: JsonValue): boolean {
  if (part === undefined) return true;
  if (typeof part === "string") return typeof whole === "string" && whole.startsWith(part);
  if (isJsonArray(part)) return isJsonArray(whole) && part.every((item, index) => fits(item, whole[index] ?? null));
  if (isJsonObject(part)) return isJsonObject(whole) && Object.entries(part).every(([key, item]) => fits(item, whole[key] ?? null));
  return Object.is(part, whole);
}
