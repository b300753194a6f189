/** The JSON that a model's text means: strict JSON, broken JSON, JSON that was cut off, JSON in a fence or among prose. */
import { DEFAULT_MAX_DEPTH, isJsonArray } from "../../core/json.ts";
import type { JsonValue } from "../../core/json.ts";
import { readLooseJson } from "./loose-json.ts";
import { isQuote } from "./loose-text.ts";
import { mendForm } from "./mend-form.ts";
import { parsePlain, plain } from "./parse-plain.ts";

/** Longest text that is mended, in UTF-16 units; strict JSON may be longer. */
export const MAX_MENDABLE_CHARS = 32_768;
const MAX_VALUES = 1_024;
/** How many of several values may lack their end; each costs a look at the whole rest. */
const MAX_TORN = 8;
const NO_PARTS: Parts = { keys: 0, strayColons: 0 };
/** A bracket, with what stands in it where that is one word. */
const BRACKET = /[{[](?:[^\s{}[\]":,]+[}\]])?/gu;
/** Tuples and doubled quotes, which are read otherwise than they are meant. */
const MISREAD = /[:,[(]\s*\(|[:,[]\s*""[\p{L}\p{N}]/u;

/**
 * The deeply frozen value that a text means. For text that is shown or asked about, never for a call that is run as it is: a text that
 * was cut off is closed where it ends.
 *
 * Several arrays and objects, one behind the other, are an array of them. Prose with no JSON in it is the text itself where it is one
 * line of words, and undefined otherwise. Duplicate keys and integers that would lose digits are refused; a key `__proto__` is left out.
 */
export function mendJsonText(text: string, maxDepth: number = DEFAULT_MAX_DEPTH): JsonValue | undefined {
  const trimmed = text.replace(/^\uFEFF/u, "").trim();
  const strict = parsePlain(trimmed, maxDepth);
  if (strict !== undefined) return strict;
  if (trimmed === "" || trimmed.length > MAX_MENDABLE_CHARS) return undefined;
  const mended = parsePlain(mendForm(trimmed), maxDepth);
  if (mended !== undefined && isPlausible(trimmed, mended)) return mended;
  return readAmongProse(trimmed, maxDepth) ?? (mayMean(trimmed, mended) ? mended : undefined);
}

/** A text that begins with a bracket means that; any other without brackets is one value, and never a list of its lines. */
function mayMean(text: string, value: JsonValue | undefined): boolean {
  return isOpening(text[0]) ? isJsonArray(value) === text.startsWith("[") : !hasBracket(text) && !isJsonArray(value);
}

/** False where mending took prose or members for items of a list, or invented members. */
function isPlausible(text: string, value: JsonValue): boolean {
  if (typeof value === "string") return isQuote(text[0] ?? "") || text.startsWith("\\") || !hasBracket(text);
  const { keys, strayColons } = countParts(value);
  if (strayColons > 0 || keys > text.split(":").length - 1 || MISREAD.test(text)) return false;
  if (!isJsonArray(value)) return true;
  return text.startsWith("[") || value.every((item) => typeof item === "object" || typeof item === "number");
}

interface Parts {
  readonly keys: number;
  /** Texts in lists that begin with a colon: what was between a key and its value. */
  readonly strayColons: number;
}

function countParts(value: JsonValue): Parts {
  if (typeof value !== "object" || value === null) return NO_PARTS;
  const items = isJsonArray(value) ? value : Object.values(value);
  const own = isJsonArray(value)
    ? { keys: 0, strayColons: value.filter((item) => typeof item === "string" && item.startsWith(":")).length }
    : { keys: items.length, strayColons: 0 };
  return items
    .map(countParts)
    .reduce((sum, { keys, strayColons }) => ({ keys: sum.keys + keys, strayColons: sum.strayColons + strayColons }), own);
}

function hasBracket(text: string): boolean {
  return text.includes("{") || text.includes("[");
}

function isOpening(char: string | undefined): boolean {
  return char === "{" || char === "[" || char === "(";
}

/** The arrays and objects that stand in a text: in its first fence if it has one, else from the first bracket on. */
function readAmongProse(text: string, maxDepth: number): JsonValue | undefined {
  const start = startOfJson(text);
  if (start < 0) return undefined;
  const values: JsonValue[] = [];
  let torn = 0;
  for (let at = start; at < text.length && values.length < MAX_VALUES;) {
    const read = readLooseJson(text, at, maxDepth);
    if (read === undefined || (!read.whole && ++torn > MAX_TORN)) return undefined;
    values.push(read.value);
    at = nextValue(text, read.end);
    if (at < 0) return undefined;
  }
  const [first] = values;
  return plain(values.length === 1 && first !== undefined ? first : values, maxDepth);
}

/** The first bracket; in prose the first that is more than a placeholder or a reference (`{name}`, `[1]`), if there is one. */
function startOfJson(text: string): number {
  if (isOpening(text[0])) return 0;
  const fence = text.indexOf("```");
  const from = fence < 0 ? 0 : fence + 3;
  const found = [...text.slice(from).matchAll(BRACKET)];
  const start = found.find(([bracket]) => bracket.length === 1) ?? found[0];
  return start === undefined ? -1 : from + start.index;
}

/** Where the next value begins; the end of the text where prose follows; -1 where something else stands directly behind a value. */
function nextValue(text: string, end: number): number {
  const rest = text.slice(end, end + 256);
  const [gap = ""] = /^[\s,;]*/u.exec(rest) ?? [];
  const at = end + gap.length;
  if (at >= text.length || text[at] === "{" || text[at] === "[") return at;
  return gap !== "" || text.startsWith("```", at) || !isOpening(text[0]) ? text.length : -1;
}
