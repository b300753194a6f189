/** Selects numbered lines from a file that is read in pieces, in bounded memory. */
import { isUtf8 } from "node:buffer";

export const MAX_LINE_CHARS = 2000;
const MAX_SHOWN_BYTES = 200_000;
/** Maximum length of a line, in bytes. A longer line is not text, and its end is not searched for. */
export const MAX_LINE_BYTES = 256 * 1024 * 1024;
/** Enough bytes for 2,000 UTF-16 units in any script. */
const MAX_PART_BYTES = MAX_LINE_CHARS * 4;

export class LineWindow {
  /** Lines such as `    12\ttext`, in order. */
  readonly lines: string[] = [];
  /** The first requested line that was left out because 200 kB were reached. */
  stoppedAt: number | undefined;
  /** Whether a shown line has bytes that are not UTF-8, in place of which U+FFFD is shown. */
  hasOtherBytes = false;
  readonly #first: number;
  readonly #last: number;
  #line = 1;
  #shownBytes = 0;
  #parts: Buffer[] = [];
  #partBytes = 0;
  #lineBytes = 0;

  /** @param first the number of the first line, from 1 */
  constructor(first: number, count: number) {
    this.#first = first;
    this.#last = first + count - 1;
  }

  /** True if no later line can be shown. */
  get isFull(): boolean {
    return this.stoppedAt !== undefined || this.#line > this.#last;
  }

  /** The number of a line that is longer than `MAX_LINE_BYTES`. */
  get overlongLine(): number | undefined {
    return this.#lineBytes > MAX_LINE_BYTES ? this.#line : undefined;
  }

  /** Number of lines so far. */
  get count(): number {
    return this.#lineBytes === 0 ? this.#line - 1 : this.#line;
  }

  add(piece: Buffer): void {
    for (let from = 0; from < piece.length;) {
      const found = piece.indexOf(0x0a, from);
      const end = found < 0 ? piece.length : found;
      this.#appendPart(piece, from, end);
      if (found < 0) return;
      this.#endLine();
      from = end + 1;
    }
  }

  /** Ends a last line that has no line end. */
  finish(): void {
    if (this.#lineBytes > 0) this.#showLine();
  }

  #appendPart(piece: Buffer, from: number, end: number): void {
    this.#lineBytes += end - from;
    if (!this.#isShownLine || this.#partBytes >= MAX_PART_BYTES) return;
    const part = Buffer.from(piece.subarray(from, Math.min(end, from + MAX_PART_BYTES - this.#partBytes)));
    this.#parts.push(part);
    this.#partBytes += part.length;
  }

  #endLine(): void {
    this.#showLine();
    this.#line++;
    this.#lineBytes = 0;
    this.#partBytes = 0;
    if (this.#parts.length > 0) this.#parts = [];
  }

  get #isShownLine(): boolean {
    return this.#line >= this.#first && this.#line <= this.#last && this.stoppedAt === undefined;
  }

  #showLine(): void {
    if (!this.#isShownLine) return;
    const bytes = Buffer.concat(this.#parts, this.#partBytes);
    const text = bytes.toString("utf8");
    const length = this.overlongLine === undefined ? `${this.#lineBytes} bytes in all` : "total length unknown";
    const line = `${String(this.#line).padStart(6)}\t${cutLine(text, length, MAX_LINE_CHARS)}`;
    this.#shownBytes += Buffer.byteLength(line) + 1;
    if (this.#shownBytes > MAX_SHOWN_BYTES) this.stoppedAt = this.#line;
    else {
      this.lines.push(line);
      if (this.#partBytes === this.#lineBytes && !isUtf8(bytes)) this.hasOtherBytes = true; // else the cut may be in a character
    }
  }
}

/** Returns a line as shown: without its carriage return, cut at `maxChars` with a note of its full length. */
export function cutLine(text: string, length: string, maxChars: number): string {
  const line = text.endsWith("\r") ? text.slice(0, -1) : text;
  if (line.length <= maxChars) return line;
  return `${line.slice(0, maxChars).toWellFormed()}… (line cut; ${length})`;
}
