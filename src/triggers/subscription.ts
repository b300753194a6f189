/** One reader of a channel. */
import { Fifo } from "../core/collections/fifo.ts";
import { onAbort } from "../core/base/on-abort.ts";
import { formatCancelReason } from "../core/cancel-reason.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { ChannelMessage } from "./channel-message.ts";

/** Where a subscription takes its messages from, and gives them back to. */
export interface MessageSource {
  /** Removes and returns the first accepted message; undefined if there is none. */
  take(): ChannelMessage | undefined;
  release(message: ChannelMessage): void;
  /** Called when `take` returned none: either a reader waits for a message now, or it has polled and may poll again. */
  onDemand?(how: "wait" | "poll"): void;
  end(): void;
}

/** Options of a wait for a message. */
export interface ReceiveMessageOptions {
  readonly signal?: AbortSignal;
}

/** A reader of a channel. It never receives the messages that it has sent itself. */
export class Subscription implements AsyncIterable<ChannelMessage> {
  readonly #source: MessageSource;
  readonly #waiting = new Fifo<{ readonly resolve: (message: ChannelMessage) => void; readonly reject: (error: unknown) => void }>();
  #closed = false;

  /** @internal */
  constructor(source: MessageSource) {
    this.#source = source;
  }

  /** Whether a reader waits for a message. @internal */
  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /**
   * Waits for the next message and returns it.
   *
   * @throws ToolError `cancelled` if the signal aborts; `unavailable` once the subscription is closed. As a rejection
   */
  async receive(options: ReceiveMessageOptions = {}): Promise<ChannelMessage> {
    checkKnownKeys(options, { signal: "AbortSignal" }, "receive()");
    const { signal } = options;
    if (this.#closed) throw subscriptionClosedError();
    if (signal?.aborted === true) throw waitCancelledError(signal);
    const message = this.isWaiting ? undefined : this.#source.take(); // readers that wait already come first
    return message ?? (await this.#wait(signal));
  }

  /**
   * Returns the next message without waiting, or undefined if there is none. On a queue that is kept in a store, a poll that finds none requests one
   * from the store for a later `poll`. That message is held for this subscription until then, or until it is closed.
   */
  poll(): ChannelMessage | undefined {
    if (this.#closed || this.isWaiting) return undefined;
    const message = this.#source.take();
    if (message === undefined) this.#source.onDemand?.("poll");
    return message;
  }

  /**
   * Returns a message that was received to its channel, to be received again. If the channel is a queue that is kept in a store, this subscription holds
   * it, in memory, until it is closed; then other readers get it, after the messages that wait already.
   */
  release(message: ChannelMessage): void {
    this.#source.release(message);
  }

  /** Hands messages to the waiting readers. @internal */
  deliver(): void {
    for (let first = this.#waiting.shift(); first !== undefined; first = this.#waiting.shift()) {
      const message = this.#source.take(); // makes room, so another message may be sent and delivered inside this call
      if (message === undefined) return this.#waiting.unshift(first);
      first.resolve(message);
    }
  }

  /** Ends the subscription. The messages that a queue holds for it go to other readers. Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const { reject } of this.#waiting.takeAll()) reject(subscriptionClosedError());
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
    this.#source.onDemand?.("wait");
    if (signal === undefined) return promise;
    const stop = (): void => {
      if (!this.#waiting.remove(waiter)) return; // the message was delivered already
      reject(waitCancelledError(signal));
    };
    return promise.finally(onAbort(signal, stop));
  }
}

/** The error of a wait that its signal ended. */
export function waitCancelledError(signal: AbortSignal): ToolError {
  return signal.reason instanceof ToolError
    ? signal.reason
    : new ToolError("cancelled", `The wait was cancelled: ${formatCancelReason(signal)}.`, { cause: signal.reason });
}

function subscriptionClosedError(): ToolError {
  return new ToolError("unavailable", "The subscription was closed.");
}
