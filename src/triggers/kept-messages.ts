/** The messages of one channel that are kept in a store: every process of the store reads the same. */
import type { ChannelEntry, ChannelStore } from "../core/channel-store.ts";
import { parseJson } from "../core/base/parse-json.ts";
import { EVENT_LIMITS } from "../core/recording/read-event.ts";
import type { Clock } from "../core/ports.ts";
import type { Store } from "../core/store.ts";
import type { StoreFollower } from "../core/store-changes.ts";
import type { ChannelMessage } from "./channel-message.ts";
import { isFor, type MessageReader, type ReadMessage, type ReaderOptions, type ReaderSince } from "./message-reader.ts";

/** A store that keeps messages on channels. */
export type ChannelKeeper = Pick<Store, "follow"> & { readonly channels: ChannelStore };

export interface KeptMessagesOptions {
  readonly store: ChannelKeeper;
  readonly clock: Clock;
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
  #following: StoreFollower | undefined;
  #cancelLook: (() => void) | undefined;
  #last = 0;
  #looks = 0;

  constructor(options: KeptMessagesOptions) {
    this.#options = options;
  }

  /** False for a queue that is full. */
  async send(message: ChannelMessage): Promise<boolean> {
    const { store, name, isQueue, capacity } = this.#options;
    while (this.#starting.size > 0) await Promise.allSettled(this.#starting);
    const { sender, senderId } = message;
    const entry = { channel: name, body: JSON.stringify(message), sender, senderId, keep: isQueue ? HISTORY : Math.max(capacity, HISTORY) };
    const number = await store.channels.send(isQueue ? { ...entry, capacity } : entry);
    if (number > 0) this.#wake();
    return number > 0;
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
    const { store, name: channel } = this.#options;
    const start = this.#start(options.since);
    let after: number | undefined;
    let read: readonly ChannelEntry[] = [];
    const nextOf = async (): Promise<ReadMessage | undefined> => {
      after ??= await start;
      for (;;) {
        if (read.length === 0) read = await store.channels.read({ channel, after, limit: PAGE });
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

  #queueReader({ reader, from }: ReaderOptions): MessageReader {
    const { store, name: channel } = this.#options;
    const nextOf = async (): Promise<ReadMessage | undefined> => {
      const entry = await store.channels.take({ channel, reader, from });
      if (entry === undefined) return undefined;
      const key = { channel, number: entry.number };
      const giveBack = async (): Promise<void> => {
        await store.channels.giveBack(key);
        this.#wake();
      };
      return { message: messageOf(entry), tick: undefined, done: () => store.channels.end(key), giveBack };
    };
    return { next: (signal) => this.#wait(nextOf, signal), close() {} };
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

  /** Resolves when there may be room for another message, or the signal aborts. */
  async whenChanged(signal: AbortSignal | undefined): Promise<void> {
    await this.#change(signal).promise;
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
    this.#cancelLook ??= this.#options.clock.timer(() => void this.#look(), ms, { background: true });
  }

  /** Never rejects: those who wait see themselves what is wrong. */
  async #look(): Promise<void> {
    this.#cancelLook = undefined;
    const { store, name, isQueue } = this.#options;
    const last = await store.channels.last(name).catch(() => undefined);
    const mayBeFree = isQueue && ++this.#looks % TRY_AGAIN === 0;
    if (last === this.#last && !mayBeFree) {
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
