/**
 * Recordings: a session's events as a JSON Lines file that detects changes.
 *
 * The first line identifies the session, the last has the number of events. In between are the events. Texts of 1,024 bytes or more, and images,
 * audio and system messages always, are written once, before the first event that needs them, each under its SHA-256. Every line ends with the
 * SHA-256 of itself and all lines before it: a file that was truncated, edited or reordered is read up to that place. An attacker who writes the file
 * can also compute the checksums: they detect damage, not forgery.
 */
import { isOptionsObject } from "../base/wording.ts";
import { checkArgument } from "../check-argument.ts";
import type { SessionEvent } from "../event.ts";
import { RecordingEncoder } from "./encoder.ts";
import type { RecordingHeader } from "./format.ts";
import { sha256 } from "./node-sha256.ts";
import { openRecording, parseLines, type OpenRecording, type RecordingSource } from "./open-recording.ts";

export type { OpenRecording, RecordingSource } from "./open-recording.ts";

/**
 * Writes a recording, one line at a time; each line ends with a line feed.
 *
 * Needs memory for one event and the hashes of the latest bodies. Values are read back unchanged, with one exception due to JSON: `-0` becomes `0`.
 *
 * @throws ToolError `corrupt_record` while iterating, for an event that could not be read back; `too_large` for one of more than 256 Mi characters
 */
export async function* writeRecording(
  events: Iterable<SessionEvent> | AsyncIterable<SessionEvent>,
  header: RecordingHeader,
): AsyncGenerator<string, void, undefined> {
  const isList = typeof events === "object" && events !== null && (Symbol.asyncIterator in events || Symbol.iterator in events);
  checkArgument(isList, "writeRecording(events, header)", "the events of a session", events, "For example session.events().");
  const hint = "For example { sessionId: session.id, exportedAt: Date.now() }.";
  checkArgument(isOptionsObject(header), "writeRecording(events, header)", "a header", header, hint);
  const encoder = new RecordingEncoder();
  yield encoder.start(header);
  for await (const event of events) yield* encoder.encodeEvent(event);
  yield encoder.end();
}

/**
 * Opens a recording. Lines may end with LF or CRLF; a byte order mark at the beginning is ignored.
 *
 * @throws ToolError `corrupt_record`, if the first line is not that of a recording of this version, as a rejection
 */
export function readRecording(source: RecordingSource): Promise<OpenRecording> {
  return openRecording(source, sha256);
}

/** Reads a complete recording at once. @throws ToolError `corrupt_record` */
export function parseRecording(text: string): { readonly header: RecordingHeader; readonly events: readonly SessionEvent[] } {
  return parseLines(text, sha256);
}
