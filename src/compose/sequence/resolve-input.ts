/** Finds the references in the input of a call, and replaces them by their values. */
import { valueText } from "../../core/content.ts";
import { ToolError } from "../../core/error.ts";
import { DEFAULT_MAX_CHARS, isJsonArray, isJsonObject, type JsonValue } from "../../core/base/json.ts";
import type { Reference, ReferenceReader, TextPart } from "./reference.ts";

export interface FoundReference {
  readonly reference: Reference;
  /** The path to the text that has it. */
  readonly at: readonly (string | number)[];
  /** False if the reference is inside a longer text. */
  readonly isWhole: boolean;
}

/** Returns the references in an input, in order. @param input plain JSON, no deeper than `copyJson` allows */
export function findReferences(input: JsonValue, reader: ReferenceReader): readonly FoundReference[] {
  const found: FoundReference[] = [];
  collectReferences(input, [], (text, at) => {
    const whole = reader.readWholeText(text);
    if (whole !== undefined) found.push({ reference: whole, at, isWhole: true });
    else for (const { reference } of reader.findParts(text)) if (reference !== undefined) found.push({ reference, at, isWhole: false });
  });
  return found;
}

function collectReferences(
  value: JsonValue,
  at: (string | number)[],
  onText: (text: string, at: readonly (string | number)[]) => void,
): void {
  if (typeof value === "string") {
    if (value.includes("$")) onText(value, [...at]);
  } else if (isJsonArray(value)) {
    for (const [index, item] of value.entries()) collectItem(index, item);
  } else if (isJsonObject(value)) {
    for (const [key, item] of Object.entries(value)) collectItem(key, item);
  }
  function collectItem(step: string | number, item: JsonValue): void {
    at.push(step);
    collectReferences(item, at, onText);
    at.pop();
  }
}

/**
 * Returns the input with each string that is a reference replaced by the value, with its JSON type, and each reference inside a longer text by the
 * value's text. Values without references are not copied.
 *
 * @param input plain JSON, no deeper than `copyJson` allows
 * @throws ToolError the error of `valueOf`; `too_large` for a text that grows past 16,777,216 characters
 */
export function resolveReferences(input: JsonValue, reader: ReferenceReader, valueOf: (reference: Reference) => JsonValue): JsonValue {
  if (typeof input === "string") {
    if (!input.includes("$")) return input;
    const whole = reader.readWholeText(input);
    return whole === undefined ? replaceReferences(input, reader.findParts(input), valueOf) : valueOf(whole);
  }
  if (isJsonArray(input)) {
    const items = input.map((item) => resolveReferences(item, reader, valueOf));
    return items.some((item, index) => item !== input[index]) ? items : input;
  }
  if (!isJsonObject(input)) return input;
  const entries = Object.entries(input).map(([key, item]) => [key, resolveReferences(item, reader, valueOf)] as const);
  return entries.some(([key, item]) => item !== input[key]) ? Object.fromEntries(entries) : input;
}

function replaceReferences(text: string, parts: readonly TextPart[], valueOf: (reference: Reference) => JsonValue): string {
  if (parts.length === 0) return text;
  let filled = "";
  let from = 0;
  for (const { start, end, reference } of parts) {
    filled += text.slice(from, start) + (reference === undefined ? "" : valueText(valueOf(reference)));
    if (filled.length > DEFAULT_MAX_CHARS)
      throw new ToolError("too_large", `A text with references in it grows past ${DEFAULT_MAX_CHARS} characters.`);
    from = end;
  }
  return filled + text.slice(from);
}
