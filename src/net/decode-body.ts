/** Decodes the content encodings of a response while it streams. */
import { Readable, pipeline, type Transform } from "node:stream";
import * as zlib from "node:zlib";
import { ToolError } from "../core/error.ts";

type Decoder = (firstBytes: Uint8Array) => Transform;

const CHUNK_BYTES = 64 * 1024;
const MAX_ENCODINGS = 2;
/** A window of 8 MiB, the most that a server may require of a client (RFC 9659); the library's own limit would be 128 MiB. */
const ZSTD_WINDOW_LOG_MAX = 23;

const gunzip: Decoder = () => zlib.createGunzip({ chunkSize: CHUNK_BYTES });

const DECODERS: ReadonlyMap<string, Decoder> = new Map<string, Decoder>([
  ["gzip", gunzip],
  ["x-gzip", gunzip],
  ["deflate", inflate],
  ["br", () => zlib.createBrotliDecompress({ chunkSize: CHUNK_BYTES })],
  // Node has it since 22.15
  ...("createZstdDecompress" in zlib ? ([["zstd", unzstd]] as const) : []),
]);

/** The value of the `accept-encoding` header. */
export const ACCEPTED_ENCODINGS = [...DECODERS.keys()].filter((name) => name !== "x-gzip").join(", ");

/** Decodes `deflate`, which servers send with and without the zlib wrapper (RFC 9110 §8.4.1.2). */
function inflate(firstBytes: Uint8Array): Transform {
  const isWrapped = ((firstBytes[0] ?? 0) & 0x0f) === 8;
  return isWrapped ? zlib.createInflate({ chunkSize: CHUNK_BYTES }) : zlib.createInflateRaw({ chunkSize: CHUNK_BYTES });
}

function unzstd(): Transform {
  return zlib.createZstdDecompress({ chunkSize: CHUNK_BYTES, params: { [zlib.constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX } });
}

/**
 * Yields the decoded bytes of `source`, to which `encodings` were applied in this order.
 *
 * Reads ahead by only a few buffers. Ending early ends `source` too.
 *
 * @throws ToolError `network_error` for more than two encodings or an unknown one
 */
export function decodeBody(source: AsyncIterable<Uint8Array>, encodings: readonly string[]): AsyncIterable<Uint8Array> {
  const names = encodings.flatMap((value) => value.toLowerCase().split(",", MAX_ENCODINGS + 2)).map((name) => name.trim());
  const used = names.filter((name) => name !== "" && name !== "identity");
  let body = source;
  if (used.length > MAX_ENCODINGS) throw decodeError(`encoded more than ${MAX_ENCODINGS} times`);
  for (const name of used.reverse()) {
    const decoder = DECODERS.get(name);
    if (decoder === undefined) throw decodeError(`encoded as ${JSON.stringify(name.slice(0, 40))}, which cannot be decoded`);
    body = decode(body, decoder);
  }
  return body;
}

/** Decodes a body. One without a single byte is empty, whatever encoding it claims to have. */
async function* decode(source: AsyncIterable<Uint8Array>, decoder: Decoder): AsyncGenerator<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]();
  try {
    const first = await chunks.next();
    if (first.done === true) return;
    const decoded = decoder(first.value);
    const input = Readable.from(prepend(first.value, chunks), { objectMode: false });
    pipeline(input, decoded, ignoreError);
    yield* decoded;
  } finally {
    // not awaited: a stalled source ends only when its owner destroys it, which happens after this
    chunks.return?.().catch(ignoreError);
  }
}

/** Ignores an error: it is thrown where the decoded bytes are read. */
function ignoreError(): void {}

async function* prepend(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

function decodeError(problem: string): ToolError {
  return new ToolError("network_error", `The answer is ${problem}.`, { retryable: false });
}
