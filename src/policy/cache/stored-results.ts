/** Results kept in a store, where they outlive the process and other processes find them. */
import { describeThrown } from "../../core/error.ts";
import type { Log } from "../../core/ports.ts";
import type { CacheRecord, Store } from "../../core/store.ts";

export type StoreOfResults = Pick<Store, "open" | "cache">;

/** Written keys that were not needed here yet are passed on when there are so many. */
const MAX_OWED = 256;

/**
 * The way to the store's cache, which keeps one order: what was written here is known to the store before anything is
 * read from it or put into it.
 *
 * As long as no tool here uses persistent results, writes are collected and passed to the store many at a time; from then on it
 * knows of each before it begins.
 */
export class StoredResults {
  readonly #store: StoreOfResults;
  readonly #log: Log;
  /** Keys that were written and that the store does not know of. */
  #owed = new Set<string>();
  #passing: Promise<void> | undefined;
  readonly #puts = new Set<Promise<void>>();
  readonly #said = new Set<string>();
  #inUse = false;
  #version: number | undefined;

  constructor(store: StoreOfResults, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /** From now on the store knows of every write before it begins. */
  use(): void {
    this.#inUse = true;
  }

  /** As `use`, if it is needed; asks once for each version of what the answer depends on. */
  useIf(isNeeded: () => boolean, version: number): void {
    if (this.#inUse || this.#version === version) return;
    this.#version = version;
    this.#inUse = isNeeded();
  }

  /** The body kept under a key and still right; undefined when there is none, or the store cannot say. */
  async get(key: string, now: number): Promise<string | undefined> {
    this.use();
    try {
      await this.#passOn();
      return await this.#store.cache.get(key, now);
    } catch (thrown: unknown) {
      this.#warn("Stored results cannot be read, so calls are run.", thrown);
      return undefined;
    }
  }

  /** The versions to hand to `put` after the read; undefined when the store cannot say, and nothing is to be kept. */
  async versions(resources: readonly string[]): Promise<readonly number[] | undefined> {
    try {
      await this.#passOn();
      return await this.#store.cache.versions(resources);
    } catch (thrown: unknown) {
      this.#warn("Stored results cannot be read, so calls are run.", thrown);
      return undefined;
    }
  }

  /** Keeps a body, in its own time; a failure is logged. */
  put(entry: CacheRecord): void {
    const put = this.#put(entry).finally(() => this.#puts.delete(put));
    this.#puts.add(put);
  }

  /** Tells the store of writes that are about to begin; undefined when there is nothing to wait for. Rejects when the store cannot be reached. */
  beforeWrite(keys: readonly string[]): Promise<void> | undefined {
    this.#owe(keys);
    return this.#inUse ? this.#passOn() : undefined;
  }

  /** Tells the store of writes that have ended, or may continue unseen; whatever is read after this waits for it. */
  afterWrite(keys: readonly string[]): void {
    this.#owe(keys);
    if (this.#inUse) this.#passOnQuietly();
  }

  /** Resolves when the store has everything it was given, or cannot take it. */
  async whenSettled(): Promise<void> {
    await Promise.all(this.#puts);
    if (this.#owed.size === 0 && this.#passing === undefined) return;
    await this.#passOn().catch((thrown: unknown) => this.#warn(NOT_TOLD, thrown));
  }

  async #put(entry: CacheRecord): Promise<void> {
    try {
      await this.#passOn();
      await this.#store.cache.put(entry);
    } catch (thrown: unknown) {
      this.#warn("A result was not stored.", thrown);
    }
  }

  #owe(keys: readonly string[]): void {
    for (const key of keys) this.#owed.add(key);
    if (!this.#inUse && this.#owed.size >= MAX_OWED) this.#passOnQuietly();
  }

  #passOnQuietly(): void {
    void this.#passOn().catch((thrown: unknown) => this.#warn(NOT_TOLD, thrown));
  }

  /** Says each thing once: a store that is down fails every call. */
  #warn(message: string, thrown: unknown): void {
    if (this.#said.has(message)) return;
    this.#said.add(message);
    this.#log.warn(`${message} ${describeThrown(thrown)}`);
  }

  /** Passes on everything that is owed now; what cannot be passed on stays owed. */
  async #passOn(): Promise<void> {
    await this.#store.open();
    while (this.#passing !== undefined) await this.#passing.catch(() => {});
    if (this.#owed.size === 0) return;
    const owed = this.#owed;
    this.#owed = new Set();
    try {
      this.#passing = this.#store.cache.invalidate([...owed]);
      await this.#passing;
    } catch (thrown: unknown) {
      for (const key of owed) this.#owed.add(key);
      throw thrown;
    } finally {
      this.#passing = undefined;
    }
  }
}

const NOT_TOLD = "The store does not know yet that resources were written; it is updated with the next use of stored results.";
