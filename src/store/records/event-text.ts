/** Converts events to the text that is stored, and back. */
import { ToolError } from "../../core/error.ts";
import type { SessionEvent } from "../../core/event.ts";
import { isJsonObject } from "../../core/base/json.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { EVENT_LIMITS, MAX_ID_LENGTH, isKnownType, readEvent } from "../../core/recording/read-event.ts";
import type { EventPage, LogDamage } from "../../core/store/store.ts";
import { maxCharsOf, splitOutputEvent, type JsonPieces } from "./json-pieces.ts";
import type { EventRow, StoredPage } from "./log-database.ts";
import { toStoredTime } from "./stored-text.ts";

/**
 * Writes an event as JSON text.
 *
 * @throws ToolError `not_json` for a value that JSON cannot hold, `too_large` for an event that could not be read back
 */
export function writeEvent(event: SessionEvent): EventRow {
  return { at: toStoredTime(event.at), type: event.type, callId: callIdOf(event), body: encodeBody(event) };
}

/** Returns pieces if a long string is left to the database's thread to write as JSON, or the output was written as JSON before. */
function encodeBody(event: SessionEvent): string | JsonPieces {
  const pieces = tryEncode(event, splitOutputEvent);
  if (pieces !== undefined && maxCharsOf(pieces) <= EVENT_LIMITS.maxChars) {
    requireDepth(event, pieces.filter((piece) => typeof piece === "string").join(""));
    return pieces;
  }
  const body = tryEncode(event, encodeJson);
  if (body.length > EVENT_LIMITS.maxChars)
    throw tooLargeError(event, `has ${body.length} characters of JSON; ${EVENT_LIMITS.maxChars} is the limit`);
  requireDepth(event, body);
  return body;
}

function callIdOf(event: SessionEvent): string | undefined {
  const callId: unknown = "callId" in event ? event.callId : undefined;
  return typeof callId === "string" ? callId : undefined;
}

function tryEncode<Encoded>(event: SessionEvent, encode: (event: SessionEvent) => Encoded): Encoded {
  let cause: unknown;
  try {
    if (Number.isFinite(event.at) && typeof event.type === "string") return encode(event);
  } catch (error: unknown) {
    cause = error;
  }
  throw new ToolError("not_json", "An event cannot be stored: it cannot be written as JSON with a time and a type.", { cause });
}

function encodeJson(event: SessionEvent): string {
  const text: unknown = JSON.stringify(event);
  if (typeof text === "string") return text;
  throw new TypeError("It cannot be written as JSON.");
}

/** @param text the event's JSON, which may lack the contents of its strings */
function requireDepth(event: SessionEvent, text: string): void {
  if (nestsDeeper(text, EVENT_LIMITS.maxDepth)) throw tooLargeError(event, `nests deeper than ${EVENT_LIMITS.maxDepth} levels`);
}

function tooLargeError({ type }: SessionEvent, problem: string): ToolError {
  return new ToolError("too_large", `A ${type} event cannot be stored: it ${problem}.`);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** @param text valid JSON */
function nestsDeeper(text: string, maxDepth: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      for (at++; text.charCodeAt(at) !== QUOTE; at++) if (text.charCodeAt(at) === BACKSLASH) at++;
    } else if (code === 0x7b || code === 0x5b) {
      if (++depth > maxDepth) return true;
    } else if (code === 0x7d || code === 0x5d) {
      depth--;
    }
  }
  return false;
}

/** Reads the events of a stored page that begins at `from`, with checksums verified. A body that is not an event ends the page like damage. */
export function readStoredPage({ bodies, next, damage }: StoredPage, from: number): EventPage {
  const events: SessionEvent[] = [];
  for (const body of bodies) {
    const event = readBody(body, from + events.length);
    if ("reason" in event) return { events, next: undefined, damage: event };
    events.push(event.event);
  }
  return { events, next, ...(damage === undefined ? {} : { damage }) };
}

function newerEventReason(type: string): string {
  return `It is of the type ${JSON.stringify(type.slice(0, MAX_ID_LENGTH))}, which this version of Haft does not know: a newer version wrote it.`;
}

function readBody(body: string, position: number): { readonly event: SessionEvent } | LogDamage {
  try {
    const value = parseJson(body, EVENT_LIMITS);
    const type = isJsonObject(value) ? value["type"] : undefined;
    if (typeof type === "string" && !isKnownType(type)) return { position, reason: newerEventReason(type), isNewer: true };
    return { event: readEvent(value, `Event ${position}`) };
  } catch (error: unknown) {
    const { message } = ToolError.fromUnknown(error);
    return { position, reason: `${message} Its checksum is right: a newer version of Haft may have written it.` };
  }
}
