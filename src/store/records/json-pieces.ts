/** JSON text in pieces: long strings are kept as they are, and are written as JSON in the database's thread. */
import { pushAll } from "../../core/collections/push-all.ts";
import type { ContentPart } from "../../core/content.ts";
import type { SessionEvent } from "../../core/event.ts";
import { findCachedJsonText } from "../../core/base/cached-json-text.ts";

/** JSON text, interleaved with strings that are not yet written as JSON. An output whose JSON is known already is a piece of its own. */
export type JsonPieces = readonly JsonPiece[];

type JsonPiece = string | LongString | EncodedOutput;

interface LongString {
  readonly text: string;
}

/** An output that was written within the limits of outputs, which allow less nesting than those of events. */
interface EncodedOutput {
  readonly json: string;
}

/** Minimum length of a long string. For shorter ones, writing them takes less time than treating them separately. */
const LONG_CHARS = 256 * 1024;
/** Maximum number of characters that one character of a string takes in JSON: `\u0000`. */
const MAX_CHARS_EACH = 6;

export function joinPieces(pieces: string | JsonPieces): string {
  if (typeof pieces === "string") return pieces;
  return pieces.map((piece) => (isLongString(piece) ? JSON.stringify(piece.text) : jsonOf(piece))).join("");
}

/** Upper bound of the characters of the whole text. */
export function maxCharsOf(pieces: JsonPieces): number {
  return pieces.reduce((sum, piece) => sum + (isLongString(piece) ? piece.text.length * MAX_CHARS_EACH + 2 : jsonOf(piece).length), 0);
}

/** The size of the text in UTF-8 bytes, before its long strings are written as JSON. */
export function bytesOfPieces(pieces: string | JsonPieces): number {
  if (typeof pieces === "string") return Buffer.byteLength(pieces);
  return pieces.reduce((sum, piece) => sum + Buffer.byteLength(isLongString(piece) ? piece.text : jsonOf(piece)), 0);
}

function isLongString(piece: JsonPiece): piece is LongString {
  return typeof piece === "object" && "text" in piece;
}

function jsonOf(piece: Exclude<JsonPiece, LongString>): string {
  return typeof piece === "string" ? piece : piece.json;
}

/** Splits an `output-keep` event, so that long strings and an output already written as JSON are separate. Undefined if it has neither. */
export function splitOutputEvent(event: SessionEvent): JsonPieces | undefined {
  if (event.type !== "output-keep") return undefined;
  const { output, content, ...rest } = event;
  const written = findCachedJsonText(output);
  if (!isLong(output) && written === undefined && content?.some((part) => part.type === "text" && isLong(part.text)) !== true)
    return undefined;
  const answer = isLong(output) ? { text: output } : written === undefined ? undefined : { json: written };
  const pieces: JsonPiece[] = answer === undefined ? [openObject({ ...rest, output })] : [openObject(rest), `,"output":`, answer];
  if (content !== undefined) pushAll(pieces, [`,"content":[`, ...content.flatMap(splitPart), "]"]);
  return [...pieces, "}"];
}

function splitPart(part: ContentPart, index: number): JsonPieces {
  const comma = index === 0 ? "" : ",";
  if (part.type !== "text" || !isLong(part.text)) return [comma + JSON.stringify(part)];
  const { text, ...rest } = part;
  return [`${comma}${openObject(rest)},"text":`, { text }, "}"];
}

/** The JSON of an object that has fields, without the closing brace. */
function openObject(fields: object): string {
  return JSON.stringify(fields).slice(0, -1);
}

function isLong(value: unknown): value is string {
  return typeof value === "string" && value.length >= LONG_CHARS;
}
