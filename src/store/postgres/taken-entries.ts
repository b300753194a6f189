/** Takes the sessions of a queue in pg-boss: as many with one statement as there are free places, and returns those that are done together. */
import type { Job, PgBoss } from "pg-boss";
import { describeThrown } from "../../core/error.ts";
import type { Clock } from "../../core/ports.ts";
import { Gathered } from "../records/gathered.ts";

/** Heartbeats of entries end after 10 seconds. */
const TOUCH_EVERY_MS = 2_000;
/** How long a place that is free waits for others, so that one statement takes sessions for all of them. */
const GATHER_MS = 2;
/** The pause before the next look where the last one found less than there was room for, and something was offered since. */
const NEXT_MS = 20;

export interface TakenEntriesOptions<Data extends object> {
  readonly boss: PgBoss;
  readonly queue: string;
  readonly work: (data: Data) => Promise<void>;
  readonly concurrency: number;
  readonly onError: (error: unknown) => void;
  /** How long to wait before looking without having been called. */
  readonly pollMs: () => number;
  readonly clock: Clock;
}

export class TakenEntries<Data extends object> {
  readonly #options: TakenEntriesOptions<Data>;
  /** Those whose work is not over. */
  readonly #held = new Set<Job<Data>>();
  /** One for each that is not out of the queue. */
  readonly #holds = new Set<Promise<void>>();
  /** Done, and not yet out of the queue. */
  readonly #done: Gathered<Job<Data>, void>;
  #fetching: Promise<void> | undefined;
  /** Something may have come since the last look began. */
  #isCalled = false;
  /** The last look found as much as there was room for. */
  #isMore = false;
  #cancelLook: (() => void) | undefined;
  #lookAt = Infinity;
  #cancelTouch: (() => void) | undefined;
  #isStopped = false;
  #isAbandoned = false;

  constructor(options: TakenEntriesOptions<Data>) {
    this.#options = options;
    this.#done = new Gathered(async (entries) => {
      await this.#attempt(() => options.boss.complete(options.queue, entries.map(attemptOf)));
    });
    this.#touchLater();
    this.call();
  }

  /** Looks soon: something may have been offered. */
  call(): void {
    this.#isCalled = true;
    if (this.#free > 0) this.#lookIn(0);
  }

  /** Takes no more, and lets go of what it holds: other processes take that when it was not touched for long enough. */
  abandon(): void {
    this.#isStopped = true;
    this.#isAbandoned = true;
    this.#cancelLook?.();
    this.#cancelTouch?.();
  }

  /** Takes no more. Resolves when all that were taken are returned. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelLook?.();
    await this.#fetching;
    await Promise.all(this.#holds);
    this.#cancelTouch?.();
  }

  get #free(): number {
    return this.#options.concurrency - this.#held.size;
  }

  #lookIn(waitMs: number): void {
    const { clock } = this.#options;
    const at = clock.now() + waitMs;
    if (this.#isStopped || this.#fetching !== undefined || at >= this.#lookAt) return;
    this.#cancelLook?.();
    this.#lookAt = at;
    this.#cancelLook = clock.timer(() => this.#look(), waitMs, { background: true });
  }

  #lookAgain(): void {
    this.#lookIn(this.#isMore ? GATHER_MS : this.#isCalled ? NEXT_MS : this.#options.pollMs());
  }

  #look(): void {
    this.#lookAt = Infinity;
    const free = this.#free;
    if (free === 0) return;
    this.#isCalled = false;
    this.#fetching = this.#fetch(free);
  }

  /** Never rejects. */
  async #fetch(free: number): Promise<void> {
    const { boss, queue } = this.#options;
    const entries = (await this.#attempt(() => boss.fetch<Data>(queue, { batchSize: free }))) ?? [];
    this.#fetching = undefined;
    if (this.#isAbandoned) return;
    for (const entry of entries) {
      this.#held.add(entry);
      const hold = this.#hold(entry).finally(() => this.#holds.delete(hold));
      this.#holds.add(hold);
    }
    this.#isMore = entries.length === free;
    if (this.#free > 0) this.#lookAgain();
  }

  /** Never rejects. */
  async #hold(entry: Job<Data>): Promise<void> {
    const { boss, queue, work } = this.#options;
    let failure: { readonly message: string } | undefined;
    try {
      await work(entry.data);
    } catch (thrown: unknown) {
      failure = { message: describeThrown(thrown) };
    }
    this.#held.delete(entry);
    // A place is free, whether or not the entry is out of the queue
    this.#lookAgain();
    if (failure === undefined) await this.#done.add(entry);
    else await this.#attempt(() => boss.fail(queue, attemptOf(entry), failure));
  }

  /** Entries that are not touched are another process's to take. */
  #touchLater(): void {
    const { boss, queue, clock } = this.#options;
    const touch = async (): Promise<void> => {
      const held = [...this.#held].map(attemptOf);
      if (held.length > 0) await this.#attempt(() => boss.touch(queue, held));
      if (!this.#isAbandoned && (!this.#isStopped || this.#held.size > 0)) this.#touchLater();
    };
    this.#cancelTouch = clock.timer(() => void touch(), TOUCH_EVERY_MS, { background: true });
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

/** Names the attempt as well: one that another process took over meanwhile is not its own to end. */
function attemptOf<Data>({ id, retryCount }: Job<Data>): { readonly id: string; readonly retryCount: number } {
  return { id, retryCount };
}
