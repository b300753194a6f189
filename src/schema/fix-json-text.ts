/** JSON text as models write it: exact where it is JSON, mended where only its form is broken. */
import { jsonrepair } from "jsonrepair";
import type { JsonValue } from "../core/json.ts";
import { copyJson, DEFAULT_MAX_DEPTH } from "../core/json.ts";
import { parseJson } from "../core/parse-json.ts";

/** Longest text that is mended, in UTF-16 units. Keeps the mending under some 100 ms. */
export const MAX_FIXABLE_CHARS = 32_768;

/** The deeply frozen object or array that a text spells in strict JSON; undefined where it spells none, or nests deeper than `maxDepth`. */
export function readJsonText(text: string, maxDepth: number = DEFAULT_MAX_DEPTH): JsonValue | undefined {
  const trimmed = text.trim();
  return isBracketed(trimmed) ? tryParse(trimmed, maxDepth) : undefined;
}

/**
 * The deeply frozen object or array that a text means although its form is broken (quotes, commas, comments,
 * `True`, `None`); undefined where that cannot be told.
 *
 * Only text that ends with its closing bracket is mended: text that was cut off would otherwise become a call
 * that nobody meant. Duplicate keys and integers that would lose digits are refused in mended text, too.
 */
export function fixJsonText(text: string, maxDepth: number = DEFAULT_MAX_DEPTH): JsonValue | undefined {
  const trimmed = text.trim();
  if (trimmed.length > MAX_FIXABLE_CHARS || !isBracketed(trimmed)) return undefined;
  return tryParse(mend(trimmed), maxDepth);
}

function isBracketed(text: string): boolean {
  return (text.startsWith("{") && text.endsWith("}")) || (text.startsWith("[") && text.endsWith("]"));
}

function tryParse(text: string, maxDepth: number): JsonValue | undefined {
  try {
    return copyJson(parseJson(text, { maxDepth }), { maxDepth }).value;
  } catch {
    return undefined; // the caller reports that the text does not fit; why it is not JSON helps nobody there
  }
}

function mend(text: string): string {
  try {
    return jsonrepair(text);
  } catch {
    return ""; // not to be mended, or nested too deeply for a reader that recurses
  }
}
