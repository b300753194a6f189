/** How long the statements of a request wait for another program that writes to the same SQLite file. */
import type { DatabaseSync } from "node:sqlite";

/** Longest wait for a change that the next one makes up for, or that other processes do themselves, in milliseconds. */
export const SHORT_WAIT_MS = 1_000;
/** Requests that have waited in the queue for less than this have the whole time, so that most requests set nothing. */
const TOLERANCE_MS = 100;

/** The time on a clock that all threads of the process share, in milliseconds. */
export function sharedNow(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}

/** While the file is locked, requests wait together: each waits for the lock from when it was sent, not from when the one before it has given up. */
export class BusyWait {
  readonly #database: DatabaseSync;
  readonly #maxMs: number;
  #currentMs: number;

  /** @param maxMs the store's `busyTimeoutMs`, which the connection has now */
  constructor(database: DatabaseSync, maxMs: number) {
    this.#database = database;
    this.#maxMs = maxMs;
    this.#currentMs = maxMs;
  }

  /** @param sentAt when the next request was sent, by `sharedNow` */
  limitSince(sentAt: number): void {
    const waitedMs = sharedNow() - sentAt;
    this.limit(waitedMs < TOLERANCE_MS ? this.#maxMs : this.#maxMs - waitedMs);
  }

  /** Lets the next statements wait no longer than this, in milliseconds. */
  limit(ms: number): void {
    const limited = Math.max(0, Math.min(ms, this.#maxMs));
    if (limited === this.#currentMs) return;
    this.#database.exec(`PRAGMA busy_timeout = ${limited}`);
    this.#currentMs = limited;
  }
}
