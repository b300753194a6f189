/** One reader of a channel. */
import { cancelReason } from "../core/cancel-reason.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { ChannelMessage } from "./channel-message.ts";

/** Where a subscription takes its messages from, and gives them back to. */
export interface MessageSource {
  /** The first message that is accepted, removed; undefined where there is none. */
  take(): ChannelMessage | undefined;
  giveBack(message: ChannelMessage): void;
  /** Called when `take` had none: a reader waits for a message now, or has polled and may poll again. */
  want?(how: "wait" | "poll"): void;
  end(): void;
}

/** Options of a wait for a message. */
export interface ReceiveMessageOptions {
  readonly signal?: AbortSignal;
}

/** A reader of a channel. It never gets the messages that it has sent itself. */
export class Subscription implements AsyncIterable<ChannelMessage> {
  readonly #source: MessageSource;
  readonly #waiting: { readonly resolve: (message: ChannelMessage) => void; readonly reject: (error: unknown) => void }[] = [];
  #closed = false;

  /** @internal */
  constructor(source: MessageSource) {
    this.#source = source;
  }

  /** A reader waits for a message. @internal */
  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /**
   * The next message; waits for one.
   *
   * @throws ToolError `cancelled` when the signal aborts; `unavailable` once the subscription is closed. By rejecting
   */
  async receive(options: ReceiveMessageOptions = {}): Promise<ChannelMessage> {
    checkKnownKeys(options, { signal: "AbortSignal" }, "receive()");
    const { signal } = options;
    if (this.#closed) throw closed();
    if (signal?.aborted === true) throw cancelled(signal);
    const message = this.isWaiting ? undefined : this.#source.take(); // those who waited before come first
    return message ?? (await this.#wait(signal));
  }

  /**
   * The next message, where there is one; does not wait. On a queue that is kept in a store, one that finds none asks the store for one, which a later
   * `poll` finds: it is held for this subscription until then, or until it is closed.
   */
  poll(): ChannelMessage | undefined {
    if (this.#closed || this.isWaiting) return undefined;
    const message = this.#source.take();
    if (message === undefined) this.#source.want?.("poll");
    return message;
  }

  /** Puts a message that was received back to where it was taken from, to be received again. */
  giveBack(message: ChannelMessage): void {
    this.#source.giveBack(message);
  }

  /** Hands messages to those who wait. @internal */
  deliver(): void {
    for (let first = this.#waiting.shift(); first !== undefined; first = this.#waiting.shift()) {
      const message = this.#source.take(); // makes room, for which another message may come and be delivered in here
      if (message === undefined) return void this.#waiting.unshift(first);
      first.resolve(message);
    }
  }

  /** Ends it: what waits for it in a queue is for others. Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const { reject } of this.#waiting.splice(0)) reject(closed());
    this.#source.end();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ChannelMessage> {
    try {
      while (!this.#closed) yield await this.receive();
    } catch (thrown: unknown) {
      if (!this.#closed) throw thrown;
    } finally {
      this.close();
    }
  }

  #wait(signal: AbortSignal | undefined): Promise<ChannelMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<ChannelMessage>();
    const waiter = { resolve, reject };
    this.#waiting.push(waiter);
    this.#source.want?.("wait");
    if (signal === undefined) return promise;
    const stop = (): void => {
      const at = this.#waiting.indexOf(waiter);
      if (at < 0) return; // it has its message already
      this.#waiting.splice(at, 1);
      reject(cancelled(signal));
    };
    signal.addEventListener("abort", stop, { once: true });
    return promise.finally(() => signal.removeEventListener("abort", stop));
  }
}

/** The error of a wait that its signal ended. */
export function cancelled(signal: AbortSignal): ToolError {
  return signal.reason instanceof ToolError
    ? signal.reason
    : new ToolError("cancelled", `The wait was cancelled: ${cancelReason(signal)}.`, { cause: signal.reason });
}

function closed(): ToolError {
  return new ToolError("unavailable", "The subscription was closed.");
}
