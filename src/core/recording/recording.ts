/**
 * A session's events as a file of JSON Lines that notices what was done to it.
 *
 * The first line says whose recording it is, the last how many events it has. In between are the events, and before an
 * event the texts of 1,024 bytes or more that it is the first to need, each under its SHA-256; images, audio and system messages always
 * are there. Every line ends with the SHA-256 over itself and all lines before it: a file that was cut, edited or put
 * in another order is read up to that place. A writer of the file can also compute the sums: they show damage, not forgery.
 */
import type { SessionEvent } from "../event.ts";
import { RecordingDecoder } from "./decoder.ts";
import { RecordingEncoder } from "./encoder.ts";
import { MAX_LINE_CHARS, type RecordingHeader } from "./format.ts";

/** Text in pieces of any length, or whole. */
export type RecordingSource = string | Iterable<string> | AsyncIterable<string>;

/** A recording that is being read. */
export interface OpenRecording {
  readonly header: RecordingHeader;
  /** To be read once; leaving early closes the source. Throws at the damage, after every event before it. */
  readonly events: AsyncIterable<SessionEvent>;
}

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
export async function readRecording(source: RecordingSource): Promise<OpenRecording> {
  const decoder = new RecordingDecoder();
  const lines = linesOf(source, decoder);
  try {
    const first = await lines.next();
    const header = decoder.start(first.done === true ? undefined : first.value);
    return { header, events: readEvents(lines, decoder) };
  } catch (error: unknown) {
    await lines.return();
    throw error;
  }
}

/** A whole recording at once. @throws ToolError `corrupt_record` */
export function parseRecording(text: string): { readonly header: RecordingHeader; readonly events: readonly SessionEvent[] } {
  const decoder = new RecordingDecoder();
  const splitter = new LineSplitter(decoder);
  const lines = linesOfText(text, splitter);
  const first = lines.next();
  const header = decoder.start(first.done === true ? undefined : first.value);
  const events: SessionEvent[] = [];
  for (const line of lines) {
    const event = decoder.next(line);
    if (event !== undefined) events.push(event);
  }
  decoder.finish();
  return { header, events };
}

async function* readEvents(
  lines: AsyncGenerator<string, void, undefined>,
  decoder: RecordingDecoder,
): AsyncGenerator<SessionEvent, void, undefined> {
  for await (const line of lines) {
    const event = decoder.next(line);
    if (event !== undefined) yield event;
  }
  decoder.finish();
}

async function* linesOf(source: RecordingSource, decoder: RecordingDecoder): AsyncGenerator<string, void, undefined> {
  const splitter = new LineSplitter(decoder);
  for await (const chunk of typeof source === "string" ? [source] : source) yield* splitter.push(chunk);
  yield* splitter.rest();
}

function* linesOfText(text: string, splitter: LineSplitter): Generator<string, void, undefined> {
  yield* splitter.push(text);
  yield* splitter.rest();
}

/** Cuts text into lines, however it is cut into pieces, and keeps no more than one line. */
class LineSplitter {
  readonly #decoder: RecordingDecoder;
  #line = "";
  #started = false;

  constructor(decoder: RecordingDecoder) {
    this.#decoder = decoder;
  }

  *push(chunk: string): Generator<string, void, undefined> {
    let start = 0;
    if (!this.#started && chunk !== "") {
      this.#started = true;
      if (chunk.startsWith("\ufeff")) start = 1;
    }
    for (let end = chunk.indexOf("\n", start); end >= 0; end = chunk.indexOf("\n", start)) {
      this.#extend(chunk.slice(start, end));
      yield this.#take();
      start = end + 1;
    }
    this.#extend(chunk.slice(start));
  }

  *rest(): Generator<string, void, undefined> {
    if (this.#line !== "") yield this.#take();
  }

  #extend(text: string): void {
    if (this.#line.length + text.length > MAX_LINE_CHARS) throw this.#decoder.tooLong();
    this.#line += text;
  }

  #take(): string {
    const line = this.#line;
    this.#line = "";
    return line.endsWith("\r") ? line.slice(0, -1) : line;
  }
}
