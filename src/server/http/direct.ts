/** Answers the usual requests with Node's own objects: a `Request` and a `Response` of the platform cost more than most calls. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../core/ports.ts";

/** The parts of a request that come before its body. A `Request` is one as well. */
export interface RequestHead {
  readonly method: string;
  readonly url: string;
  readonly headers: HeaderReader;
}

/** The headers of a request, as `Headers` reads them. */
export interface HeaderReader {
  get(name: string): string | null;
}

/** A request that may be answered without a `Request`. */
export interface DirectRequest extends RequestHead {
  /** Aborts when the client has gone, or with `cancel`. */
  readonly signal: AbortSignal;
  cancel(): void;
  /** The same for those that need one, without its body. */
  toRequest(): Request;
}

/** Writes one answer. What is written after its end, or when the client has gone, is dropped. */
export interface DirectReply {
  /** All of the answer. */
  json(status: number, text: string): void;
  /** Opens an event stream with the first event. */
  event(text: string): void;
  /** As `event`, for news that the next ones replace: while the client does not read, the latest is kept for it and no other. Returns whether they are sent now. */
  news(text: string): boolean;
  /** Ends an event stream; without one, an answer of this status that has no body. */
  end(status: number): void;
}

export interface DirectHandler {
  /** Those of every answer. @default none */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether a request with this head may be one for `answer`. Its body has a declared length and is not read yet. */
  takes(head: RequestHead): boolean;
  /**
   * Resolves to false, with nothing written, for a request that is to be answered in the usual way.
   *
   * @param read the whole body as text, to be asked for once the caller is known; undefined when the client has gone before its end
   */
  answer(request: DirectRequest, read: () => Promise<string | undefined>, reply: DirectReply): Promise<boolean>;
}

/** The target of a request is a path: the server's own name is not asked for. */
export function targetOf({ url = "/" }: Pick<IncomingMessage, "url">): string {
  return `http://server.invalid${url.startsWith("/") ? url : "/"}`;
}

export function headOf(incoming: IncomingMessage): RequestHead {
  return { method: incoming.method ?? "GET", url: targetOf(incoming), headers: readerOf(incoming) };
}

function readerOf({ headers }: IncomingMessage): HeaderReader {
  return {
    get(name) {
      const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
      return value === undefined ? null : typeof value === "string" ? value : value.join(", ");
    },
  };
}

/** The whole body as text; undefined when the client has gone before its end. */
export async function textOf(incoming: IncomingMessage): Promise<string | undefined> {
  const bytes = await bytesOf(incoming);
  return bytes === undefined ? undefined : new TextDecoder("utf-8").decode(bytes);
}

/** The whole body; undefined when the client has gone before its end. */
export function bytesOf(incoming: IncomingMessage): Promise<Uint8Array | undefined> {
  return new Promise((resolve) => {
    if (incoming.destroyed) return resolve(undefined); // it says so no more
    const chunks: Uint8Array[] = [];
    incoming.on("data", (chunk: Uint8Array) => chunks.push(chunk));
    incoming.once("end", () => resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)));
    incoming.once("close", () => resolve(undefined));
  });
}

/** With so many bytes unread, news wait until the client has read them all. */
const MAX_UNREAD_BYTES = 65_536;
/** An intermediary must not take a quiet stream for a dead one. */
const KEEP_ALIVE_MS = 15_000;
const EVENT_STREAM = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  connection: "keep-alive",
  "x-accel-buffering": "no",
} as const;

export class NodeReply implements DirectReply {
  readonly #outgoing: ServerResponse;
  readonly #clock: Clock;
  readonly #headers: Readonly<Record<string, string>> | undefined;
  #isOver = false;
  #stopKeepingAlive: (() => void) | undefined;
  /** News that wait. */
  #latest: string | undefined;

  constructor(outgoing: ServerResponse, { clock, headers }: { readonly clock: Clock; readonly headers?: DirectHandler["headers"] }) {
    this.#outgoing = outgoing;
    this.#clock = clock;
    this.#headers = headers;
  }

  json(status: number, text: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#outgoing.writeHead(status, { ...this.#headers, "content-type": "application/json", "content-length": Buffer.byteLength(text) });
    this.#outgoing.end(text);
  }

  event(text: string): void {
    if (this.#isOver) return;
    this.#latest = undefined; // they are out of date
    if (this.#stopKeepingAlive === undefined) {
      this.#outgoing.writeHead(200, { ...this.#headers, ...EVENT_STREAM });
      this.#keepAlive();
    }
    this.#outgoing.write(`event: message\ndata: ${text}\n\n`);
  }

  news(text: string): boolean {
    const outgoing = this.#outgoing;
    if (outgoing.writableLength < MAX_UNREAD_BYTES) {
      this.event(text);
      return true;
    }
    if (this.#latest === undefined && !this.#isOver) outgoing.once("drain", () => this.#catchUp());
    this.#latest = text;
    return false;
  }

  #catchUp(): void {
    if (this.#latest !== undefined) this.event(this.#latest);
  }

  end(status: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#latest = undefined;
    this.#stopKeepingAlive?.();
    if (this.#stopKeepingAlive === undefined) this.#outgoing.writeHead(status, { ...this.#headers, "content-length": 0 });
    this.#outgoing.end();
  }

  #keepAlive(): void {
    this.#stopKeepingAlive = this.#clock.timer(
      () => {
        if (this.#isOver || this.#outgoing.destroyed) return;
        if (this.#outgoing.writableLength < MAX_UNREAD_BYTES) this.#outgoing.write(": keepalive\n\n");
        this.#keepAlive();
      },
      KEEP_ALIVE_MS,
      { background: true },
    );
  }
}
