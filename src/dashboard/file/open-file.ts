/** Opens a recording of Haft, or conversations of OpenAI, Anthropic or Gemini. Sends nothing; keeps the readable parts of a damaged file. */
import { isJsonObject, type JsonValue } from "../../core/base/json.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { ToolError } from "../../core/error.ts";
import { RecordingDecoder } from "../../core/recording/decoder.ts";
import { LineSplitter } from "../../core/recording/line-splitter.ts";
import { waitForNextTask, SLICE_MS } from "../show/next-task.ts";
import { formatCount } from "../show/format.ts";
import type { LogEvent } from "../server/log-event.ts";
import { SessionLog } from "../timeline/session-log.ts";
import { createConversationLog } from "./conversation-log.ts";
import { findTurns } from "./parse-conversation.ts";
import { sha256 } from "./sha256.ts";

/** One session or conversation of a file. */
export interface FilePart {
  readonly name: string;
  readonly log: SessionLog;
}

export interface OpenedFile {
  readonly name: string;
  readonly kind: "recording" | "conversation";
  readonly parts: readonly FilePart[];
  /** The first places that could not be read. */
  readonly problems: readonly string[];
  /** Whether the whole file was read. */
  readonly isWhole: boolean;
}

export interface FileSource {
  readonly name: string;
  readonly pieces: AsyncIterable<string>;
}

/** Maximum size of a conversation, which is read as a whole. A recording is read line by line. */
const MAX_CHARS = 64 * 1024 * 1024;
const MAX_RECORDING_CHARS = 1024 * 1024 * 1024;
const MAX_PARTS = 1_000;
const MAX_PROBLEMS = 20;
const LIMITS = { maxChars: MAX_CHARS, maxDepth: 256, maxNodes: 8_000_000, longIntegers: "round" } as const;
/** Maximum number of characters to look at for the kind of a file, including spaces at its beginning. */
const MAX_START = 1024 * 1024;

const HINT =
  "It may be a recording of Haft (JSON Lines), or JSON or JSON Lines with messages of OpenAI or Anthropic, items of OpenAI's Responses, or contents of Gemini.";

/** Yields the file repeatedly, as far as it was read. Never throws: errors are among the problems. */
export async function* openFile({ name, pieces }: FileSource, signal: AbortSignal): AsyncGenerator<OpenedFile, void, undefined> {
  let start = "";
  const iterator = pieces[Symbol.asyncIterator]();
  try {
    while (start.length < MAX_START && start.trimStart().length < 32) {
      const next = await iterator.next();
      if (next.done === true) break;
      start += next.value;
    }
    const all = prependStart(start, iterator, signal);
    if (/^\ufeff?\s*\{\s*"haft"\s*:/u.test(start)) yield* readRecording(name, all);
    else yield parseConversations(name, await readText(all));
  } catch (thrown: unknown) {
    yield { name, kind: "conversation", parts: [], problems: [formatProblem(thrown)], isWhole: true };
  } finally {
    await iterator.return?.();
  }
}

async function* readRecording(name: string, pieces: AsyncIterable<string>): AsyncGenerator<OpenedFile, void, undefined> {
  const log = new SessionLog();
  const part = { name, log };
  const toOpenedFile = (isWhole: boolean, problems: readonly string[] = []): OpenedFile => ({
    name,
    kind: "recording",
    parts: [part],
    problems,
    isWhole,
  });
  const decoder = new RecordingDecoder(sha256);
  const lines = new LineSplitter(decoder);
  let isStarted = false;
  const readLine = (line: string | undefined): void => {
    if (!isStarted) {
      part.name = decoder.start(line).sessionId;
      isStarted = true;
    } else if (line !== undefined) addEvent(log, decoder.next(line));
  };
  try {
    let sliceAt = performance.now();
    for await (const piece of pieces)
      for (const line of lines.push(piece)) {
        readLine(line);
        if (performance.now() - sliceAt < SLICE_MS) continue;
        yield toOpenedFile(false);
        await waitForNextTask(); // lets the page render, and handle keys
        sliceAt = performance.now();
      }
    for (const line of lines.flush()) readLine(line);
    if (!isStarted) readLine(undefined);
    decoder.finish();
    yield toOpenedFile(true);
  } catch (thrown: unknown) {
    yield toOpenedFile(true, [formatProblem(thrown)]);
  }
}

function addEvent(log: SessionLog, event: LogEvent | undefined): void {
  if (event === undefined) return;
  log.add(event);
  log.endAt = Math.max(log.endAt ?? event.at, event.at);
}

function parseConversations(name: string, text: string): OpenedFile {
  const { values, problems } = parseValues(text);
  const lists: { readonly turns: readonly JsonValue[]; readonly name: string }[] = [];
  const single: JsonValue[] = [];
  for (const { value, line } of values) {
    const turns = findTurns(value);
    if (turns === undefined) problems.push(line === undefined ? formatUnknownContent() : `Line ${line}: no messages were found.`);
    // In JSON Lines a line is either one message or a whole conversation.
    else if (line !== undefined && turns.length === 1 && turns[0] === value) single.push(value);
    else lists.push({ turns, name: line === undefined ? name : formatTitle(value, `Line ${formatCount(line)}`) });
  }
  if (single.length > 0) lists.unshift({ turns: single, name });
  if (lists.length > MAX_PARTS)
    problems.push(`The file has ${formatCount(lists.length)} conversations; the first ${formatCount(MAX_PARTS)} are shown.`);
  const parts = lists.slice(0, MAX_PARTS).map((list) => ({ name: list.name, log: createConversationLog(list.turns, list.name) }));
  const more = problems.length - MAX_PROBLEMS;
  return {
    name,
    kind: "conversation",
    parts,
    problems: more > 0 ? [...problems.slice(0, MAX_PROBLEMS), `There are ${formatCount(more)} more such places.`] : problems,
    isWhole: true,
  };
}

interface ParsedValues {
  readonly values: readonly { readonly value: JsonValue; readonly line: number | undefined }[];
  readonly problems: string[];
}

/** Parses one JSON value, or one on each line. */
function parseValues(text: string): ParsedValues {
  try {
    return { values: [{ value: parseJson(text, LIMITS), line: undefined }], problems: [] };
  } catch (thrown: unknown) {
    const lines = text.split("\n");
    const filled = lines.filter((line) => line.trim() !== "");
    if (filled.length < 2 || !filled.slice(0, 3).some(isJsonObjectText)) return { values: [], problems: [formatProblem(thrown)] };
    return parseLines(lines);
  }
}

function parseLines(lines: readonly string[]): ParsedValues {
  const values: { readonly value: JsonValue; readonly line: number }[] = [];
  const problems: string[] = [];
  for (const [index, line] of lines.entries()) {
    if (line.trim() === "") continue;
    try {
      values.push({ value: parseJson(line, LIMITS), line: index + 1 });
    } catch (thrown: unknown) {
      problems.push(formatProblem(thrown).replace(/\bline 1\b/u, `line ${index + 1}`));
    }
  }
  return { values, problems };
}

function isJsonObjectText(line: string): boolean {
  try {
    return isJsonObject(parseJson(line, LIMITS));
  } catch {
    return false;
  }
}

/** Returns a name with the title or id that a file of several conversations has for this one. */
function formatTitle(value: JsonValue, otherwise: string): string {
  const { title, id, conversation_id: conversationId } = isJsonObject(value) ? value : {};
  const found = [title, id, conversationId].find((one) => typeof one === "string" && one !== "");
  return typeof found === "string" ? `${otherwise}: ${found.slice(0, 80)}` : otherwise;
}

async function* prependStart(start: string, rest: AsyncIterator<string>, signal: AbortSignal): AsyncGenerator<string, void, undefined> {
  let length = start.length;
  yield start;
  for (;;) {
    signal.throwIfAborted();
    const next = await rest.next();
    if (next.done === true) return;
    length += next.value.length;
    if (length > MAX_RECORDING_CHARS) throw tooLargeError("a recording", MAX_RECORDING_CHARS);
    yield next.value;
  }
}

async function readText(pieces: AsyncIterable<string>): Promise<string> {
  const texts: string[] = [];
  let length = 0;
  for await (const piece of pieces) {
    length += piece.length;
    if (length > MAX_CHARS) throw tooLargeError("a conversation", MAX_CHARS);
    texts.push(piece);
  }
  const text = texts.join("").replace(/^\ufeff/u, "");
  if (text.trim() === "") throw new ToolError("invalid_argument", "The file is empty.", { hint: HINT });
  return text;
}

function tooLargeError(what: string, most: number): ToolError {
  return new ToolError(
    "too_large",
    `The file is larger than ${formatCount(most / 1024 / 1024)} Mi characters, the most that ${what} may have here.`,
  );
}

function formatUnknownContent(): string {
  return `The file is JSON, but contains nothing that this page can read. ${HINT}`;
}

function formatProblem(thrown: unknown): string {
  if (thrown instanceof TypeError) return "The file is not text in UTF-8.";
  const { message, hint } = ToolError.fromUnknown(thrown);
  return hint === undefined ? message : `${message} ${hint}`;
}
