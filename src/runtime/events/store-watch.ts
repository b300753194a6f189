/** Follows the writes of other processes to a store. */
import { ToolError } from "../../core/error.ts";
import type { Ports } from "../../core/ports.ts";
import type { Store } from "../../core/store.ts";
import { NOT_FOLLOWED, type StoreChange, type StoreFollower } from "../../core/store-changes.ts";

/** How often the store is read while there are readers, in milliseconds: without, and with, change notifications of other processes. */
const POLL_MS = 500;
const LIVE_POLL_MS = 2_000;
/**
 * The feed ends before an event whose number is higher than that of a transaction still in progress. So after a notification the store is read more
 * often for a while: the end of that transaction may not cause a notification for the readers here.
 */
const SETTLING_MS = 1_000;
const SETTLING_POLL_MS = 50;
/** Shortest time between two reads of the store, in milliseconds, however many notifications arrive. */
const LEAST_MS = 10;

export interface StoreWatchParts {
  readonly store: Store;
  readonly ports: Ports;
  /** Called if a session has an event at this position, written here or elsewhere. */
  readonly moved: (sessionId: string, position: number) => void;
  /** Called if the store no longer has what was read before, for example after a failover: each session may have different events. */
  readonly lost: () => void;
  /** Whether this session has a reader. */
  readonly isRead: (sessionId: string) => boolean;
}

export class StoreWatch {
  readonly #parts: StoreWatchParts;
  #mark: string | undefined;
  #starting: Promise<void> | undefined;
  #cancel: (() => void) | undefined;
  #follower: StoreFollower = NOT_FOLLOWED;
  #isPolling = false;
  #polledAt = -Infinity;
  #hintedAt = -Infinity;
  /** A notification arrived since the last read began. */
  #isBehind = false;
  /** The next read is scheduled as soon as possible. */
  #isDue = false;
  #isWarned = false;

  constructor(parts: StoreWatchParts) {
    this.#parts = parts;
  }

  /** Resolves when all writes from now on will be noticed. Idempotent. @throws ToolError as the store, as a rejection */
  async start(): Promise<void> {
    this.#starting ??= this.#begin();
    try {
      await this.#starting;
    } catch (thrown: unknown) {
      this.#starting = undefined;
      throw thrown;
    }
  }

  /** Stops following, until the next `start`. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#follower.stop();
    this.#follower = NOT_FOLLOWED;
    this.#starting = undefined;
    this.#mark = undefined;
  }

  async #begin(): Promise<void> {
    const { store } = this.#parts;
    this.#follower.stop();
    this.#follower = store.follow((change) => this.#hear(change));
    this.#mark = await store.feed.latest();
    this.#schedule(this.#pollMs);
  }

  get #pollMs(): number {
    if (this.#parts.ports.clock.now() - this.#hintedAt < SETTLING_MS) return SETTLING_POLL_MS;
    return this.#follower.isLive ? LIVE_POLL_MS : POLL_MS;
  }

  #hear({ parts, sessionIds }: StoreChange): void {
    if (this.#mark === undefined || !parts.includes("events")) return;
    if (sessionIds?.some((id) => this.#parts.isRead(id)) === false) return;
    this.#isBehind = true;
    this.#hintedAt = this.#parts.ports.clock.now();
    if (!this.#isPolling && !this.#isDue) this.#scheduleSoon();
  }

  #scheduleSoon(): void {
    this.#schedule(Math.max(0, this.#polledAt + LEAST_MS - this.#parts.ports.clock.now()));
    this.#isDue = true;
  }

  #schedule(waitMs: number): void {
    this.#cancel?.();
    this.#isDue = false;
    this.#cancel = this.#parts.ports.clock.timer(() => void this.#poll(), waitMs, { background: true });
  }

  async #poll(): Promise<void> {
    const starting = this.#starting;
    this.#isPolling = true;
    this.#isBehind = false;
    this.#polledAt = this.#parts.ports.clock.now();
    try {
      await this.#look(() => this.#starting === starting);
      this.#isWarned = false;
    } catch (thrown: unknown) {
      if (this.#starting === starting) this.#warn(ToolError.fromUnknown(thrown, "store_failed"));
    }
    this.#isPolling = false;
    if (this.#starting !== starting || starting === undefined) return;
    if (this.#isBehind) this.#scheduleSoon();
    else this.#schedule(this.#pollMs);
  }

  /** Logs a failure once, until a read succeeds. */
  #warn({ message }: ToolError): void {
    if (!this.#isWarned) this.#parts.ports.log.warn(`Events of other processes cannot be followed now: ${message}`);
    this.#isWarned = true;
  }

  async #look(isFollowing: () => boolean): Promise<void> {
    try {
      await this.#readOn(isFollowing);
    } catch (thrown: unknown) {
      if (ToolError.fromUnknown(thrown, "store_failed").code !== "gone" || !isFollowing()) throw thrown;
      const mark = await this.#parts.store.feed.latest();
      if (!isFollowing()) return;
      this.#mark = mark;
      this.#parts.lost();
    }
  }

  /** Reads all new pages. Readers are notified of each page before the next is read, because a page is not read again if the next one fails. */
  async #readOn(isFollowing: () => boolean): Promise<void> {
    const { store, moved } = this.#parts;
    for (let isFull = true; isFull && this.#mark !== undefined;) {
      const page = await store.feed.read({ after: this.#mark });
      if (!isFollowing()) return; // the next start has its own mark
      this.#mark = page.entries.at(-1)?.mark ?? this.#mark;
      ({ isFull } = page);
      const found = new Map<string, number>();
      for (const { sessionId, position } of page.entries) found.set(sessionId, position);
      for (const [sessionId, position] of found) moved(sessionId, position);
    }
  }
}
