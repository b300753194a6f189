/** The output of a job, as far as it is kept: the newest part. Positions count from the first character ever written. */
import { detachText } from "../../core/base/detach-text.ts";
import type { JobOutput, ReadJobOptions } from "../../core/jobs/job-status.ts";

const DEFAULT_MAX_CHARS = 65_536;
const PREVIEW_CHARS = 200;
/**
 * Maximum size of joined pieces, in UTF-16 units; small pieces are joined, so that a tool that writes single characters costs no array of characters.
 */
const PIECE_CHARS = 8_192;

export class JobOutputBuffer {
  readonly #maxChars: number;
  #pieces: string[] = [];
  /** Position of the first character that is kept. */
  #first = 0;
  #total = 0;
  #lines = 0;
  #endsLine = true;

  /** @param maxChars how much is kept, in UTF-16 units; up to one more piece while it is written */
  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  /** Number of characters and lines that were written; an unfinished last line counts. */
  get written(): { readonly chars: number; readonly lines: number } {
    return { chars: this.#total, lines: this.#lines + (this.#endsLine ? 0 : 1) };
  }

  /** Number of characters that are kept. */
  get keptChars(): number {
    return this.#total - this.#first;
  }

  get preview(): string {
    const end = this.#pieces.slice(-2).join(""); // two adjacent pieces are always longer than one full piece
    return end.slice(alignStart(end, Math.max(0, end.length - PREVIEW_CHARS)));
  }

  write(text: string): void {
    if (text === "") return;
    this.#total += text.length;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) this.#lines++;
    this.#endsLine = text.endsWith("\n");
    const last = this.#pieces.at(-1);
    if (last !== undefined && last.length + text.length <= PIECE_CHARS) this.#pieces[this.#pieces.length - 1] = last + detachText(text);
    else this.#add(text);
    this.#drop();
  }

  /** Starts new pieces with a text; of a long text, only the end is kept. */
  #add(text: string): void {
    const last = this.#pieces.length - 1;
    if (last >= 0) this.#pieces[last] = detachText(this.#pieces[last] ?? ""); // many small strings become one
    let at = Math.max(0, text.length - this.#maxChars);
    if (at > 0) {
      this.#pieces = [];
      this.#first = this.#total - text.length + at;
    }
    for (; at < text.length; at += PIECE_CHARS) this.#pieces.push(detachText(text.slice(at, at + PIECE_CHARS)));
  }

  read({ from = 0, tail, maxChars = DEFAULT_MAX_CHARS }: ReadJobOptions): JobOutput {
    const wanted = tail === undefined ? from : this.#total - Math.min(tail, maxChars);
    const start = Math.min(Math.max(wanted, this.#first), this.#total);
    const all = this.#pieces.join("");
    const begins = alignStart(all, start - this.#first);
    const ends = alignEnd(all, Math.min(all.length, begins + maxChars), begins);
    return { text: all.slice(begins, ends), from: this.#first + begins, next: this.#first + ends, total: this.#total };
  }

  #drop(): void {
    let dropped = 0;
    while (this.#pieces.length > dropped + 1 && this.keptChars - (this.#pieces[dropped]?.length ?? 0) >= this.#maxChars)
      this.#first += this.#pieces[dropped++]?.length ?? 0;
    if (dropped > 0) this.#pieces = this.#pieces.slice(dropped);
  }
}

/** Moves a start out of the middle of a surrogate pair. */
function alignStart(text: string, at: number): number {
  return isLowSurrogate(text, at) && at > 0 && !isLowSurrogate(text, at - 1) ? at + 1 : at;
}

/** Moves an end out of the middle of a surrogate pair, unless nothing would be left. */
function alignEnd(text: string, at: number, begins: number): number {
  return isLowSurrogate(text, at) && at - 1 > begins ? at - 1 : at;
}

/** Whether the unit at this position is the second one of a surrogate pair. */
export function isLowSurrogate(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff;
}
