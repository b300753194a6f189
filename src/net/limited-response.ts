/** The response as callers see it: decoded, limited in size while it streams, readable once. */
import type { IncomingMessage } from "node:http";
import { ToolError } from "../core/error.ts";
import type { Clock } from "../core/ports.ts";
import { decodeBody } from "./decode-body.ts";
import { EventMeter } from "./event-meter.ts";
import type { HttpResponse } from "./http-request.ts";
import { networkFailure } from "./network-failure.ts";
import { ChunkBuffer } from "../core/formats/chunk-buffer.ts";
import { addTo } from "../core/base/add-to.ts";

export interface LimitedResponseOptions {
  readonly method: string;
  readonly url: URL;
  /** `host:port`, for messages. */
  readonly server: string;
  readonly maxBytes: number;
  readonly capEachEvent: boolean;
  readonly clock: Clock;
  /** Returns why the body ended early if the client itself ended it. */
  readonly getEndError: () => ToolError | undefined;
}

/** A discarded body that is known to be no longer than this is read to its end, so that its connection can be reused. */
const DRAIN_BYTES = 16 * 1024;
const DRAIN_MS = 1_000;
/** Maximum number of bytes that an encoding may add to data that cannot be compressed. */
const ENCODING_BYTES = 64 * 1024;

export class LimitedResponse implements HttpResponse {
  readonly status: number;
  readonly url: URL;
  readonly headers: ReadonlyMap<string, readonly string[]>;
  readonly body: AsyncIterable<Uint8Array>;
  readonly #message: IncomingMessage;
  readonly #options: LimitedResponseOptions;
  #isTaken = false;

  constructor(message: IncomingMessage, options: LimitedResponseOptions) {
    this.#message = message;
    this.#options = options;
    this.status = message.statusCode ?? 0;
    this.url = options.url;
    this.headers = readHeaders(message.rawHeaders);
    this.body = { [Symbol.asyncIterator]: () => this.#read() };
    // there is no body to read; lets the connection be reused
    if (!this.#hasBody()) message.resume();
  }

  async bytes(): Promise<Uint8Array> {
    const joined = new ChunkBuffer();
    if (!this.#isDecodedOrCapped()) await this.#collect(joined);
    else for await (const chunk of this.body) joined.add(chunk);
    return joined.concat();
  }

  discard(): void {
    this.#isTaken = true;
    discardMessage(this.#message, this.#options.clock);
  }

  async *#read(): AsyncGenerator<Uint8Array> {
    this.#markTaken();
    const message = this.#message;
    const { maxBytes, server } = this.#options;
    const meter = this.#meter();
    try {
      if (this.#announcesTooMuch()) throw tooLargeError(server, maxBytes);
      for await (const chunk of this.#decoded()) {
        if (meter(chunk) > maxBytes) throw tooLargeError(server, maxBytes);
        yield chunk;
      }
      if (message.errored !== null) throw message.errored;
    } catch (error: unknown) {
      throw this.#failure(error);
    } finally {
      if (!message.readableEnded) message.destroy();
    }
  }

  /** Like `#read`, for a body that is not decoded: an iterator costs more than reading a small body. */
  async #collect(joined: ChunkBuffer): Promise<void> {
    this.#markTaken();
    const message = this.#message;
    const { maxBytes, server } = this.#options;
    try {
      if (this.#announcesTooMuch()) throw tooLargeError(server, maxBytes);
      if (message.readableEnded) return;
      if (message.destroyed) throw bodyEndedEarlyError();
      await new Promise<void>((resolve, reject) => {
        let bytes = 0;
        message.on("data", (chunk: Uint8Array) => {
          if ((bytes += chunk.byteLength) > maxBytes) reject(tooLargeError(server, maxBytes));
          else joined.add(chunk);
        });
        message.once("end", resolve);
        message.once("error", reject);
        message.once("close", () => {
          if (!message.readableEnded) reject(bodyEndedEarlyError());
        });
      });
    } catch (error: unknown) {
      if (!message.readableEnded) message.destroy();
      throw this.#failure(error);
    }
  }

  #markTaken(): void {
    if (this.#isTaken) throw new ToolError("invalid_argument", "The body of an answer can be read once; it was already read or discarded.");
    this.#isTaken = true;
  }

  #failure(error: unknown): ToolError {
    const { server, getEndError } = this.#options;
    const failure = networkFailure(server, this.#message.errored ?? error, "unknown");
    return failure.code === "network_error" ? (getEndError() ?? failure) : failure;
  }

  /** Returns a function that takes each chunk and returns how many bytes count so far. */
  #meter(): (chunk: Uint8Array) => number {
    if (this.#isCappedByEvent()) {
      const meter = new EventMeter();
      return (chunk) => meter.add(chunk);
    }
    let bytes = 0;
    return (chunk) => (bytes += chunk.byteLength);
  }

  #decoded(): AsyncIterable<Uint8Array> {
    const encodings = this.headers.get("content-encoding");
    return encodings === undefined || !this.#hasBody() ? this.#message : decodeBody(this.#encoded(), encodings);
  }

  /** Yields the bytes as received. Throws if there are more than any allowed body could be encoded to: they might decode to nothing. */
  async *#encoded(): AsyncGenerator<Uint8Array> {
    const { server, maxBytes } = this.#options;
    const most = this.#isCappedByEvent() ? Infinity : maxBytes + ENCODING_BYTES;
    let bytes = 0;
    for await (const chunk of this.#message) {
      if ((bytes += chunk.byteLength) > most) throw tooLargeError(server, maxBytes);
      yield chunk;
    }
  }

  #isDecodedOrCapped(): boolean {
    return this.#isCappedByEvent() || (this.#hasBody() && this.headers.has("content-encoding"));
  }

  #isCappedByEvent(): boolean {
    return this.#options.capEachEvent && isEventStream(this.headers);
  }

  /** Whether the announced length is too large. It is trusted only in this case, in which nothing needs to be read. */
  #announcesTooMuch(): boolean {
    const isPlain = !this.#isCappedByEvent() && !this.headers.has("content-encoding") && this.#hasBody();
    return isPlain && Number(this.headers.get("content-length")?.[0] ?? 0) > this.#options.maxBytes;
  }

  #hasBody(): boolean {
    return this.#options.method !== "HEAD" && this.status !== 204 && this.status !== 304;
  }
}

function bodyEndedEarlyError(): Error {
  return Object.assign(new Error("The body ended early."), { code: "ERR_STREAM_PREMATURE_CLOSE" });
}

/** Discards a body: reads the rest in the background if it is short, else closes the connection. */
export function discardMessage(message: IncomingMessage, clock: Clock): void {
  if (message.destroyed) return;
  const length = Number(message.headers["content-length"] ?? Number.NaN);
  if (message.complete || length <= DRAIN_BYTES) {
    const stop = clock.timer(() => message.destroy(), DRAIN_MS, { background: true });
    message.once("close", stop);
    message.resume();
  } else message.destroy();
}

function isEventStream(headers: ReadonlyMap<string, readonly string[]>): boolean {
  return /^\s*text\/event-stream\s*(?:;|$)/iu.test(headers.get("content-type")?.[0] ?? "");
}

function readHeaders(raw: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const headers = new Map<string, string[]>();
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = (raw[index] ?? "").toLowerCase();
    const value = raw[index + 1] ?? "";
    addTo(headers, name, value);
  }
  return headers;
}

function tooLargeError(server: string, maxBytes: number): ToolError {
  return new ToolError("too_large", `The answer of ${server} is larger than ${maxBytes} bytes.`, {
    outcome: "unknown",
    hint: "Ask for less, with a filter or page by page.",
    operatorHint: "Raise maxBytes, or ask for less.",
  });
}
