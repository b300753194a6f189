/** Keeps results that were too large to show, and reads them piece by piece for `read_result`. */
import type { ContentPart } from "../../core/content.ts";
import { ToolError } from "../../core/error.ts";
import { formatJsonPath, type JsonValue } from "../../core/base/json.ts";
import { getChild, describeOutline, parseSteps, type JsonStep } from "../../core/base/json-steps.ts";
import { plural } from "../../core/base/wording.ts";
import { partText } from "../../core/result.ts";
import { mentionFiles } from "./artifact-parts.ts";
import { mapTexts, mayHaveDataUrls } from "./data-urls.ts";
import { createFinder } from "./find-text.ts";
import { estimateJsonBytes } from "./estimate-bytes.ts";

export interface ResultRequest {
  /** `$` path of the part to read, such as `$.items[3].name`. @default the whole result */
  readonly path?: string;
  /** Return only lines that contain this text, case-sensitively. At most 1,000 characters. */
  readonly grep?: string;
  /** The first line to read, counted from 0. @default 0 */
  readonly offset?: number;
  /** Maximum number of lines to return. @default 200 */
  readonly limit?: number;
}

/**
 * Some lines of a stored result. JSON is indented by one space per level; a line over 1,000 characters counts as several. The type and size of a
 * file replace its data URL.
 */
export interface ResultPage {
  readonly text: string;
  readonly totalLines: number;
  /** The first line shown, counted from 0; if nothing was found, the line where the search began. */
  readonly from: number;
  /** The last line shown; `from - 1` if there is none. */
  readonly to: number;
  /** The `offset` of the next page; undefined at the end. */
  readonly nextOffset?: number;
}

/** A result as the tool returned it. */
export interface WholeResult {
  readonly output: JsonValue | undefined;
  readonly content: readonly ContentPart[] | undefined;
}

interface StoredResult extends WholeResult {
  sessionId: string;
  readonly bytes: number;
}

const MAX_LINE_UNITS = 1_000;
const MAX_PAGE_UNITS = 16_000;
const DEFAULT_LIMIT = 200;
const LINE_BREAK = 0x0a;
const MAX_GREP_LENGTH = 1_000;
const MAX_PATH_LENGTH = 2_000;

/**
 * Full results by handle, each readable only by the session it belongs to.
 *
 * Holds about `maxBytes` in memory, plus the text that was read last. The oldest results are dropped first, whatever their session; the newest
 * is always kept. A handle is the call's id, so it never refers to another result.
 */
export class LargeResultStore {
  readonly #maxBytes: number;
  #bytes = 0;
  /** Oldest first. */
  readonly #results = new Map<string, StoredResult>();
  readonly #handles = new Map<string, Set<string>>();
  /** Dropped branches: their entries cannot be read any more and are evicted first. */
  readonly #droppedBranches = new Set<string>();
  /** Closed sessions whose entries a branch can still read; these entries are evicted first too. */
  readonly #closedSessions = new Set<string>();
  /** The session that each branch was forked from. */
  readonly #parents = new Map<string, string>();
  /** The text that was read last, so that a model that pages through a result has it formatted once. */
  #lastText: { readonly result: WholeResult; readonly path: string; readonly text: string } | undefined;

  /** @param options `maxBytes` defaults to 64 MiB. @throws ToolError `invalid_argument` */
  constructor(options: { readonly maxBytes?: number } = {}) {
    const maxBytes = options.maxBytes ?? 64 * 1024 * 1024;
    if (!(maxBytes >= 0))
      throw new ToolError("invalid_argument", `A large result store's maxBytes must be a number of at least 0, not ${String(maxBytes)}.`);
    this.#maxBytes = maxBytes;
  }

  /** Stores a result and returns its handle. */
  store(sessionId: string, callId: string, output: JsonValue | undefined, content: readonly ContentPart[] | undefined): string {
    this.#drop(callId);
    this.#closedSessions.delete(sessionId); // the session was resumed
    const result: StoredResult = { sessionId, output, content, bytes: estimateJsonBytes(output) + estimateJsonBytes(content) };
    this.#results.set(callId, result);
    this.#bytes += result.bytes;
    let handles = this.#handles.get(sessionId);
    if (handles === undefined) this.#handles.set(sessionId, (handles = new Set()));
    handles.add(callId);
    for (const ended of [this.#droppedBranches, this.#closedSessions])
      for (const id of ended) {
        if (this.#bytes <= this.#maxBytes) break;
        for (const handle of this.#handles.get(id) ?? []) this.#drop(handle);
      }
    for (const oldest of this.#results.keys()) {
      if (this.#bytes <= this.#maxBytes || oldest === callId) break;
      this.#drop(oldest);
    }
    return callId;
  }

  /**
   * Reads a page of a stored result, at most about 16,000 characters.
   *
   * @throws ToolError `not_found` for a handle that is unknown, evicted or of another session, and for a path that does not exist;
   * `invalid_input` for an invalid request
   */
  read(sessionId: string, handle: string, request: ResultRequest): ResultPage {
    const result = this.find(sessionId, handle);
    if (result === undefined) {
      throw new ToolError("not_found", `No result is kept under the handle ${JSON.stringify(handle.slice(0, 100))}.`, {
        hint:
          "Use the handle exactly as the cut result names it. Old results are dropped after a while: call the tool again for a fresh one. " +
          "A result that another server has cut is read with the tool of that server whose name ends in read_result.",
      });
    }
    const offset = checkInteger("offset", request.offset ?? 0, 0);
    const limit = checkInteger("limit", request.limit ?? DEFAULT_LIMIT, 1);
    const grep = request.grep ?? "";
    if (grep.length > MAX_GREP_LENGTH)
      throw new ToolError("invalid_input", `"grep" has ${grep.length} characters; ${MAX_GREP_LENGTH} is the limit.`);
    return readPage(this.#formatCached(result, request.path ?? ""), grep, offset, limit);
  }

  has(sessionId: string, handle: string): boolean {
    return this.find(sessionId, handle) !== undefined;
  }

  /** Returns the result as the tool returned it; undefined if the session cannot read the handle. */
  find(sessionId: string, handle: string): WholeResult | undefined {
    const result = this.#results.get(handle);
    return result !== undefined && this.#mayRead(sessionId, result) ? result : undefined;
  }

  /** Lets a branch read the results of its session. */
  share(sessionId: string, branchId: string): void {
    this.#parents.set(branchId, sessionId);
  }

  /** Reverts `share`. The branch's own results can be adopted until their space is needed. */
  unshare(branchId: string): void {
    this.#detachFromParent(branchId);
    if (this.#handles.has(branchId)) this.#droppedBranches.add(branchId);
  }

  /** Moves the results of a branch to the session it was merged into. Its own branches then belong to that session. */
  adopt(branchId: string, sessionId: string): void {
    this.#droppedBranches.delete(branchId);
    for (const [inner, outer] of this.#parents) if (outer === branchId) this.#parents.set(inner, sessionId);
    const adopted = this.#handles.get(branchId) ?? [];
    const handles = this.#handles.get(sessionId) ?? new Set<string>();
    for (const handle of adopted) {
      const result = this.#results.get(handle);
      if (result !== undefined) result.sessionId = sessionId;
      handles.add(handle);
    }
    this.#handles.delete(branchId);
    if (handles.size > 0) this.#handles.set(sessionId, handles);
  }

  /** Ends a session: its results are dropped once no branch can read them, or when space is needed. */
  close(sessionId: string): void {
    for (const outer of this.#parents.values()) if (outer === sessionId) return void this.#closedSessions.add(sessionId);
    this.forget(sessionId);
  }

  /** Drops all results of a session. */
  forget(sessionId: string): void {
    this.#closedSessions.delete(sessionId);
    for (const handle of this.#handles.get(sessionId) ?? []) this.#drop(handle);
    this.#detachFromParent(sessionId);
  }

  #detachFromParent(branchId: string): void {
    const parent = this.#parents.get(branchId);
    this.#parents.delete(branchId);
    if (parent !== undefined && this.#closedSessions.has(parent)) this.close(parent);
  }

  #mayRead(sessionId: string, result: StoredResult): boolean {
    if (this.#droppedBranches.has(result.sessionId)) return false;
    let reader: string | undefined = sessionId;
    while (reader !== undefined && reader !== result.sessionId) reader = this.#parents.get(reader);
    return reader !== undefined;
  }

  #formatCached(result: WholeResult, path: string): string {
    if (this.#lastText?.result !== result || this.#lastText.path !== path) {
      this.#lastText = { result, path, text: path === "" ? formatResult(result) : formatValue(followPath(result.output, path)) };
    }
    return this.#lastText.text;
  }

  #drop(handle: string): void {
    const result = this.#results.get(handle);
    if (result === undefined) return;
    this.#results.delete(handle);
    this.#bytes -= result.bytes;
    if (this.#lastText?.result === result) this.#lastText = undefined;
    const handles = this.#handles.get(result.sessionId);
    handles?.delete(handle);
    if (handles?.size !== 0) return;
    this.#handles.delete(result.sessionId);
    this.#droppedBranches.delete(result.sessionId);
  }
}

function checkInteger(name: string, value: number, minimum: number): number {
  if (Number.isSafeInteger(value) && value >= minimum) return value;
  throw new ToolError("invalid_input", `"${name}" must be an integer of at least ${minimum}, not ${String(value)}.`);
}

function formatResult(result: WholeResult): string {
  if (result.content === undefined) return formatValue(result.output ?? null);
  return result.content.map((part) => mentionFiles(partText(part))).join("\n");
}

/** Files are named: the lines of their base64 would be text. */
function formatValue(value: JsonValue): string {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 1);
  if (!mayHaveDataUrls(text)) return text;
  return typeof value === "string" ? mentionFiles(value) : JSON.stringify(mapTexts(value, mentionFiles), null, 1);
}

/** The lines of one page, collected in one pass over the whole text. */
class PageLines {
  readonly #offset: number;
  readonly #limit: number;
  readonly #lines: string[] = [];
  #room = MAX_PAGE_UNITS;
  #first = -1;
  #last = -1;
  #nextOffset: number | undefined;

  constructor(offset: number, limit: number) {
    this.#offset = offset;
    this.#limit = limit;
  }

  /** Whether the line is on the page. After the first line that did not fit, none is. */
  fits(line: number, units: number): boolean {
    if (line < this.#offset || this.#nextOffset !== undefined) return false;
    if (this.#lines.length < this.#limit && (this.#lines.length === 0 || units <= this.#room)) return true;
    this.#nextOffset = line;
    return false;
  }

  add(line: number, text: string): void {
    this.#lines.push(text);
    this.#room -= text.length + 1;
    if (this.#first < 0) this.#first = line;
    this.#last = line;
  }

  page(totalLines: number): ResultPage {
    const none = this.#first < 0;
    const page = {
      text: this.#lines.join("\n"),
      totalLines,
      from: none ? this.#offset : this.#first,
      to: none ? this.#offset - 1 : this.#last,
    };
    return this.#nextOffset === undefined ? page : { ...page, nextOffset: this.#nextOffset };
  }
}

/** Reads all lines once; each search continues where the previous one ended, so this is linear in the text. */
function readPage(text: string, grep: string, offset: number, limit: number): ResultPage {
  const lines = new PageLines(offset, limit);
  let lineCount = 0;
  const find = createFinder(grep);
  let match = grep === "" ? -1 : find(text, 0);
  for (let start = 0; start < text.length || lineCount === 0;) {
    const end = lineEnd(text, start);
    const next = text[end] === "\n" ? end + 1 : end;
    const line = lineCount++;
    if (grep === "") {
      if (lines.fits(line, end - start)) lines.add(line, text.slice(start, end));
    } else {
      if (match >= 0 && match < start) match = find(text, start);
      // a match that begins on this line may end on a later one: all of it is shown
      const shownEnd = Math.max(end, match + grep.length);
      if (match >= start && match < next && lines.fits(line, shownEnd - start)) lines.add(line, `${line}: ${text.slice(start, shownEnd)}`);
    }
    start = next;
  }
  if (offset >= lineCount) throw new ToolError("invalid_input", `"offset" is ${offset}, and the result has ${plural(lineCount, "line")}.`);
  return lines.page(lineCount);
}

/** Returns the end of the line that begins at `start`: its line break, or the last code point boundary within the maximum length. */
function lineEnd(text: string, start: number): number {
  const longest = Math.min(start + MAX_LINE_UNITS, text.length);
  let end = start;
  while (end < longest && text.charCodeAt(end) !== LINE_BREAK) end++;
  const splitsPair =
    end === longest && end < text.length && isLowSurrogate(text.charCodeAt(end)) && isHighSurrogate(text.charCodeAt(end - 1));
  return splitsPair ? end - 1 : end;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** Resolves a `$` path by own properties only. */
function followPath(output: JsonValue | undefined, path: string): JsonValue {
  if (output === undefined) throw new ToolError("invalid_input", 'The result is text, not JSON: read it without "path".');
  const steps = parsePath(path);
  let value: JsonValue = output;
  for (const [index, step] of steps.entries()) {
    const inside: JsonValue | undefined = getChild(value, step);
    if (inside === undefined) {
      throw new ToolError(
        "not_found",
        `${formatJsonPath(steps.slice(0, index + 1))} leads nowhere: ${formatJsonPath(steps.slice(0, index))} is ${describeOutline(value)}.`,
      );
    }
    value = inside;
  }
  return value;
}

/** Parses a path as `formatJsonPath` writes it. */
function parsePath(path: string): readonly JsonStep[] {
  const steps = path.startsWith("$") && path.length <= MAX_PATH_LENGTH ? parseSteps(path, 1) : undefined;
  if (steps !== undefined) return steps;
  throw new ToolError("invalid_input", `The path ${JSON.stringify(path.slice(0, 200))} cannot be read.`, {
    hint: 'Write it like $.items[3]["a key"].',
  });
}
