/** The messages of one channel that are kept in a store: every process of the store reads the same. */
import type { ChannelEntry, ChannelEntryKey, ChannelStore } from "../core/channel-store.ts";
import { parseJson } from "../core/base/parse-json.ts";
import { EVENT_LIMITS } from "../core/recording/read-event.ts";
import type { Ports } from "../core/ports.ts";
import type { Store } from "../core/store.ts";
import type { StoreFollower } from "../core/store-changes.ts";
import type { ChannelMessage } from "./channel-message.ts";
import { isFor, type MessageReader, type ReadMessage, type ReaderOptions, type ReaderSince } from "./message-reader.ts";
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

export class KeptMessages {
  readonly #options: KeptMessagesOptions;
  readonly #waiting = new Set<() => void>();
  /** Subscriptions that do not know yet which messages were sent before them. */
  readonly #starting = new Set<Promise<unknown>>();
  /** Senders that wait for room: the first of them tries, the others wait for their turn. */
  readonly #senders: (() => void)[] = [];
  /** Messages of a queue that were received while the store failed: they are ended before another one is taken. */
  readonly #received = new Set<ChannelEntryKey>();
  #following: StoreFollower | undefined;
  #cancelLook: (() => void) | undefined;
  #last = 0;
  #looks = 0;

  constructor(options: KeptMessagesOptions) {
    this.#options = options;
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
    let start: Promise<number> | undefined = this.#start(options.since);
    let after: number | undefined;
    let read: readonly ChannelEntry[] = [];
    const nextOf = async (): Promise<ReadMessage | undefined> => {
      start ??= this.#start(options.since);
      after ??= await start.catch((error: unknown) => {
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
    const { store, name: channel } = this.#options;
    const nextOf = async (): Promise<ReadMessage | undefined> => {
      for (const received of this.#received) await this.#end(received);
      const entry = await store.channels.take({ channel, reader, from });
      if (entry === undefined) return undefined;
      const key = { channel, number: entry.number };
      const giveBack = async (): Promise<void> => {
        await store.channels.giveBack(key);
        this.#wake();
      };
      return { message: messageOf(entry), tick: undefined, done: () => this.#end(key), giveBack };
    };
    return { next: (signal) => this.#wait(nextOf, signal), close() {} };
  }

  async #end(key: ChannelEntryKey): Promise<void> {
    this.#received.add(key);
    await this.#options.store.channels.end(key);
    this.#received.delete(key);
    if (this.#senders.length > 0) this.#wake();
  }

  /** The number after which messages are read. Clocks of processes may differ from that of the store, so what comes after an addition counts. */
  async #firstAfter(since: ReaderSince | undefined): Promise<number> {
    if (since?.lastTick !== undefined) return since.lastTick;
    if (since?.isNew === false) return since.addedAt;
    const last = await this.#options.store.channels.last(this.#options.name);
    return Math.min(last, since?.addedAt ?? last);
  }

  /** Messages that are sent meanwhile wait for it. */
  #start(since: ReaderSince | undefined): Promise<number> {
    const start = this.#firstAfter(since);
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
    this.#following ??= this.#options.store.follow(({ parts }) => {
      if (parts.includes("channels")) this.#wake();
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
