/** Reads JSON text as models write it in the arguments of calls: parsed if it is JSON, repaired if only its syntax is broken. */
import { ToolError } from "../../core/error.ts";
import { type JsonCopy, type JsonValue, DEFAULT_MAX_DEPTH } from "../../core/base/json.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { MAX_DAMAGED_CHARS } from "../json-text/damaged-text.ts";
import { parseSafeJsonCopy, copySafeJson } from "../json-text/safe-json.ts";
import { readDamagedJson } from "../json-text/read-damaged-json.ts";
import { Unreadable } from "../json-text/unreadable.ts";

/** Messages of the strict parser about a value that must not be accepted, rather than about syntax. */
const VALUE_FAULT = /given twice|would lose digits|is too large|nests deeper/u;

/** The value of a JSON text, and how it was read. */
export interface FixedJson {
  readonly value: JsonValue;
  /** Why another value may have been meant; undefined if only this one can be meant. */
  readonly ambiguity: ToolError | undefined;
  /** Whether closing brackets at the end are missing. */
  readonly isCutShort: boolean;
  /** A description of the repair, for people. */
  readonly note: string;
}

/** Returns the deeply frozen object or array of a strict JSON text; undefined if it is not one, or nested more than 64 levels deep. */
export function readJsonText(text: string): JsonValue | undefined {
  return copyJsonText(text, DEFAULT_MAX_DEPTH)?.value;
}

/** Like `readJsonText`, for any depth, also returning the `$` paths of the keys `__proto__` that were left out. */
export function copyJsonText(text: string, maxDepth: number): JsonCopy | undefined {
  const trimmed = text.trim();
  return isBracketed(trimmed) ? parseSafeJsonCopy(trimmed, maxDepth) : undefined;
}

/**
 * Returns the deeply frozen object or array of a text with broken syntax, and the repairs; the reason if it cannot be determined, or if the
 * text was cut off inside a value.
 *
 * A duplicate key and an integer that would lose digits are refused, and named in the reason.
 */
export function fixJsonText(text: string, maxDepth: number = DEFAULT_MAX_DEPTH): FixedJson | ToolError {
  if (text.length > MAX_DAMAGED_CHARS) return explainInvalidJson(text, maxDepth);
  try {
    const { value, mends } = readDamagedJson(text, maxDepth);
    const { certainty } = mends;
    const hasSurroundings = mends.has("around") || mends.has("around-guess");
    if (certainty === "cut" || (certainty === "guess" && hasSurroundings))
      return explainInvalidJson(text, maxDepth, mends.describe(certainty));
    const copy = copySafeJson(value, maxDepth);
    if (copy === undefined) return rejectedJsonError('it holds a key "prototype" below "constructor"');
    const ambiguity = certainty === "sure" ? undefined : explainInvalidJson(text, maxDepth);
    return { value: copy, ambiguity, isCutShort: mends.has("end-missing"), note: mends.describe() };
  } catch (thrown: unknown) {
    if (!(thrown instanceof Unreadable)) throw thrown;
    const why = explainInvalidJson(text, maxDepth);
    return thrown.isFinal && !VALUE_FAULT.test(why.message) ? rejectedJsonError(thrown.message) : why;
  }
}

/** Returns why a text is not accepted, with the message of the strict parser. */
export function explainInvalidJson(text: string, maxDepth: number, repairs?: string): ToolError {
  try {
    parseJson(text, { maxDepth });
  } catch (thrown: unknown) {
    return ToolError.fromUnknown(thrown);
  }
  return rejectedJsonError(repairs ?? "it is neither an object nor an array");
}

function rejectedJsonError(problem: string): ToolError {
  return new ToolError("invalid_input", `Not valid JSON: ${problem}.`);
}

function isBracketed(text: string): boolean {
  return (text.startsWith("{") && text.endsWith("}")) || (text.startsWith("[") && text.endsWith("]"));
}
