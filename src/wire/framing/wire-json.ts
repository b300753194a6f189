/** Reads what a provider sends as JSON, as leniently as it is safe: refusing a whole reply for one number would leave its calls without an answer. */
import type { JsonLimits } from "../../core/base/json-limits.ts";
import { copyJson, type JsonValue } from "../../core/base/json.ts";
import { parseExactly } from "../../core/base/exact-json.ts";
import { keepDigits, parseJson } from "../../core/base/parse-json.ts";
import { ToolError } from "../../core/error.ts";

/** Most characters, or bytes, of one frame. */
export const MAX_FRAME = 16 * 1024 * 1024;
const MAX_DEPTH = 256;
const LIMITS: JsonLimits = { maxDepth: MAX_DEPTH };
/** JSON of no more characters cannot nest too deep: every level takes two. */
const SHORT_CHARS = 2 * MAX_DEPTH;
/** Matches text that may be a number whose digits a double cannot keep, or one too large for it. */
const UNUSUAL_NUMBER = /\d{16}|\d[eE]\+?\d{3}/u;

/**
 * The JSON of a body or a frame; undefined for text that is none. Of repeated keys the last one counts, and an integer that would lose
 * digits comes as a string of them.
 *
 * @throws ToolError `too_large` for what nests too deep or holds too much
 */
export function readWireJson(text: string): JsonValue | undefined {
  return text.length <= SHORT_CHARS && !UNUSUAL_NUMBER.test(text) ? readShort(text) : readChecked(text);
}

/** Nothing of it can be too deep, too large or changed by being read; most frames are such. */
function readShort(text: string): JsonValue | undefined {
  try {
    return parseExactly(text) as JsonValue; // JSON by definition; of repeated keys the last one counts
  } catch {
    return readChecked(text);
  }
}

function readChecked(text: string): JsonValue | undefined {
  try {
    return parseJson(text, LIMITS);
  } catch (thrown: unknown) {
    if (ToolError.fromUnknown(thrown).code === "too_large") throw thrown;
    return readLeniently(text);
  }
}

function readLeniently(text: string): JsonValue | undefined {
  let value: unknown;
  try {
    value = parseExactly(text, keepDigits); // as the sender means it; its depth and size are checked below
  } catch {
    return undefined;
  }
  return copyJson(value, LIMITS).value;
}

/**
 * Refuses a piece of a stream that should be JSON and is not: without it, the rest would pass for the whole reply. Other texts (`[DONE]`)
 * are none of the reply.
 *
 * @throws ToolError `model_failed`
 */
export function refuseDamaged(piece: JsonValue): void {
  if (typeof piece === "string" && piece.trimStart().startsWith("{"))
    throw new ToolError("model_failed", "The provider sent a piece of its reply that is not JSON.");
}
