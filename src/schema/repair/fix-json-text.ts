/** JSON text as models write it in arguments of calls: exact where it is JSON, mended where only its form is broken. */
import { ToolError } from "../../core/error.ts";
import { type JsonCopy, type JsonValue, DEFAULT_MAX_DEPTH } from "../../core/base/json.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { MAX_DAMAGED_CHARS } from "../json-text/damaged-text.ts";
import { copyPlain, plain } from "../json-text/parse-plain.ts";
import { readDamagedJson } from "../json-text/read-damaged-json.ts";
import { Unreadable } from "../json-text/unreadable.ts";

/** The strict parser's messages about a value that may not be taken, rather than about its form. */
const VALUE_FAULT = /given twice|would lose digits|is too large|nests deeper/u;

/** The value of a text of JSON, and how it was read. */
export interface FixedJson {
  readonly value: JsonValue;
  /** Why it may be another value than was meant; undefined where only this one can be meant. */
  readonly unsure: ToolError | undefined;
  /** Closing brackets at the end are missing. */
  readonly isCutShort: boolean;
  /** A description of the repair, for people. */
  readonly note: string;
}

/** The deeply frozen object or array that a text spells in strict JSON; undefined where it spells none, or nests deeper than 64 levels. */
export function readJsonText(text: string): JsonValue | undefined {
  return copyJsonText(text, DEFAULT_MAX_DEPTH)?.value;
}

/** The same for any depth, with the `$` paths of the keys `__proto__` that were left out. */
export function copyJsonText(text: string, maxDepth: number): JsonCopy | undefined {
  const trimmed = text.trim();
  return isBracketed(trimmed) ? copyPlain(trimmed, maxDepth) : undefined;
}

/**
 * The deeply frozen object or array that a text means although its form is broken, and what was mended; the reason where that cannot be
 * known, or the text was cut off inside a value.
 *
 * A key given twice and an integer that would lose digits are refused, and named in the reason.
 */
export function fixJsonText(text: string, maxDepth: number = DEFAULT_MAX_DEPTH): FixedJson | ToolError {
  if (text.length > MAX_DAMAGED_CHARS) return whyNotJson(text, maxDepth);
  try {
    const { value, mends } = readDamagedJson(text, maxDepth);
    const { certainty } = mends;
    const around = mends.has("around") || mends.has("around-guess");
    if (certainty === "cut" || (certainty === "guess" && around)) return whyNotJson(text, maxDepth, mends.describe(certainty));
    const kept = plain(value, maxDepth);
    if (kept === undefined) return refused('it holds a key "prototype" below "constructor"');
    const unsure = certainty === "sure" ? undefined : whyNotJson(text, maxDepth);
    return { value: kept, unsure, isCutShort: mends.has("end-missing"), note: mends.describe() };
  } catch (thrown: unknown) {
    if (!(thrown instanceof Unreadable)) throw thrown;
    const why = whyNotJson(text, maxDepth);
    return thrown.final && !VALUE_FAULT.test(why.message) ? refused(thrown.message) : why;
  }
}

/** Why a text is not taken, in the words of the strict parser. */
function whyNotJson(text: string, maxDepth: number, mended?: string): ToolError {
  try {
    parseJson(text, { maxDepth });
  } catch (thrown: unknown) {
    return ToolError.fromUnknown(thrown);
  }
  return refused(mended ?? "it is neither an object nor an array");
}

function refused(problem: string): ToolError {
  return new ToolError("invalid_input", `Not valid JSON: ${problem}.`);
}

function isBracketed(text: string): boolean {
  return (text.startsWith("{") && text.endsWith("}")) || (text.startsWith("[") && text.endsWith("]"));
}
