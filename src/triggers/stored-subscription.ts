/** Subscriptions of a program to a channel that is kept in a store. A message counts as received once the program has it. */
import { describeThrown } from "../core/error.ts";
import type { Ports } from "../core/ports.ts";
import type { ChannelMessage } from "./channel-message.ts";
import type { MessageReader, ReadMessage } from "./message-reader.ts";
import { Subscription } from "./subscription.ts";

/** How long after a failure of the store to read again, in milliseconds. */
const RETRY_DELAY_MS = 1_000;

export interface StoredSubscriptionOptions {
  readonly reader: MessageReader;
  /** Whether a message that was read is held, so that no other reader gets it. */
  readonly isQueue: boolean;
  readonly accepts: (message: ChannelMessage) => boolean;
  /** Sends a message of a queue again that its reader has received and released. */
  readonly sendBack: (message: ChannelMessage) => Promise<void>;
  readonly ports: Pick<Ports, "clock" | "log">;
  readonly onEnd: () => void;
}

/**
 * Makes a subscription that prefetches one message: always for a broadcast, after a poll for a queue. The prefetched message is given back when the
 * subscription is closed. A message that arrives when no reader waits for it any more is given back at once.
 */
export function createStoredSubscription(options: StoredSubscriptionOptions): Subscription {
  const { reader, isQueue, accepts, ports } = options;
  const [ended, timing] = [new AbortController(), new ReadTiming(isQueue)];
  const ready: ReadMessage[] = [];
  let room = Promise.withResolvers<void>();
  const subscription = new Subscription({
    take() {
      const first = ready.shift();
      if (first !== undefined) timing.markMet();
      if (ready.length === 0) room.resolve();
      first?.done().catch((thrown: unknown) => ports.log.warn(`A received message may be delivered again: ${describeThrown(thrown)}`));
      return first?.message;
    },
    release(message) {
      if (ended.signal.aborted) return void giveToOthers(message, options);
      ready.unshift({ message, tick: undefined, done: async () => {}, release: () => giveToOthers(message, options) });
      subscription.deliver();
    },
    onDemand: (how) => timing.request(how),
    end() {
      ended.abort();
      room.resolve();
      timing.request("wait");
      options.onEnd();
      for (const one of ready.splice(0)) one.release().catch(() => {}); // a closed store has given it back already
    },
  });
  const onMessage = async (read: ReadMessage): Promise<void> => {
    if (ended.signal.aborted) return read.release(); // the subscription was just closed
    if (!accepts(read.message)) return read.done();
    room = Promise.withResolvers();
    ready.push(read);
    subscription.deliver();
    if (ready.at(-1) === read && !timing.holdsForPoll) await ready.pop()?.release();
    else if (ready.length > 0) await room.promise;
  };
  const next = (signal: AbortSignal) => timing.waitUntilWanted(subscription, signal).then(() => reader.next(signal));
  void readUntilAborted({ reader: { ...reader, next }, onMessage, ports, signal: ended.signal });
  return subscription;
}

/** Gives a released message of a queue to other readers; those of a broadcast have it already. Never rejects. */
async function giveToOthers(message: ChannelMessage, { isQueue, sendBack, ports }: StoredSubscriptionOptions): Promise<void> {
  if (!isQueue) return;
  try {
    await sendBack(message);
  } catch (thrown: unknown) {
    ports.log.warn(`A message that was released could not be given back to its channel: ${describeThrown(thrown)}`);
  }
}

/** Decides when a message is read: always for a broadcast; for a queue once a reader waits or has polled. */
class ReadTiming {
  readonly #isQueue: boolean;
  #changed = Promise.withResolvers<void>();
  /** Whether a message is held until it is polled. */
  holdsForPoll: boolean;

  constructor(isQueue: boolean) {
    this.#isQueue = isQueue;
    this.holdsForPoll = !isQueue;
  }

  request(how: "wait" | "poll"): void {
    this.holdsForPoll ||= how === "poll";
    this.#changed.resolve();
  }

  markMet(): void {
    this.holdsForPoll = !this.#isQueue;
  }

  /** Resolves when a message is wanted, or at a call of `request` after the signal has aborted. */
  async waitUntilWanted(subscription: Subscription, signal: AbortSignal): Promise<void> {
    while (!this.holdsForPoll && !subscription.isWaiting && !signal.aborted) {
      this.#changed = Promise.withResolvers();
      await this.#changed.promise;
    }
  }
}

/** Reads until the signal aborts, and continues after failures of the store. Never rejects. */
export async function readUntilAborted(options: {
  readonly reader: MessageReader;
  readonly onMessage: (read: ReadMessage) => Promise<void>;
  readonly ports: Pick<Ports, "clock" | "log">;
  readonly signal: AbortSignal;
}): Promise<void> {
  const { reader, onMessage, ports, signal } = options;
  let lastWarning = "";
  while (!signal.aborted) {
    try {
      const read = await reader.next(signal);
      if (read !== undefined) await onMessage(read);
      lastWarning = "";
    } catch (thrown: unknown) {
      const why = describeThrown(thrown);
      if (!signal.aborted && why !== lastWarning) ports.log.warn(`A channel could not be read: ${why}`);
      lastWarning = why;
      await new Promise<void>((resolve) => void ports.clock.timer(resolve, RETRY_DELAY_MS, { background: true }));
    }
  }
}
