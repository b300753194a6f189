/** JSON text in pieces: a long string is put into it as it is, and written as JSON where the event is stored, in the database's thread. */
import type { ContentPart } from "../../core/content.ts";
import type { SessionEvent } from "../../core/event.ts";
import { writtenJson } from "../../core/base/written-json.ts";

/** JSON text, and between it strings that are yet to be written as JSON. An answer whose text was at hand is a piece of its own. */
export type JsonPieces = readonly JsonPiece[];

type JsonPiece = string | LongString | WrittenAnswer;

interface LongString {
  readonly text: string;
}

/** It was copied within the limits of answers, which nest less deep than an event may. */
interface WrittenAnswer {
  readonly json: string;
}

/** Shorter strings take less time than a look at where they are. */
const LONG_CHARS = 256 * 1024;
/** Most characters that one of a string takes in JSON: `\u0000`. */
const MOST_CHARS_EACH = 6;

/** The whole text. */
export function joinPieces(pieces: string | JsonPieces): string {
  if (typeof pieces === "string") return pieces;
  return pieces.map((piece) => (isLongString(piece) ? JSON.stringify(piece.text) : jsonOf(piece))).join("");
}

/** How many characters the whole text has at most. */
export function mostChars(pieces: JsonPieces): number {
  return pieces.reduce((sum, piece) => sum + (isLongString(piece) ? piece.text.length * MOST_CHARS_EACH + 2 : jsonOf(piece).length), 0);
}

/** The UTF-8 bytes of the text, before the long strings in it are written as JSON. */
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

/**
 * Of a whole answer, what is long or written already apart from the rest of its event; undefined for an event without any of that, which is
 * written in one piece.
 */
export function piecesOf(event: SessionEvent): JsonPieces | undefined {
  if (event.type !== "output-keep") return undefined;
  const { output, content, ...rest } = event;
  const written = writtenJson(output);
  if (!isLong(output) && written === undefined && content?.some((part) => part.type === "text" && isLong(part.text)) !== true)
    return undefined;
  const answer = isLong(output) ? { text: output } : written === undefined ? undefined : { json: written };
  const pieces: JsonPiece[] = answer === undefined ? [openObject({ ...rest, output })] : [openObject(rest), `,"output":`, answer];
  if (content !== undefined) pieces.push(`,"content":[`, ...content.flatMap(piecesOfPart), "]");
  return [...pieces, "}"];
}

function piecesOfPart(part: ContentPart, index: number): JsonPieces {
  const comma = index === 0 ? "" : ",";
  if (part.type !== "text" || !isLong(part.text)) return [comma + JSON.stringify(part)];
  const { text, ...rest } = part;
  return [`${comma}${openObject(rest)},"text":`, { text }, "}"];
}

/** The JSON of an object that has fields, without its end. */
function openObject(fields: object): string {
  return JSON.stringify(fields).slice(0, -1);
}

function isLong(value: unknown): value is string {
  return typeof value === "string" && value.length >= LONG_CHARS;
}
