/** Takes sessions from a pg-boss queue. One statement takes as many as there are free slots, and one completes those that finished together. */
import type { Job, PgBoss } from "pg-boss";
import { describeThrown } from "../../core/error.ts";
import type { Clock } from "../../core/ports.ts";
import { Batcher } from "../records/batcher.ts";

/** How often to send heartbeats of entries, in milliseconds; they expire after 10 seconds. */
const HEARTBEAT_MS = 2_000;
/** How long a free slot waits for others, so that one statement fills them all, in milliseconds. */
const BATCH_DELAY_MS = 2;
/** The pause before the next look if the last one did not fill all slots, but something was offered since, in milliseconds. */
const RETRY_POLL_MS = 20;

export interface QueueConsumerOptions<Data extends object> {
  readonly boss: PgBoss;
  readonly queue: string;
  readonly work: (data: Data) => Promise<void>;
  readonly concurrency: number;
  readonly onError: (error: unknown) => void;
  /** How long to wait before looking again without a call, in milliseconds. */
  readonly pollMs: () => number;
  readonly clock: Clock;
}

export class QueueConsumer<Data extends object> {
  readonly #options: QueueConsumerOptions<Data>;
  /** Entries whose work has not ended. */
  readonly #running = new Set<Job<Data>>();
  /** A promise for each entry that is not completed in the queue. */
  readonly #workPromises = new Set<Promise<void>>();
  /** Batches entries that are done but not yet completed in the queue. */
  readonly #done: Batcher<Job<Data>, void>;
  #fetching: Promise<void> | undefined;
  /** Whether something may have been offered since the last look began. */
  #hasNewOffers = false;
  /** Whether the last look filled all slots. */
  #mayHaveMore = false;
  #cancelPoll: (() => void) | undefined;
  #pollAt = Infinity;
  #cancelTouch: (() => void) | undefined;
  #isStopped = false;
  #isAbandoned = false;

  constructor(options: QueueConsumerOptions<Data>) {
    this.#options = options;
    this.#done = new Batcher(async (entries) => {
      await this.#attempt(() => options.boss.complete(options.queue, entries.map(attemptOf)));
    });
    this.#scheduleHeartbeat();
    this.wake();
  }

  /** Looks soon, because something may have been offered. */
  wake(): void {
    this.#hasNewOffers = true;
    if (this.#free > 0) this.#schedulePoll(0);
  }

  /** Stops taking, and abandons the held entries: other processes take them once their heartbeats expire. */
  abandon(): void {
    this.#isStopped = true;
    this.#isAbandoned = true;
    this.#cancelPoll?.();
    this.#cancelTouch?.();
  }

  /** Stops taking. Resolves when all taken entries are completed or failed in the queue. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelPoll?.();
    await this.#fetching;
    await Promise.all(this.#workPromises);
    this.#cancelTouch?.();
  }

  get #free(): number {
    return this.#options.concurrency - this.#running.size;
  }

  #schedulePoll(waitMs: number): void {
    const { clock } = this.#options;
    const at = clock.now() + waitMs;
    if (this.#isStopped || this.#fetching !== undefined || at >= this.#pollAt) return;
    this.#cancelPoll?.();
    this.#pollAt = at;
    this.#cancelPoll = clock.timer(() => this.#poll(), waitMs, { background: true });
  }

  #scheduleNextPoll(): void {
    this.#schedulePoll(this.#mayHaveMore ? BATCH_DELAY_MS : this.#hasNewOffers ? RETRY_POLL_MS : this.#options.pollMs());
  }

  #poll(): void {
    this.#pollAt = Infinity;
    const free = this.#free;
    if (free === 0) return;
    this.#hasNewOffers = false;
    this.#fetching = this.#fetch(free);
  }

  /** Never rejects. */
  async #fetch(free: number): Promise<void> {
    const { boss, queue } = this.#options;
    const entries = (await this.#attempt(() => boss.fetch<Data>(queue, { batchSize: free }))) ?? [];
    this.#fetching = undefined;
    if (this.#isAbandoned) return;
    for (const entry of entries) {
      this.#running.add(entry);
      const hold = this.#runEntry(entry).finally(() => this.#workPromises.delete(hold));
      this.#workPromises.add(hold);
    }
    this.#mayHaveMore = entries.length === free;
    if (this.#free > 0) this.#scheduleNextPoll();
  }

  /** Never rejects. */
  async #runEntry(entry: Job<Data>): Promise<void> {
    const { boss, queue, work } = this.#options;
    let failure: { readonly message: string } | undefined;
    try {
      await work(entry.data);
    } catch (thrown: unknown) {
      failure = { message: describeThrown(thrown) };
    }
    this.#running.delete(entry);
    // the slot is free, even if the entry is not completed in the queue yet
    this.#scheduleNextPoll();
    if (failure === undefined) await this.#done.add([entry]);
    else await this.#attempt(() => boss.fail(queue, attemptOf(entry), failure));
  }

  /** Sends heartbeats; without them another process may take the entries. */
  #scheduleHeartbeat(): void {
    const { boss, queue, clock } = this.#options;
    const touch = async (): Promise<void> => {
      const held = [...this.#running].map(attemptOf);
      if (held.length > 0) await this.#attempt(() => boss.touch(queue, held));
      if (!this.#isAbandoned && (!this.#isStopped || this.#running.size > 0)) this.#scheduleHeartbeat();
    };
    this.#cancelTouch = clock.timer(() => void touch(), HEARTBEAT_MS, { background: true });
  }

  async #attempt<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await work();
    } catch (thrown: unknown) {
      this.#options.onError(thrown);
      return undefined;
    }
  }
}

/** Identifies an entry with its attempt, so that an attempt that another process has taken over is not completed. */
function attemptOf<Data>({ id, retryCount }: Job<Data>): { readonly id: string; readonly retryCount: number } {
  return { id, retryCount };
}
