/** Keeps results in a store, where they outlive the process and other processes find them. */
import { describeThrown } from "../../core/error.ts";
import type { Log } from "../../core/ports.ts";
import type { CacheRecord, Store } from "../../core/store/store.ts";

export type ResultCacheStore = Pick<Store, "open" | "cache">;

/** Number of written keys at which they are sent to the store, even if no tool uses stored results yet. */
const MAX_PENDING_KEYS = 256;

/**
 * Access to the store's cache in a fixed order: the store knows of every write made here before anything is read from it or put into it.
 *
 * As long as no tool here uses persistent results, writes are collected and sent to the store in batches; from then on it is notified before
 * each write begins.
 */
export class StoredResults {
  readonly #store: ResultCacheStore;
  readonly #log: Log;
  /** Keys that were written and that the store has not been notified of. */
  #pendingKeys = new Set<string>();
  #sending: Promise<void> | undefined;
  readonly #puts = new Set<Promise<void>>();
  readonly #logged = new Set<string>();
  #inUse = false;
  #version: number | undefined;

  constructor(store: ResultCacheStore, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /** From now on the store is notified before each write begins. */
  enable(): void {
    this.#inUse = true;
  }

  /** Like `enable`, if it is needed; `isNeeded` is called once per `version`. */
  enableIf(isNeeded: () => boolean, version: number): void {
    if (this.#inUse || this.#version === version) return;
    this.#version = version;
    this.#inUse = isNeeded();
  }

  /** Returns the valid body under a key; undefined if there is none or the store fails. */
  async get(key: string, now: number): Promise<string | undefined> {
    this.enable();
    try {
      await this.#sendPending();
      return await this.#store.cache.get(key, now);
    } catch (thrown: unknown) {
      this.#warn("Stored results cannot be read, so calls are run.", thrown);
      return undefined;
    }
  }

  /** Returns the versions to pass to `put` after the read; undefined if the store fails, in which case nothing must be stored. */
  async versions(resources: readonly string[]): Promise<readonly number[] | undefined> {
    try {
      await this.#sendPending();
      return await this.#store.cache.versions(resources);
    } catch (thrown: unknown) {
      this.#warn("Stored results cannot be read, so calls are run.", thrown);
      return undefined;
    }
  }

  /** Stores a body in the background; a failure is logged. */
  put(entry: CacheRecord): void {
    const put = this.#put(entry).finally(() => this.#puts.delete(put));
    this.#puts.add(put);
  }

  /** Notifies the store before writes. Returns undefined if there is nothing to wait for. Rejects if the store cannot be reached. */
  beforeWrite(keys: readonly string[]): Promise<void> | undefined {
    this.#addPending(keys);
    return this.#inUse ? this.#sendPending() : undefined;
  }

  /** Notifies the store of writes that have ended, or that may continue unobserved; later reads wait for it. */
  afterWrite(keys: readonly string[]): void {
    this.#addPending(keys);
    if (this.#inUse) this.#sendInBackground();
  }

  /** Resolves when the store has received everything, or cannot take it. */
  async whenSettled(): Promise<void> {
    await Promise.all(this.#puts);
    if (this.#pendingKeys.size === 0 && this.#sending === undefined) return;
    await this.#sendPending().catch((thrown: unknown) => this.#warn(NOT_NOTIFIED, thrown));
  }

  async #put(entry: CacheRecord): Promise<void> {
    try {
      await this.#sendPending();
      await this.#store.cache.put(entry);
    } catch (thrown: unknown) {
      this.#warn("A result was not stored.", thrown);
    }
  }

  #addPending(keys: readonly string[]): void {
    for (const key of keys) this.#pendingKeys.add(key);
    if (!this.#inUse && this.#pendingKeys.size >= MAX_PENDING_KEYS) this.#sendInBackground();
  }

  #sendInBackground(): void {
    void this.#sendPending().catch((thrown: unknown) => this.#warn(NOT_NOTIFIED, thrown));
  }

  /** Logs each message once: a store that is down fails every call. */
  #warn(message: string, thrown: unknown): void {
    if (this.#logged.has(message)) return;
    this.#logged.add(message);
    this.#log.warn(`${message} ${describeThrown(thrown)}`);
  }

  /** Sends all pending keys to the store; if that fails, they stay pending. */
  async #sendPending(): Promise<void> {
    await this.#store.open();
    while (this.#sending !== undefined) await this.#sending.catch(() => {});
    if (this.#pendingKeys.size === 0) return;
    const keys = this.#pendingKeys;
    this.#pendingKeys = new Set();
    try {
      this.#sending = this.#store.cache.invalidate([...keys]);
      await this.#sending;
    } catch (thrown: unknown) {
      for (const key of keys) this.#pendingKeys.add(key);
      throw thrown;
    } finally {
      this.#sending = undefined;
    }
  }
}

const NOT_NOTIFIED = "The store does not yet know that resources were written; it is updated with the next use of stored results.";
