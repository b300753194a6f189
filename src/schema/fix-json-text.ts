/** JSON text as models write it: exact where it is JSON, mended where only its form is broken. */
import type { JsonValue } from "../core/json.ts";
import { DEFAULT_MAX_DEPTH, isJsonArray } from "../core/json.ts";
import { readLooseJson } from "./json-text/loose-json.ts";
import { mendForm } from "./json-text/mend-form.ts";
import { parsePlain, plain } from "./json-text/parse-plain.ts";

/** Longest text that is mended, in UTF-16 units. Keeps the mending under some 100 ms. */
export const MAX_FIXABLE_CHARS = 32_768;

/** The deeply frozen object or array that a text spells in strict JSON; undefined where it spells none, or nests deeper than `maxDepth`. */
export function readJsonText(text: string, maxDepth: number = DEFAULT_MAX_DEPTH): JsonValue | undefined {
  const trimmed = text.trim();
  return isBracketed(trimmed) ? parsePlain(trimmed, maxDepth) : undefined;
}

/**
 * The deeply frozen object or array that a text means although its form is broken (quotes, commas, comments,
 * `True`, `None`, tuples); undefined where that cannot be told.
 *
 * Only text that ends with its closing bracket is mended: text that was cut off would otherwise become a call
 * that nobody meant. Duplicate keys and integers that would lose digits are refused in mended text, too.
 */
export function fixJsonText(text: string, maxDepth: number = DEFAULT_MAX_DEPTH): JsonValue | undefined {
  const trimmed = text.trim();
  if (trimmed.length > MAX_FIXABLE_CHARS || !isBracketed(trimmed)) return undefined;
  const mended = parsePlain(mendForm(trimmed), maxDepth);
  if (mended === undefined) return readWhole(trimmed, maxDepth);
  return isJsonArray(mended) === trimmed.startsWith("[") ? mended : undefined; // several values are not one
}

function isBracketed(text: string): boolean {
  return (text.startsWith("{") && text.endsWith("}")) || (text.startsWith("[") && text.endsWith("]"));
}

/** Read loosely, where nothing of it was cut off: quotes in texts are the reason as a rule. */
function readWhole(text: string, maxDepth: number): JsonValue | undefined {
  const read = readLooseJson(text, 0, maxDepth);
  return read?.whole === true && read.end === text.length ? plain(read.value, maxDepth) : undefined;
}
