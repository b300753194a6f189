/** Reads AWS's binary event stream: messages of a prelude, headers, a payload and two checksums. */
import { pushAll } from "../../core/collections/push-all.ts";
import { crc32 } from "node:zlib";
import { ToolError } from "../../core/error.ts";
import { isJsonObject, type JsonValue } from "../../core/base/json.ts";
import type { FrameReader } from "./frames.ts";
import { MAX_FRAME, readWireJson } from "./wire-json.ts";

const PRELUDE = 12;
const CHECKSUM = 4;

/**
 * Returns `{ [event type]: payload }` for each message, and the same for exceptions and errors by their type.
 *
 * @see https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html — the encoding
 */
export function eventStream(): FrameReader {
  const bytes = new PendingBytes();
  return {
    push: (chunk) => {
      bytes.add(chunk);
      const pieces: JsonValue[] = [];
      for (let message = nextMessage(bytes); message !== undefined; message = nextMessage(bytes)) pushAll(pieces, readMessage(message));
      return pieces;
    },
    end: () => [], // remaining bytes are an incomplete message
  };
}

/** Buffers bytes of incomplete messages. The buffer doubles, so that each byte is moved only a few times. */
class PendingBytes {
  #buffer = new Uint8Array(4096);
  #start = 0;
  #end = 0;

  add(chunk: Uint8Array): void {
    const length = this.#end - this.#start;
    if (this.#end + chunk.length > this.#buffer.length) {
      const room = length + chunk.length > this.#buffer.length / 2 ? new Uint8Array(2 * (length + chunk.length)) : this.#buffer;
      room.set(this.#buffer.subarray(this.#start, this.#end));
      this.#buffer = room;
      this.#start = 0;
      this.#end = length;
    }
    this.#buffer.set(chunk, this.#end);
    this.#end += chunk.length;
  }

  get view(): DataView {
    return new DataView(this.#buffer.buffer, this.#start, this.#end - this.#start);
  }

  /** Returns a copy, because the buffer is reused. */
  take(length: number): Uint8Array {
    const taken = this.#buffer.slice(this.#start, this.#start + length);
    this.#start += length;
    return taken;
  }
}

function nextMessage(bytes: PendingBytes): Uint8Array | undefined {
  const { view } = bytes;
  if (view.byteLength < PRELUDE) return undefined;
  const prelude = new Uint8Array(view.buffer, view.byteOffset, PRELUDE - CHECKSUM);
  if (crc32(prelude) !== view.getUint32(8)) throw damagedStreamError("the checksum of a prelude is wrong");
  const length = view.getUint32(0);
  if (length > MAX_FRAME) throw new ToolError("too_large", `The provider sent a message of ${length} bytes; ${MAX_FRAME} is the limit.`);
  if (length < PRELUDE + view.getUint32(4) + CHECKSUM) throw damagedStreamError("a message is shorter than its headers");
  return view.byteLength < length ? undefined : bytes.take(length);
}

function readMessage(message: Uint8Array): readonly JsonValue[] {
  const view = new DataView(message.buffer);
  const end = message.length - CHECKSUM;
  if (crc32(message.subarray(0, end)) !== view.getUint32(end)) throw damagedStreamError("the checksum of a message is wrong");
  const payloadAt = PRELUDE + view.getUint32(4);
  const headers = readHeaders(message.subarray(PRELUDE, payloadAt));
  const text = new TextDecoder().decode(message.subarray(payloadAt, end));
  const kind = headers.get(":event-type") ?? headers.get(":exception-type") ?? headers.get(":error-code");
  if (kind === undefined) return [];
  const payload = text === "" ? {} : (readWireJson(text) ?? text);
  const errorText = headers.get(":error-message");
  return [{ [kind]: errorText !== undefined && isJsonObject(payload) ? { message: errorText, ...payload } : payload }];
}

/** The size of a value in bytes, by its type; undefined for strings and byte arrays, which have a length field. */
const SIZES: readonly (number | undefined)[] = [0, 0, 1, 2, 4, 8, undefined, undefined, 8, 16];
const STRING = 7;

/** Returns the headers whose values are strings; the others are ignored. */
function readHeaders(bytes: Uint8Array): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const decoder = new TextDecoder();
  try {
    for (let at = 0; at < bytes.length;) {
      const typeAt = at + 1 + view.getUint8(at);
      const type = view.getUint8(typeAt);
      const size = SIZES[type];
      if (size === undefined && type !== 6 && type !== STRING) throw damagedStreamError(`a header has the unknown type ${type}`);
      const valueAt = typeAt + (size === undefined ? 3 : 1);
      const next = valueAt + (size ?? view.getUint16(typeAt + 1));
      if (next > bytes.length) throw damagedStreamError("a header is cut off");
      if (type === STRING) headers.set(decoder.decode(bytes.subarray(at + 1, typeAt)), decoder.decode(bytes.subarray(valueAt, next)));
      at = next;
    }
  } catch (thrown: unknown) {
    throw thrown instanceof RangeError ? damagedStreamError("a header is cut off") : thrown;
  }
  return headers;
}

function damagedStreamError(problem: string): ToolError {
  return new ToolError("model_failed", `The provider's event stream is damaged: ${problem}.`);
}
