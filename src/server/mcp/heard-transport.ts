/** A transport over standard input and output that is listened to on its way, and whose client may be slow to read. */
import type { Writable } from "node:stream";
import type { JSONRPCMessage, MessageExtraInfo, Transport } from "@modelcontextprotocol/server";

/** Told of what the SDK keeps to itself. */
export interface Ears {
  message(message: unknown): void;
  closed(): void;
}

/** News that come after so many messages that the client has not taken are dropped: what it waits for are answers. */
const MAX_UNREAD = 100;
const NEWS: ReadonlySet<string> = new Set(["notifications/progress", "notifications/message"]);

/* oxlint-disable unicorn/prefer-add-event-listener -- the SDK knows only this way */
export class HeardTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void;
  readonly #inner: Transport;
  readonly #output: Writable;
  readonly #ears: Ears;
  readonly #maxListeners: number;
  #unread = 0;

  /** @param output where the inner transport writes to */
  constructor(inner: Transport, output: Writable, ears: Ears) {
    this.#inner = inner;
    this.#output = output;
    this.#ears = ears;
    this.#maxListeners = output.getMaxListeners();
  }

  async start(): Promise<void> {
    this.#inner.onmessage = (message: JSONRPCMessage, extra?: MessageExtraInfo) => {
      this.#ears.message(message);
      this.onmessage?.(message, extra);
    };
    this.#inner.onerror = (error) => this.onerror?.(error);
    this.#inner.onclose = () => {
      this.#output.setMaxListeners(this.#maxListeners);
      this.onclose?.();
      this.#ears.closed();
    };
    this.#output.setMaxListeners(0); // the inner one listens once for each message that is not taken at once
    await this.#inner.start();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#unread >= MAX_UNREAD && "method" in message && NEWS.has(message.method)) return;
    this.#unread++;
    try {
      await this.#inner.send(message);
    } finally {
      this.#unread--;
    }
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}
