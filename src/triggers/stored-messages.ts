/** The messages of one channel that are kept in a store, and shared by all processes of the store. */
import { Fifo } from "../core/collections/fifo.ts";
import { onAbort } from "../core/base/on-abort.ts";
import type { ChannelEntry, ChannelStore, TakeEntry } from "../core/store/channel-store.ts";
import { ToolError } from "../core/error.ts";
import { mayRecoverLater } from "../core/store/store-refusal.ts";
import { parseJson } from "../core/base/parse-json.ts";
import { EVENT_LIMITS } from "../core/recording/read-event.ts";
import type { Ports } from "../core/ports.ts";
import type { Store } from "../core/store/store.ts";
import type { StoreFollower } from "../core/store/store-changes.ts";
import type { ChannelMessage } from "./channel-message.ts";
import { getHeldMessages, getHeldQueues, forgetIfUnused, type HeldMessages, type Settlement } from "./held-messages.ts";
import { isMessageFor, type MessageReader, type ReadMessage, type ReaderOptions } from "./message-reader.ts";
import { waitCancelledError } from "./subscription.ts";

/** The part of a store that keeps the messages of channels. */
export type ChannelMessageStore = Pick<Store, "follow"> & { readonly channels: ChannelStore };

export interface StoredMessagesOptions {
  readonly store: ChannelMessageStore;
  readonly ports: Pick<Ports, "clock" | "log">;
  readonly name: string;
  readonly isQueue: boolean;
  readonly capacity: number;
}

/** How often to poll for messages of other processes, in milliseconds. */
const POLL_MS = 1_000;
/** The same if processes notify each other. */
const LIVE_POLL_MS = 5_000;
/** A waiting reader tries a queue on every Nth poll even without news: the process that had taken a message may be gone. */
const RETRY_EVERY_POLLS = 5;
/** Number of latest messages kept for `latest`. */
const HISTORY = 200;
const PAGE = 100;
/** How long after a failure a message is settled again, in milliseconds. */
const SETTLE_RETRY_MS = 1_000;

export class StoredMessages {
  readonly #options: StoredMessagesOptions;
  readonly #waiting = new Set<() => void>();
  /** Look-ups of the position where a new subscription starts. Messages are sent after they end. */
  readonly #starting = new Set<Promise<unknown>>();
  /** Senders that wait for room. The first tries to send, the others wait for their turn. */
  readonly #senders = new Fifo<() => void>();
  /** Shared with other objects over the same store. */
  readonly #queues: Map<string, HeldMessages>;
  #following: StoreFollower | undefined;
  #cancelPoll: (() => void) | undefined;
  #last = 0;
  #polls = 0;

  constructor(options: StoredMessagesOptions) {
    this.#options = options;
    this.#queues = getHeldQueues(options.store.channels);
  }

  /** The record of this queue. Not valid after an await. */
  get #held(): HeldMessages {
    return getHeldMessages(this.#queues, this.#options.name);
  }

  /** Resolves to whether the store has taken the message: false if the queue is full, or other senders wait for room already. */
  async send(message: ChannelMessage): Promise<boolean> {
    return this.#senders.length === 0 && this.#send(message);
  }

  /** Sends after the senders that wait already. @throws ToolError `cancelled` if the signal aborts before; `store_failed`. As a rejection */
  async sendInTurn(message: ChannelMessage, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#senders.push(resolve);
    const forget = signal === undefined ? undefined : onAbort(signal, resolve);
    try {
      if (this.#senders.first !== resolve) await promise;
      for (;;) {
        if (signal?.aborted === true) throw waitCancelledError(signal);
        const change = this.#nextChange(signal); // before the attempt, so that no change is missed
        try {
          if (await this.#send(message)) return;
          await change.promise;
        } finally {
          change.stop();
        }
      }
    } finally {
      forget?.();
      this.#senders.remove(resolve);
      this.#senders.first?.();
    }
  }

  async #send(message: ChannelMessage): Promise<boolean> {
    const { store, name, isQueue, capacity } = this.#options;
    while (this.#starting.size > 0) await Promise.allSettled(this.#starting);
    const { sender, senderId } = message;
    const entry = { channel: name, body: JSON.stringify(message), sender, senderId, keep: isQueue ? HISTORY : this.#retained };
    const number = await store.channels.send(isQueue ? { ...entry, capacity } : entry);
    if (number > 0) this.#wakeWaiters();
    return number > 0;
  }

  /** Sends a message of a queue again, which a reader had received, even if the queue is full. @throws ToolError `store_failed`, as a rejection */
  async sendBack(message: ChannelMessage): Promise<void> {
    const { store, name } = this.#options;
    const { sender, senderId } = message;
    const entry = { channel: name, body: JSON.stringify(message), sender, senderId, keep: HISTORY };
    await store.channels.send({ ...entry, capacity: Number.MAX_SAFE_INTEGER });
    this.#wakeWaiters();
  }

  /** Minimum number of messages of a broadcast that are kept. */
  get #retained(): number {
    return Math.max(this.#options.capacity, HISTORY);
  }

  /** The latest messages, at most 200, oldest first. */
  async latest(): Promise<readonly ChannelMessage[]> {
    const { store, name } = this.#options;
    return (await store.channels.latest({ channel: name, limit: HISTORY })).map(messageOf);
  }

  /** Number of waiting messages of a queue. */
  waiting(): Promise<number> {
    return this.#options.store.channels.waiting(this.#options.name);
  }

  reader(options: ReaderOptions): MessageReader {
    return this.#options.isQueue ? this.#queueReader(options) : this.broadcastReader(options);
  }

  /** Reads all messages, even of a queue, without taking them. */
  broadcastReader(options: ReaderOptions): MessageReader {
    let start = options.after === undefined ? this.#findStart() : undefined;
    let { after } = options;
    let read: readonly ChannelEntry[] = [];
    const nextOf = async (): Promise<ReadMessage | undefined> => {
      after ??= await (start ??= this.#findStart()).catch((error: unknown) => {
        start = undefined; // the next call looks it up again
        throw error;
      });
      for (;;) {
        if (read.length === 0) read = await this.#readPage(after);
        const [entry] = read;
        if (entry === undefined) return undefined;
        const pass = async (): Promise<void> => {
          read = read.slice(1);
          after = entry.number;
        };
        const message = messageOf(entry);
        if (isMessageFor(options, message)) return { message, tick: entry.number, done: pass, release: async () => {} };
        await pass();
      }
    };
    return { next: (signal) => this.#waitForNext(nextOf, signal), close() {} };
  }

  /** Reads the next page of a broadcast. Logs a warning if messages may have been removed before they were read. */
  async #readPage(after: number): Promise<readonly ChannelEntry[]> {
    const { store, name: channel, ports, isQueue } = this.#options;
    const read = await store.channels.read({ channel, after, limit: PAGE });
    if (isQueue || read.length < PAGE) return read;
    const [oldest] = await store.channels.read({ channel, after: 0, limit: 1 });
    if (oldest?.number !== read[0]?.number) return read;
    const kept = await store.channels.read({ channel, after, limit: this.#retained });
    if (kept.length >= this.#retained)
      ports.log.warn(
        `A reader of the channel ${JSON.stringify(channel)} is more than ${this.#retained} messages behind: it may have missed older ones. A larger capacity keeps more.`,
      );
    return read;
  }

  #queueReader({ reader, from }: ReaderOptions): MessageReader {
    const nextOf = async (): Promise<ReadMessage | undefined> => {
      while (this.#isUnsettled) await this.#settleUnsettled(); // in a loop, so that nothing becomes unsettled before the next message is requested
      const entry = await this.#take({ channel: this.#options.name, reader, from });
      if (entry === undefined) return undefined;
      const { number } = entry;
      const hold = this.#held.holds.get(number);
      const settle = (settlement: Settlement) => (): Promise<void> => this.#settle(number, settlement, hold);
      return { message: messageOf(entry), tick: undefined, done: settle("end"), release: settle("release") };
    };
    return { next: (signal) => this.#waitForNext(nextOf, signal), close() {} };
  }

  /** Takes the next message. If a reader of this process held it before, it was given back, even if the answer of the store was lost. */
  async #take(query: TakeEntry): Promise<ChannelEntry | undefined> {
    const taking = this.#options.store.channels.take(query);
    this.#held.taking.add(taking);
    try {
      const entry = await taking;
      if (entry === undefined) return undefined;
      this.#held.unsettled.delete(entry.number);
      this.#held.holds.set(entry.number, {});
      return entry;
    } finally {
      this.#held.taking.delete(taking);
      forgetIfUnused(this.#queues, this.#options.name);
    }
  }

  /** Settles a message. After a failure a timer tries again, because no reader may be left in this process. */
  async #settle(number: number, settlement: Settlement, hold: object | undefined): Promise<void> {
    const { store, name } = this.#options;
    try {
      await store.channels[settlement]({ channel: name, number });
    } catch (thrown: unknown) {
      if (this.#queues.get(name)?.holds.get(number) !== hold) return; // another reader has the message: only the answer was lost
      this.#held.unsettled.set(number, settlement);
      this.#settleLater(thrown);
      throw thrown;
    }
    const held = this.#queues.get(name);
    if (held !== undefined && held.holds.get(number) === hold) {
      held.unsettled.delete(number);
      held.holds.delete(number);
      forgetIfUnused(this.#queues, name);
    }
    if (settlement === "release" || this.#senders.length > 0) this.#wakeWaiters();
  }

  get #isUnsettled(): boolean {
    return (this.#queues.get(this.#options.name)?.unsettled.size ?? 0) > 0;
  }

  /** Settles messages, one run at a time and never during a take: one that is given back twice may be another reader's by then. */
  async #settleUnsettled(): Promise<void> {
    if (!this.#isUnsettled) return;
    const settleEach = async (): Promise<void> => {
      while (this.#held.taking.size > 0) await Promise.allSettled(this.#held.taking);
      for (const [number, settlement] of this.#held.unsettled) await this.#settle(number, settlement, this.#held.holds.get(number));
    };
    const settled = (): void => {
      this.#held.settling = undefined;
      forgetIfUnused(this.#queues, this.#options.name);
    };
    await (this.#held.settling ??= settleEach().finally(settled));
  }

  /** Schedules another attempt, unless the store is closed, which released its messages, or fails for good, so that the next take rejects. */
  #settleLater(thrown: unknown): void {
    if (this.#held.isSettleScheduled || !mayRecoverLater(ToolError.fromUnknown(thrown))) return;
    this.#held.isSettleScheduled = true;
    const settle = (): void => {
      this.#held.isSettleScheduled = false;
      forgetIfUnused(this.#queues, this.#options.name);
      this.#settleUnsettled().catch(() => {}); // a failure schedules the next attempt
    };
    this.#options.ports.clock.timer(settle, SETTLE_RETRY_MS, { background: true });
  }

  /** The number of the latest message; 0 if there is none. */
  async lastNumber(): Promise<number> {
    return this.#options.store.channels.last(this.#options.name);
  }

  /** Looks up where a new subscription starts. Sends wait until it is known. */
  #findStart(): Promise<number> {
    const start = this.lastNumber();
    this.#starting.add(start);
    const forget = (): boolean => this.#starting.delete(start);
    start.then(forget, forget); // the first read rejects with the error
    return start;
  }

  async #waitForNext(nextOf: () => Promise<ReadMessage | undefined>, signal: AbortSignal): Promise<ReadMessage | undefined> {
    while (!signal.aborted) {
      const change = this.#nextChange(signal); // before the read, so that no change is missed
      try {
        const next = await nextOf();
        if (next !== undefined && !signal.aborted) return next;
        await next?.release();
        await change.promise;
      } finally {
        change.stop();
      }
    }
    return undefined;
  }

  #nextChange(signal: AbortSignal | undefined): { readonly promise: Promise<void>; stop(): void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    let forget = (): void => {};
    const stop = (): void => {
      forget();
      if (this.#waiting.delete(stop) && this.#waiting.size === 0) this.#stopPolling();
      resolve();
    };
    this.#waiting.add(stop);
    if (signal !== undefined) forget = onAbort(signal, stop);
    this.#following ??= this.#options.store.follow(({ parts, channels }) => {
      if (parts.includes("channels") && channels?.includes(this.#options.name) !== false) this.#wakeWaiters();
    });
    this.#schedulePoll();
    return { promise, stop };
  }

  #wakeWaiters(): void {
    for (const stop of this.#waiting) stop(); // no waiter is added during the loop
  }

  #stopPolling(): void {
    this.#cancelPoll?.();
    this.#cancelPoll = undefined;
    this.#following?.stop();
    this.#following = undefined;
  }

  #schedulePoll(): void {
    const ms = this.#following?.isLive === true ? LIVE_POLL_MS : POLL_MS;
    this.#cancelPoll ??= this.#options.ports.clock.timer(() => void this.#poll(), ms, { background: true });
  }

  /** Never rejects: the waiting readers get the error themselves. */
  async #poll(): Promise<void> {
    this.#cancelPoll = undefined;
    const { isQueue } = this.#options;
    const last = await this.lastNumber().catch(() => undefined);
    const mayBeFree = isQueue && ++this.#polls % RETRY_EVERY_POLLS === 0;
    if (last === this.#last && !mayBeFree && this.#senders.length === 0) {
      if (this.#waiting.size > 0) this.#schedulePoll();
      return;
    }
    this.#last = last ?? 0;
    this.#wakeWaiters();
  }
}

function messageOf({ body }: ChannelEntry): ChannelMessage {
  return Object.freeze(parseJson(body, EVENT_LIMITS) as unknown as ChannelMessage); // as written by `#send`
}
