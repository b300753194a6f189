/** Any string as text that every database keeps: JSON, which has no NUL and no lone surrogates. */
import { ToolError } from "../core/error.ts";
import { parseJson } from "../core/base/parse-json.ts";

const LIMITS = { maxDepth: 1, maxChars: 512 * 1024 * 1024 };

export function storedText(text: string): string {
  return JSON.stringify(text);
}

/** @throws ToolError when it is not the JSON of a text */
export function originalText(stored: string): string {
  const text = parseJson(stored, LIMITS);
  if (typeof text !== "string") throw new ToolError("corrupt_record", `A stored text is not a string: ${stored.slice(0, 60)}.`);
  return text;
}

/** Several texts in one. */
export function storedTexts(texts: readonly string[]): string {
  return JSON.stringify(texts);
}

/** @throws ToolError when it is not the JSON of texts */
export function originalTexts(stored: string): readonly string[] {
  const texts: unknown = parseJson(stored, LIMITS);
  if (Array.isArray(texts) && texts.every((text) => typeof text === "string")) return texts;
  throw new ToolError("corrupt_record", `A stored array of strings is something else: ${stored.slice(0, 60)}.`);
}
