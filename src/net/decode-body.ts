/** Undoes the content encodings of an answer while it streams. */
import { Readable, pipeline, type Transform } from "node:stream";
import * as zlib from "node:zlib";
import { ToolError } from "../core/error.ts";

type Decoder = (firstBytes: Uint8Array) => Transform;

const CHUNK_BYTES = 64 * 1024;
const MAX_ENCODINGS = 2;
/** 8 MiB of window, the most that a server may ask of a client (RFC 9659); the library's own limit would be 128 MiB. */
const ZSTD_WINDOW_LOG_MAX = 23;

const gunzip: Decoder = () => zlib.createGunzip({ chunkSize: CHUNK_BYTES });

const DECODERS: ReadonlyMap<string, Decoder> = new Map<string, Decoder>([
  ["gzip", gunzip],
  ["x-gzip", gunzip],
  ["deflate", inflate],
  ["br", () => zlib.createBrotliDecompress({ chunkSize: CHUNK_BYTES })],
  // Node has it from 22.15 on
  ...("createZstdDecompress" in zlib ? ([["zstd", unzstd]] as const) : []),
]);

/** The encodings that requests accept. */
export const ACCEPTED_ENCODINGS = [...DECODERS.keys()].filter((name) => name !== "x-gzip").join(", ");

/** Servers send it with and without the zlib wrapper (RFC 9110 §8.4.1.2). */
function inflate(firstBytes: Uint8Array): Transform {
  const isWrapped = ((firstBytes[0] ?? 0) & 0x0f) === 8;
  return isWrapped ? zlib.createInflate({ chunkSize: CHUNK_BYTES }) : zlib.createInflateRaw({ chunkSize: CHUNK_BYTES });
}

function unzstd(): Transform {
  return zlib.createZstdDecompress({ chunkSize: CHUNK_BYTES, params: { [zlib.constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX } });
}

/**
 * Gives the decoded bytes of `source`, which was encoded by `encodings` in this order.
 *
 * Nothing is read ahead of what is asked for but a few buffers. Ending early destroys what `source` reads from.
 *
 * @throws ToolError `network_error` for more than two encodings or one that is not known
 */
export function decodeBody(source: AsyncIterable<Uint8Array>, encodings: readonly string[]): AsyncIterable<Uint8Array> {
  const names = encodings.flatMap((value) => value.toLowerCase().split(",", MAX_ENCODINGS + 2)).map((name) => name.trim());
  const used = names.filter((name) => name !== "" && name !== "identity");
  let body = source;
  if (used.length > MAX_ENCODINGS) throw refuse(`encoded more than ${MAX_ENCODINGS} times`);
  for (const name of used.reverse()) {
    const decoder = DECODERS.get(name);
    if (decoder === undefined) throw refuse(`encoded as ${JSON.stringify(name.slice(0, 40))}, which cannot be decoded`);
    body = decode(body, decoder);
  }
  return body;
}

/** An answer without a single byte is empty, whatever encoding it claims to have. */
async function* decode(source: AsyncIterable<Uint8Array>, decoder: Decoder): AsyncGenerator<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]();
  try {
    const first = await chunks.next();
    if (first.done === true) return;
    const decoded = decoder(first.value);
    const input = Readable.from(prepend(first.value, chunks), { objectMode: false });
    pipeline(input, decoded, noteNothing);
    yield* decoded;
  } finally {
    // not waited for: a source that has stalled ends only when its owner, who comes after this, destroys it
    chunks.return?.().catch(noteNothing);
  }
}

/** A failure is met where the decoded bytes are read. */
function noteNothing(): void {}

async function* prepend(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

function refuse(problem: string): ToolError {
  return new ToolError("network_error", `The answer is ${problem}.`, { retryable: false });
}
