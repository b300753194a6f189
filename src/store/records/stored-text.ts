/** Strings and times in the form that every database can store. Strings are stored as JSON, which has no NUL and no lone surrogates. */
import { hash } from "node:crypto";
import { ToolError } from "../../core/error.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { isStringArray } from "../../core/base/json.ts";

const LIMITS = { maxDepth: 1, maxChars: 512 * 1024 * 1024 };

export function toStoredText(text: string): string {
  return JSON.stringify(text);
}

/** Encodes a text that is only looked up, never read back. If its JSON has more bytes than an index allows, its digest is used instead. */
export function toStoredKey(text: string, maxBytes: number): string {
  const stored = toStoredText(text);
  return Buffer.byteLength(stored) <= maxBytes ? stored : `#${hash("sha256", stored)}`; // no JSON text begins with #
}

/** @throws ToolError if `stored` is not a JSON string */
export function parseStoredText(stored: string): string {
  const text = parseJson(stored, LIMITS);
  if (typeof text !== "string") throw new ToolError("corrupt_record", `A stored text is not a string: ${stored.slice(0, 60)}.`);
  return text;
}

/** As `parseStoredText`, but returns a damaged text as it is stored. */
export function parseStoredTextOrRaw(stored: string): string {
  try {
    return parseStoredText(stored);
  } catch {
    return stored;
  }
}

/** Encodes several strings as one. */
export function toStoredTexts(texts: readonly string[]): string {
  return JSON.stringify(texts);
}

/** @throws ToolError if `stored` is not the JSON of an array of strings */
export function parseStoredTexts(stored: string): readonly string[] {
  const texts: unknown = parseJson(stored, LIMITS);
  if (isStringArray(texts)) return texts;
  throw new ToolError("corrupt_record", `A stored value is not an array of strings: ${stored.slice(0, 60)}.`);
}

/** Converts a time to whole milliseconds within the range of safe integers. */
export function toStoredTime(milliseconds: number): number {
  return Math.trunc(Math.min(Math.max(milliseconds, -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER));
}

/** Returns the time of a row that has no checksum; 0 if SQLite holds something other than a number. */
export function readStoredTime(stored: unknown): number {
  return typeof stored === "number" && Number.isFinite(stored) ? stored : 0;
}
