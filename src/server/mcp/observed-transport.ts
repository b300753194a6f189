/** A stdio transport that reports its messages and applies back-pressure for clients that read slowly. */
import { once } from "node:events";
import type { Writable } from "node:stream";
import type { JSONRPCMessage, MessageExtraInfo, Transport } from "@modelcontextprotocol/server";
import { isJsonObject } from "../../core/base/json.ts";
import { strictJson } from "../../core/base/strict-json.ts";

/** Listeners for what the SDK does not expose. */
export interface Ears {
  message(message: unknown): void;
  /** Returns the message to send in place of this one, later if it is not known yet: those after it do not wait. */
  passing(message: JSONRPCMessage): JSONRPCMessage | Promise<JSONRPCMessage>;
  /** A request was dropped because an unanswered request has the same id: an answer could not be told apart. */
  repeated(id: string | number): void;
  /** True when so many requests are waiting that reading should stop; false when it may continue. */
  congested(isCongested: boolean): void;
  closed(): void;
}

/** Notifications are dropped once this many messages are unread, so that a slow client still gets its responses. */
const MAX_UNREAD = 100;
/** A request that stays open as long as the connection. */
const LISTEN = "subscriptions/listen";
const NEWS: ReadonlySet<string> = new Set(["notifications/progress", "notifications/message"]);
/** Maximum number of requests running, or answered and unread, before further ones wait. */
const MAX_OPEN_REQUESTS = 1_024;
/** The same maximum while an answer is unread: then the client is slow, not the tools. */
const MAX_OPEN_UNREAD = 128;
/** Further requests also wait while this many bytes of answers are unread. */
const MAX_UNREAD_BYTES = 8 * 1024 * 1024;
/** Maximum number of waiting requests, or their characters, before reading stops. A cancellation that is read meanwhile overtakes them. */
const MAX_WAITING = 1_024;
const MAX_WAITING_CHARS = 8 * 1024 * 1024;

interface Waiting {
  readonly id: unknown;
  readonly message: JSONRPCMessage;
  readonly extra: MessageExtraInfo | undefined;
  readonly chars: number;
}

/* oxlint-disable unicorn/prefer-add-event-listener -- the SDK knows only this way */
export class ObservedTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void;
  readonly #inner: Transport;
  readonly #output: Writable;
  readonly #ears: Ears;
  readonly #maxListeners: number;
  #unread = 0;
  /** Ids of requests that are unanswered, or whose answers are unread. */
  readonly #open = new Set<unknown>();
  /** Ids of unanswered requests; listen requests are never answered and not included. */
  readonly #unanswered = new Set<unknown>();
  #sent = Promise.withResolvers<void>();
  #waiting: Waiting[] = [];
  #waitingChars = 0;
  /** Whether the client has disconnected. */
  #isLeft = false;
  #isCongested = false;
  #isOver = false;

  /** @param output the stream that the inner transport writes to */
  constructor(inner: Transport, output: Writable, ears: Ears) {
    this.#inner = inner;
    this.#output = output;
    this.#ears = ears;
    this.#maxListeners = output.getMaxListeners();
  }

  /** Number of requests that wait until the client has read more. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Number of requests to answer, waiting ones included. */
  get unanswered(): number {
    return this.#unanswered.size + this.#waiting.length;
  }

  /** Resolves when the next message was sent, or waiting requests are dropped. */
  get whenSent(): Promise<void> {
    return this.#sent.promise;
  }

  async start(): Promise<void> {
    this.#inner.onmessage = (message: JSONRPCMessage, extra?: MessageExtraInfo) => this.#receive(message, extra);
    this.#inner.onerror = (error) => this.onerror?.(error);
    this.#inner.onclose = () => {
      this.#isOver = true;
      this.#waiting = [];
      this.#output.setMaxListeners(this.#maxListeners);
      this.onclose?.();
      this.#ears.closed();
    };
    this.#output.setMaxListeners(0); // each message that is not written at once adds a listener
    await this.#inner.start();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#unread >= MAX_UNREAD && "method" in message && NEWS.has(message.method)) return;
    this.#unread++;
    if (!("method" in message)) this.#unanswered.delete(message.id);
    try {
      const passed = this.#ears.passing(message);
      await this.#write(passed instanceof Promise ? await passed : passed);
    } finally {
      this.#unread--;
      if (!("method" in message)) this.#open.delete(message.id);
      if (this.#waiting.length > 0) this.#goOn();
      this.#noteSent();
    }
  }

  /** Writes a message like the inner transport, but in JSON that every client can read. */
  async #write(message: JSONRPCMessage): Promise<void> {
    if (this.#isOver) throw new Error("The connection has ended.");
    if (!this.#output.write(`${strictJson(JSON.stringify(message))}\n`)) await once(this.#output, "drain");
  }

  #noteSent(): void {
    this.#sent.resolve();
    this.#sent = Promise.withResolvers();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  /** Drops waiting requests, because the client no longer sends or reads. */
  dropWaiting(): void {
    this.#isLeft = true;
    this.#waiting = [];
    this.#waitingChars = 0;
    this.#congest(false);
    this.#noteSent();
  }

  #congest(isCongested: boolean): void {
    if (this.#isCongested === isCongested) return;
    this.#isCongested = isCongested;
    this.#ears.congested(isCongested);
  }

  /** Queues requests while too many are open. Other messages are passed on at once: they may be what open requests wait for. */
  #receive(message: JSONRPCMessage, extra: MessageExtraInfo | undefined): void {
    if (!("method" in message)) return this.#pass(message, extra);
    if (!("id" in message)) {
      if (message.method === "notifications/cancelled" && this.#cancel(message.params)) return;
      return this.#pass(message, extra);
    }
    if (this.#open.has(message.id) || this.#waiting.some(({ id }) => id === message.id)) return this.#ears.repeated(message.id);
    if (this.#waiting.length > 0 || this.#isFull()) {
      if (this.#isLeft) return;
      const chars = JSON.stringify(message).length;
      this.#waiting.push({ id: message.id, message, extra, chars });
      this.#waitingChars += chars;
      return this.#congest(this.#isCrowded);
    }
    this.#begin({ id: message.id, message, extra });
  }

  get #isCrowded(): boolean {
    return this.#waiting.length >= MAX_WAITING || this.#waitingChars >= MAX_WAITING_CHARS;
  }

  #begin({ id, message, extra }: Omit<Waiting, "chars">): void {
    this.#open.add(id);
    if (!("method" in message && message.method === LISTEN)) this.#unanswered.add(id);
    this.#pass(message, extra);
  }

  #pass(message: JSONRPCMessage, extra: MessageExtraInfo | undefined): void {
    this.#ears.message(message);
    this.onmessage?.(message, extra);
  }

  /** Cancels a request. Returns true if it had not begun; a request that had begun is no longer answered. */
  #cancel(params: unknown): boolean {
    const id = isJsonObject(params) ? params["requestId"] : undefined;
    this.#open.delete(id);
    this.#unanswered.delete(id);
    const at = this.#waiting.findIndex((waiting) => waiting.id === id);
    const [taken] = at < 0 ? [] : this.#waiting.splice(at, 1);
    this.#waitingChars -= taken?.chars ?? 0;
    this.#goOn();
    return taken !== undefined;
  }

  #goOn(): void {
    while (!this.#isFull()) {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      this.#waitingChars -= next.chars;
      this.#begin(next);
    }
    this.#congest(this.#isCrowded);
  }

  #isFull(): boolean {
    if (this.#open.size >= (this.#unread > 0 ? MAX_OPEN_UNREAD : MAX_OPEN_REQUESTS)) return true;
    return this.#open.size > 0 && this.#output.writableLength > MAX_UNREAD_BYTES;
  }
}
