/** Reads a provider's JSON as leniently as is safe: refusing a whole reply because of one number would leave its calls unanswered. */
import type { JsonLimits } from "../../core/base/json-limits.ts";
import { copyJson, type JsonValue } from "../../core/base/json.ts";
import { parseExactly } from "../../core/base/parse-exactly.ts";
import { LONG_NUMBER, stringifyLongNumber, parseJson } from "../../core/base/parse-json.ts";
import { ToolError } from "../../core/error.ts";

/** Maximum number of characters, or bytes, of one frame. */
export const MAX_FRAME = 16 * 1024 * 1024;
const MAX_DEPTH = 256;
const LIMITS: JsonLimits = { maxDepth: MAX_DEPTH };
/** JSON up to this many characters cannot exceed the depth limit, because every level takes two. */
const SHORT_CHARS = 2 * MAX_DEPTH;

/**
 * Returns the JSON of a body or a frame; undefined for text that is not JSON. Of repeated keys the last counts, and an integer that would lose digits
 * is returned as a string.
 *
 * @throws ToolError `too_large` for JSON that nests too deep or has too many values
 */
export function readWireJson(text: string): JsonValue | undefined {
  return text.length <= SHORT_CHARS && !LONG_NUMBER.test(text) ? readShort(text) : readChecked(text);
}

/** Parses text that cannot exceed a limit or lose digits, as most frames are. */
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
    value = parseExactly(text, stringifyLongNumber); // duplicate keys are allowed and long integers become strings; depth and size are checked below
  } catch {
    return undefined;
  }
  return copyJson(value, LIMITS).value;
}

/**
 * Refuses a piece of a stream that should be JSON but is not: if it were skipped, the rest would look like the whole reply. Other texts (`[DONE]`)
 * are not part of the reply.
 *
 * @throws ToolError `model_failed`
 */
export function checkStreamPiece(piece: JsonValue): void {
  if (typeof piece === "string" && piece.trimStart().startsWith("{"))
    throw new ToolError("model_failed", "The provider sent a piece of its reply that is not JSON.");
}
