import * as fc from "fast-check";
import { expect, test } from "vitest";
import { replaceLoneSurrogates } from "../../../src/core/base/lone-surrogates.ts";
import { toWellFormedJson } from "../../../src/wire/conversation-steps.ts";
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

test("lone surrogates in JSON text become U+FFFD, in keys and values, and the rest is unchanged", () => {
  fc.assert(
    fc.property(values, (value) => {
      expect(replaceLoneSurrogates(JSON.stringify(value))).toBe(keysAsTheyAre(value));
    }),
  );
});

/** Two keys may become one: in the text both are there. */
function keysAsTheyAre(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map((item) => keysAsTheyAre(item)).join()}]`;
  if (typeof value !== "object" || value === null) return escaped(JSON.stringify(toWellFormedJson(value)), value);
  return `{${Object.entries(value)
    .map(([key, item]) => `${escaped(JSON.stringify(key.toWellFormed()), key)}:${keysAsTheyAre(item)}`)
    .join()}}`;
}

/** What was half a pair is written as an escape. */
function escaped(text: string, value: JsonValue): string {
  return typeof value === "string" && !value.isWellFormed() ? text.replaceAll("\ufffd", String.raw`\ufffd`) : text;
}
