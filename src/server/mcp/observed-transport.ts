/** A stdio transport that reports its messages and applies back-pressure for clients that read slowly. */
import { once } from "node:events";
import type { Writable } from "node:stream";
import type { JSONRPCMessage, MessageExtraInfo, Transport } from "@modelcontextprotocol/server";
import { isJsonObject } from "../../core/base/json.ts";
import { replaceLoneSurrogates } from "../../core/base/lone-surrogates.ts";

/** Listeners for what the SDK does not expose. */
export interface TransportListeners {
  onMessage(message: unknown): void;
  /** Returns the message to send in place of this one, later if it is not known yet: those after it do not wait. */
  transformOutgoing(message: JSONRPCMessage): JSONRPCMessage | Promise<JSONRPCMessage>;
  /** A request was dropped because an unanswered request has the same id: an answer could not be told apart. */
  onRepeatedId(id: string | number): void;
  /** True when so many requests are waiting that reading should stop; false when it may continue. */
  onCongestion(isCongested: boolean): void;
  onClose(): void;
}

/** Notifications are dropped once this many messages are unread, so that a slow client still gets its responses. */
const MAX_UNREAD = 100;
/** A request that stays open as long as the connection. */
const LISTEN = "subscriptions/listen";
const DROPPABLE_METHODS: ReadonlySet<string> = new Set(["notifications/progress", "notifications/message"]);
/** Maximum number of requests running, or answered and unread, before further ones wait. */
const MAX_OPEN_REQUESTS = 1_024;
/** The same maximum while an answer is unread: then the client is slow, not the tools. */
const MAX_OPEN_UNREAD = 128;
/** Further requests also wait while this many bytes of answers are unread. */
const MAX_UNREAD_BYTES = 8 * 1024 * 1024;
/** Maximum number of waiting requests, or their characters, before reading stops. A cancellation that is read meanwhile overtakes them. */
const MAX_QUEUED = 1_024;
const MAX_QUEUED_CHARS = 8 * 1024 * 1024;

interface QueuedRequest {
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
  readonly #listeners: TransportListeners;
  readonly #maxListeners: number;
  #unread = 0;
  /** Ids of requests that are unanswered, or whose answers are unread. */
  readonly #open = new Set<unknown>();
  /** Ids of unanswered requests; listen requests are never answered and not included. */
  readonly #unanswered = new Set<unknown>();
  #sent = Promise.withResolvers<void>();
  #queue: QueuedRequest[] = [];
  #queuedChars = 0;
  /** Whether the client has disconnected. */
  #isDisconnected = false;
  #isCongested = false;
  #hasEnded = false;

  /** @param output the stream that the inner transport writes to */
  constructor(inner: Transport, output: Writable, listeners: TransportListeners) {
    this.#inner = inner;
    this.#output = output;
    this.#listeners = listeners;
    this.#maxListeners = output.getMaxListeners();
  }

  /** Number of requests that wait until the client has read more. */
  get queuedRequests(): number {
    return this.#queue.length;
  }

  /** Number of requests to answer, waiting ones included. */
  get unansweredRequests(): number {
    return this.#unanswered.size + this.#queue.length;
  }

  /** Resolves when the next message was sent, or waiting requests are dropped. */
  get whenSent(): Promise<void> {
    return this.#sent.promise;
  }

  async start(): Promise<void> {
    this.#inner.onmessage = (message: JSONRPCMessage, extra?: MessageExtraInfo) => this.#receive(message, extra);
    this.#inner.onerror = (error) => this.onerror?.(error);
    this.#inner.onclose = () => {
      this.#hasEnded = true;
      this.#queue = [];
      this.#output.setMaxListeners(this.#maxListeners);
      this.onclose?.();
      this.#listeners.onClose();
    };
    this.#output.setMaxListeners(0); // each message that is not written at once adds a listener
    await this.#inner.start();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#unread >= MAX_UNREAD && "method" in message && DROPPABLE_METHODS.has(message.method)) return;
    this.#unread++;
    if (!("method" in message)) this.#unanswered.delete(message.id);
    try {
      const passed = this.#listeners.transformOutgoing(message);
      await this.#write(passed instanceof Promise ? await passed : passed);
    } finally {
      this.#unread--;
      if (!("method" in message)) this.#open.delete(message.id);
      if (this.#queue.length > 0) this.#startQueued();
      this.#notifySent();
    }
  }

  /** Writes a message like the inner transport, but in JSON that every client can read. */
  async #write(message: JSONRPCMessage): Promise<void> {
    if (this.#hasEnded) throw new Error("The connection has ended.");
    if (!this.#output.write(`${replaceLoneSurrogates(JSON.stringify(message))}\n`)) await once(this.#output, "drain");
  }

  #notifySent(): void {
    this.#sent.resolve();
    this.#sent = Promise.withResolvers();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  /** Drops waiting requests, because the client no longer sends or reads. */
  dropWaiting(): void {
    this.#isDisconnected = true;
    this.#queue = [];
    this.#queuedChars = 0;
    this.#setCongested(false);
    this.#notifySent();
  }

  #setCongested(isCongested: boolean): void {
    if (this.#isCongested === isCongested) return;
    this.#isCongested = isCongested;
    this.#listeners.onCongestion(isCongested);
  }

  /** Queues requests while too many are open. Other messages are passed on at once: they may be what open requests wait for. */
  #receive(message: JSONRPCMessage, extra: MessageExtraInfo | undefined): void {
    if (!("method" in message)) return this.#forward(message, extra);
    if (!("id" in message)) {
      if (message.method === "notifications/cancelled" && this.#cancel(message.params)) return;
      return this.#forward(message, extra);
    }
    if (this.#open.has(message.id) || this.#queue.some(({ id }) => id === message.id)) return this.#listeners.onRepeatedId(message.id);
    if (this.#queue.length > 0 || this.#isFull()) {
      if (this.#isDisconnected) return;
      const chars = JSON.stringify(message).length;
      this.#queue.push({ id: message.id, message, extra, chars });
      this.#queuedChars += chars;
      return this.#setCongested(this.#isQueueFull);
    }
    this.#startRequest({ id: message.id, message, extra });
  }

  get #isQueueFull(): boolean {
    return this.#queue.length >= MAX_QUEUED || this.#queuedChars >= MAX_QUEUED_CHARS;
  }

  #startRequest({ id, message, extra }: Omit<QueuedRequest, "chars">): void {
    this.#open.add(id);
    if (!("method" in message && message.method === LISTEN)) this.#unanswered.add(id);
    this.#forward(message, extra);
  }

  #forward(message: JSONRPCMessage, extra: MessageExtraInfo | undefined): void {
    this.#listeners.onMessage(message);
    this.onmessage?.(message, extra);
  }

  /** Cancels a request. Returns true if it had not begun; a request that had begun is no longer answered. */
  #cancel(params: unknown): boolean {
    const id = isJsonObject(params) ? params["requestId"] : undefined;
    this.#open.delete(id);
    this.#unanswered.delete(id);
    const at = this.#queue.findIndex((waiting) => waiting.id === id);
    const [taken] = at < 0 ? [] : this.#queue.splice(at, 1);
    this.#queuedChars -= taken?.chars ?? 0;
    this.#startQueued();
    return taken !== undefined;
  }

  #startQueued(): void {
    while (!this.#isFull()) {
      const next = this.#queue.shift();
      if (next === undefined) break;
      this.#queuedChars -= next.chars;
      this.#startRequest(next);
    }
    this.#setCongested(this.#isQueueFull);
  }

  #isFull(): boolean {
    if (this.#open.size >= (this.#unread > 0 ? MAX_OPEN_UNREAD : MAX_OPEN_REQUESTS)) return true;
    return this.#open.size > 0 && this.#output.writableLength > MAX_UNREAD_BYTES;
  }
}
