/** A channel for messages between agents and programs, in memory or kept in a store. */
import { Fifo } from "../core/collections/fifo.ts";
import { onAbort } from "../core/base/on-abort.ts";
import { plural } from "../core/base/wording.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import { checkArgument } from "../core/check-argument.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { Ports } from "../core/ports.ts";
import { notifySafely } from "../policy/notify-safely.ts";
import type { ChannelMessage } from "./channel-message.ts";
import { checkNonEmptyString, createMessage, type SendMessageOptions } from "./new-message.ts";
import type { StoredMessages } from "./stored-messages.ts";
import { createStoredSubscription, readUntilAborted } from "./stored-subscription.ts";
import { isMessageFor, type MessageReader, type ReadMessage, type ReaderOptions } from "./message-reader.ts";
import { Subscription, waitCancelledError } from "./subscription.ts";

/** `queue`: each message goes to one receiver; `broadcast`: to each subscriber except its sender. */
export type ChannelKind = "queue" | "broadcast";

/** Options of a channel. */
export interface ChannelOptions {
  /** @default "queue" */
  readonly kind?: ChannelKind;
  /** Its purpose, as `list_channels` shows it. */
  readonly description?: string;
  /** Maximum number of waiting messages: in total for a queue, for each subscriber of a broadcast. Integer ≥ 1. @default 1_000 */
  readonly capacity?: number;
  /** Whether senders to a full channel wait for room, or are refused with `resource_busy`. @default "wait" */
  readonly whenFull?: "wait" | "refuse";
}

/** Options of a subscription. */
export interface SubscribeOptions {
  /** Whether the subscription takes a message; the others are left to other subscriptions. @default all */
  readonly accepts?: (message: ChannelMessage) => boolean;
}

/** Default of `ChannelOptions.capacity`. */
export const DEFAULT_CAPACITY = 1_000;

/** The reader id of an observer, which receives the messages of every sender. */
const NO_SENDER = "";
/** Number of latest messages kept for `history` and `latest`. */
const MAX_HISTORY = 200;

interface Reader {
  readonly subscription: Subscription;
  readonly takes: (message: ChannelMessage) => boolean;
  /** The messages that wait for this reader, if the channel is a broadcast. */
  readonly backlog: Fifo<ChannelMessage>;
}

interface Sender {
  readonly message: ChannelMessage;
  readonly resolve: () => void;
  readonly reject: (error: ToolError) => void;
}

/** A channel that delivers each message to one receiver or to all, in the order they were sent. Made by `Channels.open`. */
export class Channel {
  readonly name: string;
  readonly kind: ChannelKind;
  readonly description: string;
  readonly capacity: number;
  readonly whenFull: "wait" | "refuse";
  readonly #ports: Ports;
  readonly #readers = new Set<Reader>();
  readonly #observers = new Set<(message: ChannelMessage) => void>();
  readonly #queue = new Fifo<ChannelMessage>();
  readonly #history: ChannelMessage[] = [];
  /** Senders that wait for room, in order of arrival. */
  readonly #senders = new Fifo<Sender>();
  readonly #stored: StoredMessages | undefined;
  #storedReaders = 0;

  /** @internal */
  constructor(
    name: string,
    options: ChannelOptions,
    { ports, stored }: { readonly ports: Ports; readonly stored?: StoredMessages | undefined },
  ) {
    this.name = name;
    this.kind = options.kind ?? "queue";
    this.description = options.description ?? "";
    this.capacity = options.capacity ?? DEFAULT_CAPACITY;
    this.whenFull = options.whenFull ?? "wait";
    this.#ports = ports;
    this.#stored = stored;
  }

  /** The latest messages, at most 200, oldest first; of all processes if kept in a store. @throws ToolError `store_failed`, as a rejection */
  async latest(): Promise<readonly ChannelMessage[]> {
    return this.#stored === undefined ? this.history : this.#stored.latest();
  }

  /** As `waiting`, but for a queue that is kept in a store, the number in the store. @throws ToolError `store_failed`, as a rejection */
  async countWaiting(): Promise<number> {
    return this.#stored === undefined || this.kind === "broadcast" ? this.waiting : this.#stored.waiting();
  }

  /** The latest messages that were sent in this program, at most 200, oldest first. */
  get history(): readonly ChannelMessage[] {
    return [...this.#history];
  }

  /** Number of messages in this program that wait to be received; for a broadcast, those of the subscriber with the most unread messages. */
  get waiting(): number {
    if (this.kind === "queue") return this.#queue.length;
    let most = 0;
    for (const { backlog } of this.#readers) most = Math.max(most, backlog.length);
    return most;
  }

  /** Number of subscriptions in this program. */
  get subscribers(): number {
    return this.#readers.size + this.#storedReaders;
  }

  /**
   * Sends a message. Resolves to it once the channel has it; if the channel is kept in a store, once the message is durable. If the channel is full,
   * waits for room or rejects, as `whenFull` says.
   *
   * @throws ToolError `invalid_argument`; `not_json`; `too_large` if the content or the metadata has more than 8,388,608 characters, or the metadata more
   * than 100,000 values or 64 levels; `resource_busy` if the channel is full and refuses; `cancelled` if the signal aborts, or the channel is
   * removed from memory, before there is room, and then nothing was sent; `store_failed`. All as a rejection
   */
  async send(content: string, options: SendMessageOptions): Promise<ChannelMessage> {
    const message = createMessage(content, options, { channel: this.name, ports: this.#ports });
    const { signal, whenFull = this.whenFull } = options;
    if (signal?.aborted === true) throw waitCancelledError(signal);
    if (this.#stored !== undefined) {
      const isKept = await this.#stored.send(message);
      if (!isKept && whenFull === "refuse") throw this.#fullError();
      if (!isKept) await this.#stored.sendInTurn(message, signal);
      this.#addToHistory(message);
    } else if (this.#senders.length === 0 && this.#hasRoomFor(message)) this.#acceptMessage(message);
    else if (whenFull === "refuse") throw this.#fullError();
    else await this.#waitForRoom(message, signal);
    return message;
  }

  /**
   * Begins to read: the messages sent from now on if the channel is a broadcast, the waiting messages if it is a queue.
   *
   * @param subscriber identifies the reader, which never receives its own messages: see `senderId`
   */
  subscribe(subscriber: string, options: SubscribeOptions = {}): Subscription {
    checkKnownKeys(options, { accepts: "function" }, "subscribe()");
    checkNonEmptyString(subscriber, "subscriber of a channel");
    const { accepts } = options;
    if (this.#stored !== undefined) return this.#subscribeToStored(this.#stored, subscriber, accepts);
    const takes = (message: ChannelMessage): boolean =>
      message.senderId !== subscriber && (accepts === undefined || this.#callFilter(accepts, message));
    const backlog = new Fifo<ChannelMessage>();
    const subscription = new Subscription({
      take: () => this.#takeNext(reader),
      release: (message) => this.#release(reader, message),
      end: () => this.#removeReader(reader),
    });
    const reader: Reader = { subscription, takes, backlog };
    this.#readers.add(reader);
    return subscription;
  }

  /** Calls the listener with each message as it is sent, and logs what it throws. The returned function ends the observation. */
  observe(listener: (message: ChannelMessage) => void): () => void {
    checkArgument(typeof listener === "function", "observe()", "a function", listener);
    const own = (message: ChannelMessage): void => listener(message);
    this.#observers.add(own);
    const ended = new AbortController();
    const onMessage = async ({ message, done }: ReadMessage): Promise<void> => {
      this.#notifyObserver(own, message);
      await done();
    };
    const reader = this.#stored?.broadcastReader({ reader: NO_SENDER });
    if (reader !== undefined) void readUntilAborted({ reader, onMessage, ports: this.#ports, signal: ended.signal });
    return () => {
      this.#observers.delete(own);
      ended.abort();
    };
  }

  /** Number of the latest message of a broadcast kept in a store, else undefined. @throws ToolError `store_failed`, as a rejection @internal */
  async lastNumber(): Promise<number | undefined> {
    return this.kind === "broadcast" ? this.#stored?.lastNumber() : undefined;
  }

  /** Begins to read as `subscribe` does, for a reader that confirms each message it has received. @internal */
  reader(options: ReaderOptions): MessageReader {
    if (this.#stored === undefined) return this.#memoryReader(options);
    this.#storedReaders += 1;
    const { next } = this.#stored.reader(options);
    let end = (): void => void (this.#storedReaders -= 1);
    const close = (): void => {
      end();
      end = () => {};
    };
    return { next, close };
  }

  #memoryReader(options: ReaderOptions): MessageReader {
    const subscription = this.subscribe(options.reader, { accepts: (message) => isMessageFor(options, message) });
    return {
      async next(signal) {
        const message = await subscription.receive({ signal }).catch(() => undefined); // the wait was aborted, or the subscription closed
        if (message === undefined) return undefined;
        return { message, tick: undefined, done: async () => {}, release: async () => subscription.release(message) };
      },
      close: () => subscription.close(),
    };
  }

  #subscribeToStored(stored: StoredMessages, subscriber: string, accepts: SubscribeOptions["accepts"]): Subscription {
    if (this.kind === "queue" && accepts !== undefined)
      throw new ToolError(
        "invalid_argument",
        "A queue that is kept in a store delivers all messages to its subscribers: accepts is not supported.",
      );
    this.#storedReaders += 1;
    return createStoredSubscription({
      reader: stored.reader({ reader: subscriber }),
      isQueue: this.kind === "queue",
      accepts: (message) => accepts === undefined || this.#callFilter(accepts, message),
      sendBack: (message) => stored.sendBack(message),
      ports: this.#ports,
      onEnd: () => void (this.#storedReaders -= 1),
    });
  }

  #addToHistory(message: ChannelMessage): void {
    this.#history.push(message);
    if (this.#history.length > MAX_HISTORY) this.#history.shift();
  }

  #acceptMessage(message: ChannelMessage): void {
    this.#addToHistory(message);
    if (this.kind === "queue") this.#queue.push(message);
    else for (const { backlog, takes } of this.#readers) if (takes(message)) backlog.push(message);
    for (const observer of this.#observers) this.#notifyObserver(observer, message);
    for (const { subscription } of this.#readers) if (subscription.isWaiting) subscription.deliver();
  }

  #hasRoomFor(message: ChannelMessage): boolean {
    if (this.kind === "queue") return this.#queue.length < this.capacity;
    for (const { backlog, takes } of this.#readers) if (backlog.length >= this.capacity && takes(message)) return false;
    return true;
  }

  async #waitForRoom(message: ChannelMessage, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const sender: Sender = { message, resolve, reject };
    this.#senders.push(sender);
    const stop = (): void => {
      if (signal === undefined || !this.#senders.remove(sender)) return; // the message was sent already
      reject(waitCancelledError(signal));
      this.#admitSenders(); // the senders after it may have readers with room
    };
    await (signal === undefined ? promise : promise.finally(onAbort(signal, stop)));
  }

  /** Rejects the waiting senders, because the channel was removed and no room will be made. @internal */
  rejectSenders(): void {
    const message = `The channel ${JSON.stringify(this.name)} was removed while the message waited for room.`;
    for (const { reject } of this.#senders.takeAll()) reject(new ToolError("cancelled", message, { outcome: "not_started" }));
  }

  /** Admits waiting senders strictly in order. */
  #admitSenders(): void {
    for (let first = this.#senders.first; first !== undefined && this.#hasRoomFor(first.message); first = this.#senders.first) {
      this.#senders.shift();
      this.#acceptMessage(first.message);
      first.resolve();
    }
  }

  #takeNext(reader: Reader): ChannelMessage | undefined {
    const { backlog, takes } = reader;
    if (this.kind === "broadcast") {
      const next = backlog.shift();
      if (next !== undefined) this.#admitSenders();
      return next;
    }
    const message = this.#queue.take(takes);
    if (message !== undefined) this.#admitSenders();
    return message;
  }

  /** Puts a message back at the front, because it is older than all waiting messages. May exceed the capacity for a while. */
  #release(reader: Reader, message: ChannelMessage): void {
    if (this.kind === "queue") this.#queue.unshift(message);
    else if (this.#readers.has(reader)) reader.backlog.unshift(message);
    for (const { subscription } of this.#readers) if (subscription.isWaiting) subscription.deliver();
  }

  #removeReader(reader: Reader): void {
    this.#readers.delete(reader);
    this.#admitSenders();
  }

  #callFilter(accepts: (message: ChannelMessage) => boolean, message: ChannelMessage): boolean {
    try {
      return accepts(message);
    } catch (thrown: unknown) {
      this.#warn("The filter of a subscription", thrown);
      return false;
    }
  }

  #notifyObserver(observer: (message: ChannelMessage) => unknown, message: ChannelMessage): void {
    notifySafely(
      () => observer(message),
      (thrown) => this.#warn("An observer", thrown),
    );
  }

  #warn(who: string, thrown: unknown): void {
    try {
      this.#ports.log.warn(`${who} of the channel ${JSON.stringify(this.name)} threw: ${describeThrown(thrown)}`);
    } catch {
      // the log itself threw: there is nowhere left to report to
    }
  }

  #fullError(): ToolError {
    const waiting = plural(this.capacity, "message");
    const full = this.kind === "queue" ? `it holds ${waiting}, which is its capacity` : `a subscriber has not read ${waiting} yet`;
    return new ToolError("resource_busy", `The channel ${JSON.stringify(this.name)} is full: ${full}.`, {
      retryable: true,
      outcome: "not_started",
      hint: "Try again when some have been received.",
    });
  }
}
