/** The queue of a process whose store has none: it takes the sessions that it has offered itself. */
import type { Clock } from "../../core/ports.ts";
import type { SessionQueue, TakeSessionsOptions, TakenSessions } from "../../core/store/session-queue.ts";

/** The wait before a session whose work rejected can be offered again, in milliseconds: doubled each time, up to the maximum. */
const MIN_RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;

/** Begins with the oldest offer. Each process of a store has its own; which of them gets a session is decided by `Store.claim`. */
export class LocalQueue implements SessionQueue {
  readonly #clock: Clock;
  /** Sessions that wait, in the order in which they were offered. */
  readonly #waiting = new Set<string>();
  readonly #taken = new Map<string, Promise<void>>();
  /** Sessions whose work rejected: how often in a row, and from when they can be offered again. */
  readonly #failed = new Map<string, { readonly count: number; readonly until: number }>();
  #consumer: { readonly work: (sessionId: string) => Promise<void>; readonly concurrency: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async open(): Promise<void> {}

  async offer(sessionIds: readonly string[]): Promise<number> {
    const before = this.#waiting.size;
    for (const id of sessionIds)
      if (!this.#taken.has(id) && (this.#failed.get(id)?.until ?? -Infinity) <= this.#clock.now()) this.#waiting.add(id);
    const count = this.#waiting.size - before;
    this.#takeNext();
    return count;
  }

  async take(work: (sessionId: string) => Promise<void>, { concurrency }: TakeSessionsOptions): Promise<TakenSessions> {
    this.#consumer = { work, concurrency };
    this.#takeNext();
    return {
      stop: async () => {
        this.#consumer = undefined;
        await Promise.all(this.#taken.values());
      },
    };
  }

  async close(): Promise<void> {
    this.#waiting.clear();
  }

  #takeNext(): void {
    for (const id of this.#waiting) {
      if (this.#consumer === undefined || this.#taken.size >= this.#consumer.concurrency) return;
      this.#waiting.delete(id);
      this.#taken.set(id, this.#run(id, this.#consumer.work));
    }
  }

  async #run(id: string, work: (sessionId: string) => Promise<void>): Promise<void> {
    try {
      await work(id);
      this.#failed.delete(id);
    } catch {
      // the worker has reported the error
      const count = (this.#failed.get(id)?.count ?? 0) + 1;
      this.#failed.set(id, { count, until: this.#clock.now() + Math.min(MIN_RETRY_MS * 2 ** (count - 1), MAX_RETRY_MS) });
    }
    this.#taken.delete(id);
    this.#takeNext();
  }
}
