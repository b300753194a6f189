/** Follows the writes of other processes to a store. */
import { ToolError } from "../../core/error.ts";
import type { Ports } from "../../core/ports.ts";
import type { Store } from "../../core/store/store.ts";
import { NO_FOLLOWER, type StoreChange, type StoreFollower } from "../../core/store/store-changes.ts";

/** How often the store is read while there are readers, in milliseconds: without, and with, change notifications of other processes. */
const POLL_MS = 500;
const LIVE_POLL_MS = 2_000;
/**
 * The feed ends before an event whose number is higher than that of a transaction still in progress. So after a notification the store is read more
 * often for a while: the end of that transaction may not cause a notification for the readers here.
 */
const SETTLING_MS = 1_000;
const SETTLING_POLL_MS = 50;
/** How often it is checked whether followed sessions still exist, in milliseconds: the feed does not tell when a session was removed. */
const CHECK_MS = 10_000;
/** Shortest time between two reads of the store, in milliseconds, however many notifications arrive. */
const MIN_INTERVAL_MS = 10;

export interface StoreWatchOptions {
  readonly store: Store;
  readonly ports: Ports;
  /** Called if a session has an event at this position, written here or elsewhere. */
  readonly onEvent: (sessionId: string, position: number) => void;
  /** Called if the store no longer has what was read before, for example after a failover: each session may have different events. */
  readonly onLost: () => void;
  /** Called now and then to check whether the sessions with a reader still exist. Must not reject; the next read waits for it. */
  readonly onCheck: () => Promise<void>;
  /** Whether this session has a reader. */
  readonly hasReader: (sessionId: string) => boolean;
}

export class StoreWatch {
  readonly #options: StoreWatchOptions;
  #mark: string | undefined;
  #starting: Promise<void> | undefined;
  #cancelPoll: (() => void) | undefined;
  #follower: StoreFollower = NO_FOLLOWER;
  #isPolling = false;
  #polledAt = -Infinity;
  #notifiedAt = -Infinity;
  #checkedAt = -Infinity;
  /** A notification arrived since the last read began. */
  #mustPollAgain = false;
  /** The next read is scheduled as soon as possible. */
  #isDue = false;
  #isWarned = false;

  constructor(options: StoreWatchOptions) {
    this.#options = options;
  }

  /** Resolves when all writes from now on will be noticed. Idempotent. @throws ToolError as the store, as a rejection */
  async start(): Promise<void> {
    this.#starting ??= this.#startFollowing();
    try {
      await this.#starting;
    } catch (thrown: unknown) {
      this.#starting = undefined;
      throw thrown;
    }
  }

  /** Stops following, until the next `start`. */
  stop(): void {
    this.#cancelPoll?.();
    this.#cancelPoll = undefined;
    this.#follower.stop();
    this.#follower = NO_FOLLOWER;
    this.#starting = undefined;
    this.#mark = undefined;
  }

  async #startFollowing(): Promise<void> {
    const { store } = this.#options;
    this.#follower.stop();
    this.#follower = store.follow((change) => this.#onChange(change));
    this.#mark = await store.feed.latest();
    this.#checkedAt = this.#options.ports.clock.now();
    this.#schedule(this.#pollMs);
  }

  get #pollMs(): number {
    if (this.#options.ports.clock.now() - this.#notifiedAt < SETTLING_MS) return SETTLING_POLL_MS;
    return this.#follower.isLive ? LIVE_POLL_MS : POLL_MS;
  }

  #onChange({ parts, sessionIds }: StoreChange): void {
    if (this.#mark === undefined || !parts.includes("events")) return;
    if (sessionIds?.some((id) => this.#options.hasReader(id)) === false) return;
    this.#mustPollAgain = true;
    this.#notifiedAt = this.#options.ports.clock.now();
    if (!this.#isPolling && !this.#isDue) this.#scheduleSoon();
  }

  #scheduleSoon(): void {
    this.#schedule(Math.max(0, this.#polledAt + MIN_INTERVAL_MS - this.#options.ports.clock.now()));
    this.#isDue = true;
  }

  #schedule(waitMs: number): void {
    this.#cancelPoll?.();
    this.#isDue = false;
    this.#cancelPoll = this.#options.ports.clock.timer(() => void this.#poll(), waitMs, { background: true });
  }

  async #poll(): Promise<void> {
    const starting = this.#starting;
    this.#isPolling = true;
    this.#mustPollAgain = false;
    this.#polledAt = this.#options.ports.clock.now();
    try {
      await this.#readChanges(() => this.#starting === starting);
      this.#isWarned = false;
    } catch (thrown: unknown) {
      if (this.#starting === starting) this.#warn(ToolError.fromUnknown(thrown, "store_failed"));
    }
    if (this.#starting === starting && this.#polledAt - this.#checkedAt >= CHECK_MS) {
      this.#checkedAt = this.#polledAt;
      await this.#options.onCheck();
    }
    this.#isPolling = false;
    if (this.#starting !== starting || starting === undefined) return;
    if (this.#mustPollAgain) this.#scheduleSoon();
    else this.#schedule(this.#pollMs);
  }

  /** Logs a failure once, until a read succeeds. */
  #warn({ message }: ToolError): void {
    if (!this.#isWarned) this.#options.ports.log.warn(`Events of other processes cannot be followed now: ${message}`);
    this.#isWarned = true;
  }

  async #readChanges(isFollowing: () => boolean): Promise<void> {
    try {
      await this.#readNewPages(isFollowing);
    } catch (thrown: unknown) {
      if (ToolError.fromUnknown(thrown, "store_failed").code !== "gone" || !isFollowing()) throw thrown;
      const mark = await this.#options.store.feed.latest();
      if (!isFollowing()) return;
      this.#mark = mark;
      this.#options.onLost();
    }
  }

  /** Reads all new pages. Readers are notified of each page before the next is read, because a page is not read again if the next one fails. */
  async #readNewPages(isFollowing: () => boolean): Promise<void> {
    const { store, onEvent } = this.#options;
    for (let isFull = true; isFull && this.#mark !== undefined;) {
      const page = await store.feed.read({ after: this.#mark });
      if (!isFollowing()) return; // the next start has its own mark
      this.#mark = page.entries.at(-1)?.mark ?? this.#mark;
      ({ isFull } = page);
      const found = new Map<string, number>();
      for (const { sessionId, position } of page.entries) found.set(sessionId, position);
      for (const [sessionId, position] of found) onEvent(sessionId, position);
    }
  }
}
