/** Converts text to the value it spells, if nothing can be lost or misread. */
import type { JsonPrimitive, JsonValue } from "../../core/base/json.ts";

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/u;
/** Matches the text of a number that became an integer by rounding: it had a fraction, or was too small but not 0. */
const ROUNDED_INTEGER = /\.0*[1-9]\d*$|^[-.0]*[1-9][^eE]*[eE]-\d{3,}$/u;
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["True", true],
  ["false", false],
  ["False", false],
]);
const MAX_NUMBER_TEXT = 400;

/**
 * Returns the number, boolean or null that a text spells, if one of `types` allows it; else undefined.
 *
 * Numbers follow the grammar of JSON, so `007`, `+5`, `0x1f` and `1_000` stay text. An integer type accepts `"5.0"` but not `"5.5"`. A number
 * stays text if it is an integer beyond ±(2^53 − 1), beyond the range of a double, or has a fraction that a double would drop.
 */
export function coerceText(text: string, types: readonly string[]): JsonPrimitive | undefined {
  const trimmed = text.length <= MAX_NUMBER_TEXT ? text.trim() : "";
  const number = types.includes("number");
  if ((number || types.includes("integer")) && NUMBER.test(trimmed)) {
    const value = Number(trimmed);
    const whole = Number.isInteger(value);
    if (whole && ROUNDED_INTEGER.test(trimmed)) return undefined;
    if (whole ? Number.isSafeInteger(value) : number && Number.isFinite(value)) return value + 0; // "-0" is 0, as in JSON that is recorded
  }
  if (types.includes("boolean") && BOOLEANS.has(trimmed)) return BOOLEANS.get(trimmed);
  if (types.includes("null") && trimmed === "null") return null;
  return undefined;
}

/** Returns the only string of an enum that equals `text` except for case and white space; undefined if there are none or several. */
export function findSimilarMember(text: string, members: readonly JsonValue[]): string | undefined {
  const folded = foldText(text);
  let found: string | undefined;
  for (const member of members) {
    if (typeof member !== "string" || foldText(member) !== folded || member === found) continue;
    if (found !== undefined) return undefined;
    found = member;
  }
  return found;
}

function foldText(text: string): string {
  return text
    .trim()
    .replaceAll(/\s(?=\s)/gu, "")
    .replaceAll(/\s/gu, " ")
    .toLowerCase();
}

/** Returns a key without separators and in lower case: `file_path`, `filePath` and `File-Path` become the same. */
export function foldKey(key: string): string {
  return key.replaceAll(/[\s_.-]/gu, "").toLowerCase();
}

/** Returns the JSON Schema name of a value's type. */
export function jsonTypeOf(value: JsonValue): "null" | "array" | "object" | "string" | "number" | "boolean" {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  const kind = typeof value;
  return kind === "string" || kind === "number" || kind === "boolean" ? kind : "object";
}
