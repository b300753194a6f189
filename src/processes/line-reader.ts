/** Splits a byte stream into lines, and skips those that are too long to be a message. */

/** Longest message that is accepted from a server, in bytes. */
export const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
/** Longest skipped line, in bytes; a longer one is treated as endless. */
const MAX_SKIPPED_BYTES = 8 * MAX_MESSAGE_BYTES;

/** Number of bytes kept from each end of a line that is too long. */
export const EDGE_LENGTH = 1_000;

const NEWLINE = 0x0a;

export interface LineListener {
  line(line: string): void;
  /** Called with the beginning and the end of a line that was too long to keep. It is not a message if it begins with anything other than `{`. */
  longLine(edges: string): void;
}

export class LineReader {
  readonly #listener: LineListener;
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #bytes = 0;
  /** The beginning and the latest bytes of a line that is being skipped. */
  #edges: { readonly head: string; tail: Buffer } | undefined;

  constructor(listener: LineListener, maxBytes: number = MAX_MESSAGE_BYTES) {
    this.#listener = listener;
    this.#maxBytes = maxBytes;
  }

  /** Takes the next bytes and passes on each completed line. Returns false if the current line is too long and either not a message or endless. */
  push(chunk: Buffer): boolean {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      if (!this.#add(chunk.subarray(start, end))) return false;
      this.#end();
      start = end + 1;
    }
    return this.#add(chunk.subarray(start));
  }

  #add(part: Buffer): boolean {
    this.#bytes += part.length;
    if (this.#edges !== undefined) {
      this.#edges.tail = lastBytes([this.#edges.tail, part]);
      return this.#bytes <= MAX_SKIPPED_BYTES;
    }
    if (part.length > 0) this.#parts.push(part);
    if (this.#bytes <= this.#maxBytes) return true;
    const head = textOf(Buffer.concat(this.#parts).subarray(0, EDGE_LENGTH));
    this.#edges = { head, tail: lastBytes(this.#parts) };
    this.#parts = [];
    return head.startsWith("{");
  }

  #end(): void {
    const edges = this.#edges;
    const line = edges === undefined ? this.#take() : "";
    this.#parts = [];
    this.#bytes = 0;
    this.#edges = undefined;
    if (edges !== undefined) this.#listener.longLine(edges.head + edges.tail.toString("utf8"));
    else if (line !== "") this.#listener.line(line);
  }

  #take(): string {
    const line = this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts, this.#bytes);
    return line === undefined ? "" : textOf(line);
  }
}

/** Decodes a line, without the byte order mark and carriage return that some servers write. */
function textOf(bytes: Buffer): string {
  const text = bytes.toString("utf8");
  return text.startsWith("\uFEFF") ? text.slice(1).trim() : text.trim();
}

function lastBytes(parts: readonly Buffer[]): Buffer {
  const last = parts.at(-1);
  if (last !== undefined && last.length >= EDGE_LENGTH) return Buffer.from(last.subarray(-EDGE_LENGTH));
  return Buffer.from(Buffer.concat(parts).subarray(-EDGE_LENGTH));
}
