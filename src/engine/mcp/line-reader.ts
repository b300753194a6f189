/** Cuts a byte stream into lines, and says when one is too long to be a message. */

/** The longest message taken from a server, in bytes. */
export const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;

const NEWLINE = 0x0a;

export class LineReader {
  readonly #onLine: (line: string) => void;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  /** Takes the next bytes and hands on each line they complete; false when the line under way has grown too long. */
  push(chunk: Buffer): boolean {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      if (!this.#add(chunk.subarray(start, end))) return false;
      const line = this.#take();
      if (line !== "") this.#onLine(line);
      start = end + 1;
    }
    return this.#add(chunk.subarray(start));
  }

  #add(part: Buffer): boolean {
    this.#bytes += part.length;
    if (this.#bytes > MAX_MESSAGE_BYTES) return false;
    if (part.length > 0) this.#parts.push(part);
    return true;
  }

  /** The line as text, without the byte order mark and carriage return that some servers write. */
  #take(): string {
    const line = this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts, this.#bytes);
    this.#parts = [];
    this.#bytes = 0;
    const text = line?.toString("utf8") ?? "";
    return text.startsWith("\uFEFF") ? text.slice(1).trim() : text.trim();
  }
}
