/** Follows the writes of other processes to a store. */
import { ToolError } from "../../core/error.ts";
import type { Ports } from "../../core/ports.ts";
import type { Store } from "../../core/store.ts";

/** How often the store is read, while there are readers. */
const POLL_MS = 500;

export interface StoreWatchParts {
  readonly store: Store;
  readonly ports: Ports;
  /** Called when a session has an event at this position, written here or elsewhere. */
  readonly moved: (sessionId: string, position: number) => void;
}

export class StoreWatch {
  readonly #parts: StoreWatchParts;
  #mark: string | undefined;
  #starting: Promise<void> | undefined;
  #cancel: (() => void) | undefined;
  #isWarned = false;

  constructor(parts: StoreWatchParts) {
    this.#parts = parts;
  }

  /** Resolves when what is written from now on will be seen. Idempotent. @throws ToolError as the store. By rejecting */
  async start(): Promise<void> {
    this.#starting ??= this.#begin();
    try {
      await this.#starting;
    } catch (thrown: unknown) {
      this.#starting = undefined;
      throw thrown;
    }
  }

  /** Until the next `start`. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#starting = undefined;
    this.#mark = undefined;
  }

  async #begin(): Promise<void> {
    this.#mark = await this.#parts.store.feed.latest();
    this.#schedule();
  }

  #schedule(): void {
    this.#cancel?.();
    this.#cancel = this.#parts.ports.clock.timer(() => void this.#poll(), POLL_MS, { background: true });
  }

  async #poll(): Promise<void> {
    const starting = this.#starting;
    try {
      await this.#look();
      this.#isWarned = false;
    } catch (thrown: unknown) {
      const { message } = ToolError.fromUnknown(thrown, "store_failed");
      if (!this.#isWarned) this.#parts.ports.log.warn(`What other processes write cannot be followed now: ${message}`);
      this.#isWarned = true;
    }
    if (this.#starting === starting && starting !== undefined) this.#schedule();
  }

  async #look(): Promise<void> {
    const { store, moved } = this.#parts;
    const found = new Map<string, number>();
    for (let isFull = true; isFull && this.#mark !== undefined;) {
      const page = await store.feed.read({ after: this.#mark });
      for (const { sessionId, position } of page.entries) found.set(sessionId, position);
      this.#mark = page.entries.at(-1)?.mark ?? this.#mark;
      ({ isFull } = page);
    }
    for (const [sessionId, position] of found) moved(sessionId, position);
  }
}
