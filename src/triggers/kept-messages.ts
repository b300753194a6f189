/** The messages of one channel that are kept in a store: every process of the store reads the same. */
import type { ChannelEntry, ChannelStore, TakeEntry } from "../core/channel-store.ts";
import { ToolError } from "../core/error.ts";
import { mayServeLater } from "../core/store-refusal.ts";
import { parseJson } from "../core/base/parse-json.ts";
import { EVENT_LIMITS } from "../core/recording/read-event.ts";
import type { Ports } from "../core/ports.ts";
import type { Store } from "../core/store.ts";
import type { StoreFollower } from "../core/store-changes.ts";
import type { ChannelMessage } from "./channel-message.ts";
import { heldOf, heldQueues, letGo, type HeldMessages, type Settlement } from "./held-messages.ts";
import { isFor, type MessageReader, type ReadMessage, type ReaderOptions } from "./message-reader.ts";
import { cancelled } from "./subscription.ts";

/** A store that keeps messages on channels. */
export type ChannelKeeper = Pick<Store, "follow"> & { readonly channels: ChannelStore };

export interface KeptMessagesOptions {
  readonly store: ChannelKeeper;
  readonly ports: Pick<Ports, "clock" | "log">;
  readonly name: string;
  readonly isQueue: boolean;
  readonly capacity: number;
}

/** How often it is looked whether another process has sent something. */
const LOOK_MS = 1_000;
/** The same where the processes tell each other. */
const LIVE_LOOK_MS = 5_000;
/** A queue is tried with every so many looks: a process that had taken a message may be gone. */
const TRY_AGAIN = 5;
/** So many messages are kept for those who look at them. */
const HISTORY = 200;
const PAGE = 100;
/** How long after a failure it is tried again to settle a message. */
const SETTLE_AGAIN_MS = 1_000;

export class KeptMessages {
  readonly #options: KeptMessagesOptions;
  readonly #waiting = new Set<() => void>();
  /** Subscriptions that do not know yet which messages were sent before them. */
  readonly #starting = new Set<Promise<unknown>>();
  /** Senders that wait for room: the first of them tries, the others wait for their turn. */
  readonly #senders: (() => void)[] = [];
  /** Other objects over the same store share them. */
  readonly #queues: Map<string, HeldMessages>;
  #following: StoreFollower | undefined;
  #cancelLook: (() => void) | undefined;
  #last = 0;
  #looks = 0;

  constructor(options: KeptMessagesOptions) {
    this.#options = options;
    this.#queues = heldQueues(options.store.channels);
  }

  /** Of a queue. Not to be kept over an await. */
  get #held(): HeldMessages {
    return heldOf(this.#queues, this.#options.name);
  }

  /** Resolves to whether the store has the message: to false for a queue that is full, or whose room others wait for already. */
  async send(message: ChannelMessage): Promise<boolean> {
    return this.#senders.length === 0 && this.#send(message);
  }

  /** Sends after those that wait already. @throws ToolError `cancelled` when the signal aborts before there is room; `store_failed`. By rejecting */
  async sendInTurn(message: ChannelMessage, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const onAbort = (): void => resolve();
    this.#senders.push(resolve);
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      if (this.#senders[0] !== resolve) await promise;
      for (;;) {
        if (signal?.aborted === true) throw cancelled(signal);
        const change = this.#change(signal); // before the attempt, so that none is missed in between
        try {
          if (await this.#send(message)) return;
          await change.promise;
        } finally {
          change.stop();
        }
      }
    } finally {
      signal?.removeEventListener("abort", onAbort);
      this.#senders.splice(this.#senders.indexOf(resolve), 1);
      this.#senders[0]?.();
    }
  }

  async #send(message: ChannelMessage): Promise<boolean> {
    const { store, name, isQueue, capacity } = this.#options;
    while (this.#starting.size > 0) await Promise.allSettled(this.#starting);
    const { sender, senderId } = message;
    const entry = { channel: name, body: JSON.stringify(message), sender, senderId, keep: isQueue ? HISTORY : this.#keep };
    const number = await store.channels.send(isQueue ? { ...entry, capacity } : entry);
    if (number > 0) this.#wake();
    return number > 0;
  }

  /** How many messages of a broadcast are kept at least. */
  get #keep(): number {
    return Math.max(this.#options.capacity, HISTORY);
  }

  /** The latest messages, at most 200, the oldest first. */
  async latest(): Promise<readonly ChannelMessage[]> {
    const { store, name } = this.#options;
    return (await store.channels.latest({ channel: name, limit: HISTORY })).map(messageOf);
  }

  /** Of a queue. */
  waiting(): Promise<number> {
    return this.#options.store.channels.waiting(this.#options.name);
  }

  reader(options: ReaderOptions): MessageReader {
    return this.#options.isQueue ? this.#queueReader(options) : this.broadcastReader(options);
  }

  /** Reads all messages, also of a queue, and takes none. */
  broadcastReader(options: ReaderOptions): MessageReader {
    let start = options.after === undefined ? this.#start() : undefined;
    let { after } = options;
    let read: readonly ChannelEntry[] = [];
    const nextOf = async (): Promise<ReadMessage | undefined> => {
      after ??= await (start ??= this.#start()).catch((error: unknown) => {
        start = undefined; // the next look asks again
        throw error;
      });
      for (;;) {
        if (read.length === 0) read = await this.#page(after);
        const [entry] = read;
        if (entry === undefined) return undefined;
        const pass = async (): Promise<void> => {
          read = read.slice(1);
          after = entry.number;
        };
        const message = messageOf(entry);
        if (isFor(options, message)) return { message, tick: entry.number, done: pass, giveBack: async () => {} };
        await pass();
      }
    };
    return { next: (signal) => this.#wait(nextOf, signal), close() {} };
  }

  /** Logs that messages may have been removed before they were read. */
  async #page(after: number): Promise<readonly ChannelEntry[]> {
    const { store, name: channel, ports, isQueue } = this.#options;
    const read = await store.channels.read({ channel, after, limit: PAGE });
    if (isQueue || read.length < PAGE) return read;
    const [oldest] = await store.channels.read({ channel, after: 0, limit: 1 });
    if (oldest?.number !== read[0]?.number) return read;
    const kept = await store.channels.read({ channel, after, limit: this.#keep });
    if (kept.length >= this.#keep)
      ports.log.warn(
        `A reader of the channel ${JSON.stringify(channel)} is more than ${this.#keep} messages behind: it may have missed older ones. A larger capacity keeps more.`,
      );
    return read;
  }

  #queueReader({ reader, from }: ReaderOptions): MessageReader {
    const nextOf = async (): Promise<ReadMessage | undefined> => {
      while (this.#isUnsettled) await this.#settleRest(); // nothing comes between the last look and the request for the next one
      const entry = await this.#take({ channel: this.#options.name, reader, from });
      if (entry === undefined) return undefined;
      const { number } = entry;
      const hold = this.#held.holds.get(number);
      const settle = (settlement: Settlement) => (): Promise<void> => this.#settle(number, settlement, hold);
      return { message: messageOf(entry), tick: undefined, done: settle("end"), giveBack: settle("giveBack") };
    };
    return { next: (signal) => this.#wait(nextOf, signal), close() {} };
  }

  /** Takes the next one. It was given back where a reader here had it, whether or not the store has said so. */
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
      letGo(this.#queues, this.#options.name);
    }
  }

  /** After a failure it is tried again by itself: no reader may be left here. */
  async #settle(number: number, settlement: Settlement, hold: object | undefined): Promise<void> {
    const { store, name } = this.#options;
    try {
      await store.channels[settlement]({ channel: name, number });
    } catch (thrown: unknown) {
      if (this.#queues.get(name)?.holds.get(number) !== hold) return; // another reader has it: only the answer was lost
      this.#held.unsettled.set(number, settlement);
      this.#settleLater(thrown);
      throw thrown;
    }
    const held = this.#queues.get(name);
    if (held !== undefined && held.holds.get(number) === hold) {
      held.unsettled.delete(number);
      held.holds.delete(number);
      letGo(this.#queues, name);
    }
    if (settlement === "giveBack" || this.#senders.length > 0) this.#wake();
  }

  get #isUnsettled(): boolean {
    return (this.#queues.get(this.#options.name)?.unsettled.size ?? 0) > 0;
  }

  /** Once at a time, and not while one is being taken: a message that is given back a second time may be another reader's by then. */
  async #settleRest(): Promise<void> {
    if (!this.#isUnsettled) return;
    const settleEach = async (): Promise<void> => {
      while (this.#held.taking.size > 0) await Promise.allSettled(this.#held.taking);
      for (const [number, settlement] of this.#held.unsettled) await this.#settle(number, settlement, this.#held.holds.get(number));
    };
    const settled = (): void => {
      this.#held.settling = undefined;
      letGo(this.#queues, this.#options.name);
    };
    await (this.#held.settling ??= settleEach().finally(settled));
  }

  /** A store that was closed has let go of what its process had taken; one that fails for good otherwise learns it when a message is taken next. */
  #settleLater(thrown: unknown): void {
    if (this.#held.settlesSoon || !mayServeLater(ToolError.fromUnknown(thrown))) return;
    this.#held.settlesSoon = true;
    const settle = (): void => {
      this.#held.settlesSoon = false;
      letGo(this.#queues, this.#options.name);
      this.#settleRest().catch(() => {}); // it is tried again
    };
    this.#options.ports.clock.timer(settle, SETTLE_AGAIN_MS, { background: true });
  }

  /** The number of the latest message; 0 before the first. */
  last(): Promise<number> {
    return this.#options.store.channels.last(this.#options.name);
  }

  /** Messages that are sent meanwhile wait for it. */
  #start(): Promise<number> {
    const start = this.last();
    this.#starting.add(start);
    const forget = (): boolean => this.#starting.delete(start);
    start.then(forget, forget); // the first message that is waited for rejects with it
    return start;
  }

  async #wait(nextOf: () => Promise<ReadMessage | undefined>, signal: AbortSignal): Promise<ReadMessage | undefined> {
    while (!signal.aborted) {
      const change = this.#change(signal); // before the look, so that none is missed in between
      try {
        const next = await nextOf();
        if (next !== undefined && !signal.aborted) return next;
        await next?.giveBack();
        await change.promise;
      } finally {
        change.stop();
      }
    }
    return undefined;
  }

  #change(signal: AbortSignal | undefined): { readonly promise: Promise<void>; stop(): void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = (): void => {
      signal?.removeEventListener("abort", stop);
      if (this.#waiting.delete(stop) && this.#waiting.size === 0) this.#rest();
      resolve();
    };
    this.#waiting.add(stop);
    signal?.addEventListener("abort", stop, { once: true });
    this.#following ??= this.#options.store.follow(({ parts, channels }) => {
      if (parts.includes("channels") && channels?.includes(this.#options.name) !== false) this.#wake();
    });
    this.#lookLater();
    return { promise, stop };
  }

  #wake(): void {
    for (const stop of this.#waiting) stop(); // none is added meanwhile
  }

  #rest(): void {
    this.#cancelLook?.();
    this.#cancelLook = undefined;
    this.#following?.stop();
    this.#following = undefined;
  }

  #lookLater(): void {
    const ms = this.#following?.isLive === true ? LIVE_LOOK_MS : LOOK_MS;
    this.#cancelLook ??= this.#options.ports.clock.timer(() => void this.#look(), ms, { background: true });
  }

  /** Never rejects: those who wait see themselves what is wrong. */
  async #look(): Promise<void> {
    this.#cancelLook = undefined;
    const { store, name, isQueue } = this.#options;
    const last = await store.channels.last(name).catch(() => undefined);
    const mayBeFree = isQueue && ++this.#looks % TRY_AGAIN === 0;
    if (last === this.#last && !mayBeFree && this.#senders.length === 0) {
      if (this.#waiting.size > 0) this.#lookLater();
      return;
    }
    this.#last = last ?? 0;
    this.#wake();
  }
}

function messageOf({ body }: ChannelEntry): ChannelMessage {
  return Object.freeze(parseJson(body, EVENT_LIMITS) as unknown as ChannelMessage); // as send() wrote it
}
