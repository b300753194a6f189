/** Collects the chunks of a body or a line. */
import { Buffer } from "node:buffer";

/** The other side may send each byte as a chunk of its own, which takes a hundred times the memory: so many are joined as they come. */
const CHUNKS_PER_PIECE = 1_000;

/** Chunks of bytes, in order. */
export class ChunkBuffer {
  readonly #pieces: Uint8Array[] = [];
  #chunks: Uint8Array[] = [];

  add(chunk: Uint8Array): void {
    if (this.#chunks.push(chunk) < CHUNKS_PER_PIECE) return;
    this.#pieces.push(Buffer.concat(this.#chunks));
    this.#chunks = [];
  }

  concat(): Uint8Array {
    const [first] = this.#chunks;
    if (this.#pieces.length === 0 && this.#chunks.length === 1 && first !== undefined) return first;
    return Buffer.concat([...this.#pieces, ...this.#chunks]);
  }
}
