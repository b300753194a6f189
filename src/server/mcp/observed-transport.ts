/** A transport over standard input and output that is listened to on its way, and whose client may be slow to read. */
import { once } from "node:events";
import type { Writable } from "node:stream";
import type { JSONRPCMessage, MessageExtraInfo, Transport } from "@modelcontextprotocol/server";
import { isJsonObject } from "../../core/base/json.ts";
import { strictJson } from "../../core/base/strict-json.ts";

/** Called with what the SDK keeps to itself. */
export interface Ears {
  message(message: unknown): void;
  /** The message that goes out in place of this one. */
  passing(message: JSONRPCMessage): JSONRPCMessage;
  /** A request has the id of another that is not answered yet, and is dropped: an answer to it would be taken for the other's. */
  repeated(id: string | number): void;
  /** So many requests wait for those that are unanswered, or whose answers are unread, that no more should come; false when they may again. */
  congested(isCongested: boolean): void;
  closed(): void;
}

/** News that come after so many messages that the client has not taken are dropped: what it waits for are answers. */
const MAX_UNREAD = 100;
/** A request that lasts as long as the connection. */
const LISTEN = "subscriptions/listen";
const NEWS: ReadonlySet<string> = new Set(["notifications/progress", "notifications/message"]);
/** So many requests are under way, or answered and not read, before the next waits. */
const MAX_OPEN_REQUESTS = 1_024;
/** As many, where an answer lies unread: then it is the client that is slow, and not the tools. */
const MAX_OPEN_UNREAD = 128;
/** The next request waits as well while so many bytes of answers are not read. */
const MAX_UNREAD_BYTES = 8 * 1024 * 1024;
/** So many requests wait before nothing more is read, or of so many characters: what comes behind them may be a cancellation, which overtakes them. */
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
  /** Requests that are not answered, or whose answers the client has not taken. */
  readonly #open = new Set<unknown>();
  /** Those of them that are not answered; one that listens never is. */
  readonly #unanswered = new Set<unknown>();
  #sent = Promise.withResolvers<void>();
  #waiting: Waiting[] = [];
  #waitingChars = 0;
  /** The client has gone. */
  #isLeft = false;
  #isCongested = false;
  #isOver = false;

  /** @param output where the inner transport writes to */
  constructor(inner: Transport, output: Writable, ears: Ears) {
    this.#inner = inner;
    this.#output = output;
    this.#ears = ears;
    this.#maxListeners = output.getMaxListeners();
  }

  /** How many requests wait until the client has read more. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** How many requests are to be answered, those that wait included. */
  get unanswered(): number {
    return this.#unanswered.size + this.#waiting.length;
  }

  /** Resolves when the next message was sent, or what waits is given up. */
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
    this.#output.setMaxListeners(0); // there is a listener for each message that is not taken at once
    await this.#inner.start();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#unread >= MAX_UNREAD && "method" in message && NEWS.has(message.method)) return;
    this.#unread++;
    if (!("method" in message)) this.#unanswered.delete(message.id);
    try {
      await this.#write(this.#ears.passing(message));
    } finally {
      this.#unread--;
      if (!("method" in message)) this.#open.delete(message.id);
      if (this.#waiting.length > 0) this.#goOn();
      this.#noteSent();
    }
  }

  /** As the inner transport does it, in JSON that every client can read. */
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

  /** Gives up what waits: the client sends and reads no more. */
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

  /** Requests wait in line while too much is open; whatever else a client says may be what they wait for, and is passed on at once. */
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

  /** True for a request that had not begun. One that had is not answered any more. */
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
