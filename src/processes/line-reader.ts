/** Splits a byte stream into lines, and skips those that are too long to be a message. */
import { ChunkBuffer } from "../core/formats/chunk-buffer.ts";

/** Longest message that is accepted from a server, in bytes. */
export const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
/** Longest skipped line, in bytes; a longer one is treated as endless. */
const MAX_SKIPPED_BYTES = 8 * MAX_MESSAGE_BYTES;

/** Number of bytes kept from each end of a line that is too long. */
export const EDGE_LENGTH = 1_000;

const NEWLINE = 0x0a;

export interface LineListener {
  onLine(line: string): void;
  /** Called with the beginning and the end of a line that was too long to keep. It is not a message if it begins with anything other than `{`. */
  onLongLine(edges: string): void;
}

export class LineReader {
  readonly #listener: LineListener;
  readonly #maxBytes: number;
  #parts = new ChunkBuffer();
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
      this.#edges.tail = lastBytes(part.length >= EDGE_LENGTH ? part : Buffer.concat([this.#edges.tail, part]));
      return this.#bytes <= MAX_SKIPPED_BYTES;
    }
    if (part.length > 0) this.#parts.add(part);
    if (this.#bytes <= this.#maxBytes) return true;
    const start = this.#parts.concat();
    const head = decodeLine(start.subarray(0, EDGE_LENGTH));
    this.#edges = { head, tail: lastBytes(start) };
    this.#parts = new ChunkBuffer();
    return head.startsWith("{");
  }

  #end(): void {
    const edges = this.#edges;
    const line = edges === undefined ? decodeLine(this.#parts.concat()) : "";
    this.#parts = new ChunkBuffer();
    this.#bytes = 0;
    this.#edges = undefined;
    if (edges !== undefined) this.#listener.onLongLine(edges.head + edges.tail.toString("utf8"));
    else if (line !== "") this.#listener.onLine(line);
  }
}

const UTF8 = new TextDecoder("utf-8");

/** Decodes a line, without the byte order mark and carriage return that some servers write. */
function decodeLine(bytes: Uint8Array): string {
  return UTF8.decode(bytes).trim();
}

/** Copies the last bytes, so that the rest can be freed. */
function lastBytes(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.subarray(-EDGE_LENGTH));
}
