/**
 * A session's events as a file of JSON Lines that notices what was done to it.
 *
 * The first line says whose recording it is, the last how many events it has. In between are the events, and before an
 * event the texts of 1,024 bytes or more that it is the first to need, each under its SHA-256; images, audio and system messages always
 * are there. Every line ends with the SHA-256 over itself and all lines before it: a file that was cut, edited or put
 * in another order is read up to that place. A writer of the file can also compute the sums: they show damage, not forgery.
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
 * Writes a recording, a line at a time; each line ends with a line feed.
 *
 * Takes no more memory than one event and the hashes of the last bodies. Values come back as they were, with the one
 * exception that JSON has: `-0` comes back as `0`.
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
  for await (const event of events) yield* encoder.event(event);
  yield encoder.end();
}

/**
 * Opens a recording. Lines may end with LF or CRLF; a byte order mark before the first is ignored.
 *
 * @throws ToolError `corrupt_record` by rejecting, when the first line is not that of a recording of this version
 */
export function readRecording(source: RecordingSource): Promise<OpenRecording> {
  return openRecording(source, sha256);
}

/** A whole recording at once. @throws ToolError `corrupt_record` */
export function parseRecording(text: string): { readonly header: RecordingHeader; readonly events: readonly SessionEvent[] } {
  return parseLines(text, sha256);
}
