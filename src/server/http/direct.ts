/** Answers common requests with Node's own objects: the platform's `Request` and `Response` cost more than most calls. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../core/ports.ts";
import { readBytes, toRequest, targetOf } from "./node-request.ts";
import type { HeadRequest, HeaderReader, RequestHead } from "./request-head.ts";
import type { TextResponse } from "./text-response.ts";
import { endResponseEarly, isFullyReceived } from "./end-response-early.ts";
import { writeResponse } from "./write-response.ts";

/** A request that can be answered without a `Request`. */
export interface DirectRequest extends HeadRequest {
  /** Aborts when the client has disconnected, or by `cancel`. */
  readonly signal: AbortSignal;
  cancel(): void;
  /** The `Request` with its body: the text if it was read, otherwise the unread body. */
  toRequestWithBody(): Request;
}

/** Writes one response. Writes after its end, or after the client has disconnected, are dropped. */
export interface DirectReply {
  /** Writes the whole response. */
  sendJson(status: number, text: string): void;
  /** Opens an event stream without an event, if none is open. */
  openStream(): void;
  /** Writes an event; opens the stream if none is open. */
  sendEvent(text: string): void;
  /**
   * Like `sendEvent`, for notifications that replace one another: for a client that does not read, the latest is kept. Returns whether it was written.
   */
  sendNotification(text: string): boolean;
  /** Ends the event stream; if none is open, writes a response with this status and no body. */
  end(status: number): void;
}

/** A reply that also takes other kinds of responses. */
export interface FullReply extends DirectReply {
  sendText(answer: TextResponse): void;
  sendResponse(response: Response, gone: AbortSignal): Promise<void>;
}

/**
 * Answers one request. Resolves to false, with nothing written, if the request must take the regular path.
 *
 * @param read returns the whole body as text, to be called once the caller is known; undefined if the client disconnects first
 */
export type DirectAnswer<Reply = FullReply> = (
  request: DirectRequest,
  read: () => Promise<string | undefined>,
  reply: Reply,
) => Promise<boolean>;

export interface DirectHandler<Reply = FullReply> {
  /** Headers of every response. @default none */
  readonly headers?: Readonly<Record<string, string>>;
  /** Returns the function for requests with this head; undefined if there is none. The body, if any, has a declared length and is unread. */
  match(head: RequestHead): DirectAnswer<Reply> | undefined;
}

/** A request of Node. Its signal is made when it is first used. */
export class NodeRequest implements HeadRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: HeaderReader;
  /** The body as text, once it has been read. */
  text: string | undefined;
  readonly #incoming: IncomingMessage;
  readonly #clock: Clock;
  #gone: AbortController | undefined;
  #isGone = false;

  constructor(incoming: IncomingMessage, clock: Clock) {
    this.#incoming = incoming;
    this.#clock = clock;
    this.method = incoming.method ?? "GET";
    this.url = targetOf(incoming);
    this.headers = createHeaderReader(incoming);
  }

  get from(): string | undefined {
    return this.#incoming.socket.remoteAddress;
  }

  get signal(): AbortSignal {
    if (this.#gone === undefined) {
      this.#gone = new AbortController();
      if (this.#isGone) this.#gone.abort(CONNECTION_CLOSED);
    }
    return this.#gone.signal;
  }

  cancel(): void {
    this.#isGone = true;
    this.#gone?.abort(CONNECTION_CLOSED);
  }

  /** Reads the whole body as text; undefined if the client disconnects first. @throws HttpError 408 if the client is too slow, as a rejection */
  async read(): Promise<string | undefined> {
    const bytes = await readBytes(this.#incoming, this.#clock);
    this.text = bytes === undefined ? undefined : UTF8.decode(bytes);
    return this.text;
  }

  toRequest(): Request {
    return toRequest(this.#incoming, { signal: this.signal, clock: this.#clock, text: "" });
  }

  toRequestWithBody(): Request {
    return toRequest(this.#incoming, { signal: this.signal, clock: this.#clock, text: this.text });
  }
}

const UTF8 = new TextDecoder("utf-8");

/** Made once: a new exception per response would cost as much as the response. */
export const CONNECTION_CLOSED = new DOMException("The connection is closed.", "AbortError");

function createHeaderReader({ headers }: IncomingMessage): HeaderReader {
  return {
    get(name) {
      const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
      return value === undefined ? null : typeof value === "string" ? value : value.join(", ");
    },
  };
}

/** With this many bytes unread, notifications wait until the client has read them all. */
const MAX_UNREAD_BYTES = 65_536;
/** Interval of keep-alives on quiet streams and late responses: many intermediaries close connections that are silent for 30 or 60 seconds. */
export const KEEP_ALIVE_MS = 15_000;
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
  #hasEnded = false;
  #stopKeepingAlive: (() => void) | undefined;
  /** The latest notification, while it waits to be written. */
  #latest: string | undefined;

  constructor(
    outgoing: ServerResponse,
    { clock, headers }: { readonly clock: Clock; readonly headers?: DirectHandler["headers"] | undefined },
  ) {
    this.#outgoing = outgoing;
    this.#clock = clock;
    this.#headers = headers;
  }

  sendJson(status: number, text: string): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#outgoing.writeHead(status, { ...this.#headers, "content-type": "application/json", "content-length": Buffer.byteLength(text) });
    this.#outgoing.end(text);
  }

  sendText({ status, headers, text, bytes }: TextResponse): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const outgoing = this.#outgoing;
    const head: Record<string, string | number> = { ...this.#headers, ...headers };
    if (status !== 204) head["content-length"] = bytes;
    if (outgoing.req.complete) outgoing.writeHead(status, head).end(text);
    else void this.#sendBeforeBody(status, head, text);
  }

  async #sendBeforeBody(status: number, head: Record<string, string | number>, text: string): Promise<void> {
    const outgoing = this.#outgoing;
    if (await isFullyReceived(outgoing.req)) outgoing.writeHead(status, head).end(text);
    else await endResponseEarly(outgoing.writeHead(status, { ...head, connection: "close" }), text, this.#clock);
  }

  async sendResponse(response: Response, gone: AbortSignal): Promise<void> {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    await writeResponse(response, this.#outgoing, { gone, clock: this.#clock });
  }

  openStream(): void {
    if (this.#hasEnded || this.#stopKeepingAlive !== undefined) return;
    this.#outgoing.writeHead(200, { ...this.#headers, ...EVENT_STREAM }).flushHeaders();
    this.#keepAlive();
  }

  sendEvent(text: string): void {
    if (this.#hasEnded) return;
    this.#latest = undefined; // a waiting notification is out of date now
    this.openStream();
    this.#outgoing.write(`event: message\ndata: ${text}\n\n`);
  }

  sendNotification(text: string): boolean {
    const outgoing = this.#outgoing;
    if (outgoing.writableLength < MAX_UNREAD_BYTES) {
      this.sendEvent(text);
      return true;
    }
    if (this.#latest === undefined && !this.#hasEnded) outgoing.once("drain", () => this.#sendLatest());
    this.#latest = text;
    return false;
  }

  #sendLatest(): void {
    if (this.#latest !== undefined) this.sendEvent(this.#latest);
  }

  end(status: number): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#latest = undefined;
    this.#stopKeepingAlive?.();
    if (this.#stopKeepingAlive === undefined) this.#outgoing.writeHead(status, { ...this.#headers, "content-length": 0 });
    this.#outgoing.end();
  }

  #keepAlive(): void {
    this.#stopKeepingAlive = this.#clock.timer(
      () => {
        if (this.#hasEnded || this.#outgoing.destroyed) return;
        if (this.#outgoing.writableLength < MAX_UNREAD_BYTES) this.#outgoing.write(": keepalive\n\n");
        this.#keepAlive();
      },
      KEEP_ALIVE_MS,
      { background: true },
    );
  }
}
