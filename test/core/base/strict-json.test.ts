import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parseJson } from "../../../src/core/base/parse-json.ts";
import { strictJson } from "../../../src/core/base/strict-json.ts";
import { wellFormed } from "../../../src/wire/conversation-steps.ts";
import type { JsonValue } from "../../../src/core/base/json.ts";

const texts = fc
  .array(fc.constantFrom("\ud800", "\udfff", "\ud83d\ude00", "\\", "\\u", "ud800", '"', "\n", "a", "\u0001"), { maxLength: 12 })
  .map((parts) => parts.join(""));
const values = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    texts,
    fc.integer(),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(texts, tie("value"), { maxKeys: 3 }),
  ),
})).value;

test("JSON text has U+FFFD for each half of a surrogate pair, in keys and values, and is otherwise the same", () => {
  fc.assert(
    fc.property(values, (value) => {
      expect(strictJson(JSON.stringify(value))).toBe(keysAsTheyAre(value));
    }),
  );
});

/** Of keys that become equal, those behind the first have a number. */
function keysAsTheyAre(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map((item) => keysAsTheyAre(item)).join()}]`;
  if (typeof value !== "object" || value === null) return escaped(JSON.stringify(wellFormed(value)), value);
  const seen = new Set<string>();
  const distinct = (key: string): string => {
    const whole = key.toWellFormed();
    let name = whole;
    for (let number = 2; seen.has(name); number++) name = `${whole}${number}`;
    seen.add(name);
    return escaped(JSON.stringify(name), key);
  };
  return `{${Object.entries(value)
    .map(([key, item]) => `${distinct(key)}:${keysAsTheyAre(item)}`)
    .join()}}`;
}

/** What was half a pair is written as an escape. */
function escaped(text: string, value: JsonValue): string {
  return typeof value === "string" && !value.isWellFormed() ? text.replaceAll("\ufffd", String.raw`\ufffd`) : text;
}

test("keys that become equal stay apart, also where the object has one of their names", () => {
  const value = { "\ud800": 1, "\ufffd2": 2, "\udfff": 3, "\ud801": [{ "\ufffd": 4, "\ud800": 5 }] };
  expect(parseJson(strictJson(JSON.stringify(value)))).toEqual({
    "\ufffd": 1,
    "\ufffd2": 2,
    "\ufffd3": 3,
    "\ufffd4": [{ "\ufffd": 4, "\ufffd2": 5 }],
  });
  const halves = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [String.fromCharCode(0xd800 + index), index]));
  expect(Object.values(parseJson(strictJson(JSON.stringify(halves))) as object)).toEqual(Object.values(halves));
});
