/** Reads the lines of a recording as they arrive, on any platform: SHA-256 is passed in. */
import { ToolError } from "../error.ts";
import { checkArgument, checkString } from "../check-argument.ts";
import type { SessionEvent } from "../event.ts";
import type { Sha256 } from "./bodies.ts";
import { RecordingDecoder } from "./decoder.ts";
import type { RecordingHeader } from "./format.ts";
import { LineSplitter } from "./line-splitter.ts";

/** Text in chunks of any length, or as a whole. */
export type RecordingSource = string | Iterable<string> | AsyncIterable<string>;

/** A recording that is being read. */
export interface OpenRecording {
  readonly header: RecordingHeader;
  /** Can be iterated once; leaving the loop early closes the source. Throws where the recording is damaged, after all events before that. */
  readonly events: AsyncIterable<SessionEvent>;
}

/**
 * Opens a recording. Lines may end with LF or CRLF; a byte order mark at the beginning is ignored.
 *
 * @throws ToolError `corrupt_record`, if the first line is not that of a recording of this version, as a rejection
 */
export async function openRecording(source: RecordingSource, sha256: Sha256): Promise<OpenRecording> {
  const decoder = new RecordingDecoder(sha256);
  const lines = readLines(source, decoder);
  try {
    const first = await lines.next();
    const header = decoder.start(first.done === true ? undefined : first.value);
    return { header, events: readEvents(lines, decoder) };
  } catch (error: unknown) {
    await lines.return();
    throw error;
  }
}

/** Reads a whole recording. @throws ToolError `corrupt_record` */
export function parseLines(text: string, sha256: Sha256): { readonly header: RecordingHeader; readonly events: readonly SessionEvent[] } {
  checkString(text, "parseRecording()", "the text of a recording");
  const decoder = new RecordingDecoder(sha256);
  const splitter = new LineSplitter(decoder);
  const lines = splitLines(text, splitter);
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

async function* readLines(source: RecordingSource, decoder: RecordingDecoder): AsyncGenerator<string, void, undefined> {
  const fits = typeof source === "string" || (typeof source === "object" && source !== null && isIterable(source));
  checkArgument(fits, "The reader of a recording", "its text, or a stream of text", source, TEXT_STREAM);
  const splitter = new LineSplitter(decoder);
  for await (const chunk of typeof source === "string" ? [source] : source) {
    checkTextChunk(chunk);
    yield* splitter.push(chunk);
  }
  yield* splitter.flush();
}

/** Refuses chunks that are not text: a Node stream without an encoding yields bytes, whatever its type says. @throws ToolError `invalid_argument` */
function checkTextChunk(chunk: unknown): void {
  if (typeof chunk === "string") return;
  throw new ToolError("invalid_argument", "A recording is read as text, and this stream gives something else.", {
    hint: TEXT_STREAM,
  });
}

const TEXT_STREAM = 'Give the stream an encoding: createReadStream(path, "utf8").';

function isIterable(source: object): boolean {
  return Symbol.asyncIterator in source || Symbol.iterator in source;
}

function* splitLines(text: string, splitter: LineSplitter): Generator<string, void, undefined> {
  yield* splitter.push(text);
  yield* splitter.flush();
}
