/** Strings and times as every database keeps them: strings as JSON, which has no NUL and no lone surrogates. */
import { hash } from "node:crypto";
import { ToolError } from "../../core/error.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { isStringArray } from "../../core/base/json.ts";

const LIMITS = { maxDepth: 1, maxChars: 512 * 1024 * 1024 };

export function storedText(text: string): string {
  return JSON.stringify(text);
}

/** A text that is only looked up, never read: one whose JSON has more bytes than an index can hold is replaced by its digest. */
export function storedKey(text: string, maxBytes: number): string {
  const stored = storedText(text);
  return Buffer.byteLength(stored) <= maxBytes ? stored : `#${hash("sha256", stored)}`; // no JSON begins like that
}

/** @throws ToolError when it is not the JSON of a text */
export function originalText(stored: string): string {
  const text = parseJson(stored, LIMITS);
  if (typeof text !== "string") throw new ToolError("corrupt_record", `A stored text is not a string: ${stored.slice(0, 60)}.`);
  return text;
}

/** As `originalText`, with a damaged one as it is stored. */
export function readableText(stored: string): string {
  try {
    return originalText(stored);
  } catch {
    return stored;
  }
}

/** Several texts in one. */
export function storedTexts(texts: readonly string[]): string {
  return JSON.stringify(texts);
}

/** @throws ToolError when it is not the JSON of texts */
export function originalTexts(stored: string): readonly string[] {
  const texts: unknown = parseJson(stored, LIMITS);
  if (isStringArray(texts)) return texts;
  throw new ToolError("corrupt_record", `A stored array of strings is something else: ${stored.slice(0, 60)}.`);
}

/** A time as every database keeps it: whole milliseconds, and within what a number can say exactly. */
export function storedTime(milliseconds: number): number {
  return Math.trunc(Math.min(Math.max(milliseconds, -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER));
}

/** A time of a row that has no checksum; 0 where SQLite holds something else than a number. */
export function readableTime(stored: unknown): number {
  return typeof stored === "number" && Number.isFinite(stored) ? stored : 0;
}
