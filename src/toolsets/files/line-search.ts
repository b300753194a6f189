/** Finds the lines of one file that match a pattern, with context lines. */
import { pushAll } from "../../core/collections/push-all.ts";
import { StringDecoder } from "node:string_decoder";
import type { LinearPattern } from "../../schema/pattern/pattern.ts";
import { HEAD_BYTES, findBinaryReason, detectWideEncoding } from "./detect-binary.ts";
import { yieldToEventLoop, readFilePieces } from "./file-bytes.ts";
import { withoutByteOrderMark } from "./json-file.ts";
import type { OpenFile } from "./open-resolved-path.ts";
import { cutLine } from "./line-window.ts";

/** Maximum number of characters of a line that are searched, so that no file blocks the program. */
export const MAX_SEARCHED_CHARS = 10_000;
const MAX_SHOWN_CHARS = 500;
/** About 10 ms of matching. */
const STEPS_PER_TURN = 100_000;

export interface FoundLine {
  /** The line number, from 1. */
  readonly line: number;
  readonly text: string;
  /** False for a context line. */
  readonly matched: boolean;
}

export interface SearchOptions {
  readonly pattern: LinearPattern;
  /** Number of context lines before and after each match. */
  readonly context: number;
  /** Maximum number of matches in this file. */
  readonly limit: number;
}

export class LineSearch {
  readonly found: FoundLine[] = [];
  matches = 0;
  /** The encoding of a file that is not searched because it is not UTF-8. */
  otherEncoding: string | undefined;
  /** Why the file is not searched: it is not text. */
  binaryReason: string | undefined;
  /** Number of lines without a match in their first `MAX_SEARCHED_CHARS` characters, whose rest was not searched. */
  cutLines = 0;
  /** Steps of the pattern since the caller last set this to 0. */
  steps = 0;
  readonly #options: SearchOptions;
  #line = 0;
  #contextBefore: FoundLine[] = [];
  #contextLeft = 0;

  constructor(options: SearchOptions) {
    this.#options = options;
  }

  /** True if all wanted matches and the context lines after the last one were found. */
  get done(): boolean {
    return this.matches >= this.#options.limit && this.#contextLeft === 0;
  }

  /** @param isWhole whether `given` is the whole line, not only its beginning */
  searchLine(given: string, isWhole: boolean = true): void {
    const { pattern, context, limit } = this.#options;
    this.#line++;
    const whole = this.#line === 1 ? withoutByteOrderMark(given) : given;
    const text = whole.slice(0, MAX_SEARCHED_CHARS);
    this.steps += 1 + pattern.stepsPerTest + text.length * pattern.stepsPerCharacter;
    const matched = this.matches < limit && pattern.test(text.endsWith("\r") ? text.slice(0, -1) : text);
    if (!matched && whole.length > MAX_SEARCHED_CHARS) this.cutLines++;
    if (matched) this.#match(whole, isWhole);
    else if (this.#contextLeft > 0) {
      this.#contextLeft--;
      this.found.push(this.#show(whole, { isWhole, matched: false }));
    } else if (context > 0) {
      if (this.#contextBefore.length >= context) this.#contextBefore.shift();
      this.#contextBefore.push(this.#show(whole, { isWhole, matched: false }));
    }
  }

  #match(whole: string, isWhole: boolean): void {
    this.matches++;
    if (this.#contextBefore.length > 0) pushAll(this.found, this.#contextBefore);
    this.#contextBefore = [];
    this.found.push(this.#show(whole, { isWhole, matched: true }));
    this.#contextLeft = this.#options.context;
  }

  #show(text: string, { isWhole, matched }: { readonly isWhole: boolean; readonly matched: boolean }): FoundLine {
    const length = isWhole ? `${Buffer.byteLength(text)} bytes in all` : "total length unknown";
    return { line: this.#line, text: cutLine(text, length, MAX_SHOWN_CHARS), matched };
  }
}

/** Searches a file until its end, `limit` matches or `maxBytes`, and skips it if it is binary or UTF-16. Returns how many bytes it read. */
export async function searchFile(
  search: LineSearch,
  file: OpenFile,
  { signal, maxBytes }: { readonly signal: AbortSignal; readonly maxBytes: number },
): Promise<number> {
  const decoder = new StringDecoder("utf8");
  let bytes = 0;
  let rest = "";
  let skipping = false; // the rest of a line whose first part was already searched
  for await (const piece of readFilePieces(file, signal)) {
    if (bytes === 0 && !isSearchable(search, piece)) return piece.length;
    bytes += piece.length;
    const text = rest + decoder.write(piece);
    let from = skipping ? text.indexOf("\n") + 1 : 0;
    if (skipping && from === 0) {
      if (bytes >= maxBytes) return bytes;
      continue;
    }
    skipping = false;
    for (let end = text.indexOf("\n", from); end >= 0; end = text.indexOf("\n", from)) {
      search.searchLine(text.slice(from, end));
      if (search.done) return bytes;
      from = end + 1;
      if (search.steps > STEPS_PER_TURN) {
        search.steps = 0;
        await yieldToEventLoop(signal);
      }
    }
    if (bytes >= maxBytes) return bytes;
    rest = text.slice(from);
    skipping = rest.length > MAX_SEARCHED_CHARS;
    if (!skipping) continue;
    search.searchLine(rest, false);
    rest = "";
  }
  if (rest !== "") search.searchLine(rest);
  return bytes;
}

function isSearchable(search: LineSearch, first: Buffer): boolean {
  search.otherEncoding = detectWideEncoding(first.subarray(0, HEAD_BYTES));
  if (search.otherEncoding === undefined) search.binaryReason = findBinaryReason("", first);
  return search.otherEncoding === undefined && search.binaryReason === undefined;
}
