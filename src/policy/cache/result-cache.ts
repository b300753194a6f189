/** Keeps results in memory, to answer equal calls without running them again. */
import { SIZE, checkNumber } from "../../core/base/number-bounds.ts";
import type { ContentPart } from "../../core/content.ts";
import type { JsonObject, JsonValue } from "../../core/base/json.ts";
import type { Clock, Log } from "../../core/ports.ts";
import type { SingleFlight } from "./single-flight.ts";
import { ResourceVersions } from "./resource-versions.ts";
import { StoredResults, type ResultCacheStore } from "./stored-results.ts";
import { estimateJsonBytes, estimateTextBytes } from "../results/estimate-bytes.ts";

/** How much memory cached results may take. */
export interface CacheOptions {
  /** Approximate maximum of memory for cached results, in bytes; the least recently used are dropped first. 0 = no cache. @default 67_108_864 */
  readonly maxBytes?: number;
}

export interface CacheDependencies {
  readonly clock: Clock;
  readonly log: Log;
  /** Where persistent results are kept; if undefined, they last as long as the runtime. */
  readonly store: ResultCacheStore | undefined;
}

/** The answer of a call, deeply frozen. */
export interface CachedAnswer {
  readonly output: JsonValue | undefined;
  readonly content: readonly ContentPart[] | undefined;
  readonly metadata: JsonObject | undefined;
  readonly exitCode?: number | undefined;
  /** The resources that it was read from by calls of its handler, beyond those that its tool declares. */
  readonly otherReads?: readonly string[] | undefined;
  /** Whether its handler read something of the session without declaring it: calls of other sessions must not get what is made of it. */
  readonly readsSession?: true | undefined;
}

/** The resources that a result was read from, and how long it may be used. */
export interface CacheTerms {
  /** `ResourceVersions.now` from before the read. */
  readonly asOf: number;
  readonly reads: readonly string[];
  /** In milliseconds from now; undefined = no limit. */
  readonly ttlMs: number | undefined;
}

const DEFAULT_MAX_BYTES = 64 * 1024 * 1024;
/** Maximum share of the cache that one entry may take, so that it does not evict all others. */
const MAX_ENTRY_SHARE = 1 / 4;
/** Size of an entry without its key and answer, in bytes: its fields, its slot in the map, its links. */
const ENTRY_BYTES = 288;
const RESOURCE_BYTES = 48;

/** The results of one turn, one session, or the whole runtime. */
export class CachePartition {
  readonly entries = new Map<string, Entry>();
  /** Reads in progress, by key; equal calls wait for them. */
  readonly flights = new Map<string, SingleFlight<CachedAnswer>>();
  /** Whether the partition was forgotten; then nothing more is stored in it. */
  isClosed = false;
}

class Entry {
  readonly partition: CachePartition;
  readonly key: string;
  readonly answer: CachedAnswer;
  readonly reads: readonly string[];
  readonly expiresAt: number;
  readonly bytes: number;
  /** The latest write as of which the answer is known to be valid. */
  asOf: number;
  older: Entry | undefined = undefined;
  newer: Entry | undefined = undefined;

  constructor(place: { readonly partition: CachePartition; readonly key: string }, answer: CachedAnswer, terms: CacheTerms, now: number) {
    this.partition = place.partition;
    this.key = place.key;
    this.answer = answer;
    this.reads = terms.reads;
    this.asOf = terms.asOf;
    this.expiresAt = terms.ttlMs === undefined ? Infinity : now + terms.ttlMs;
    this.bytes = ENTRY_BYTES + estimateTextBytes(place.key) + estimateAnswerBytes(answer);
    for (const key of terms.reads) this.bytes += RESOURCE_BYTES + estimateTextBytes(key);
  }
}

/**
 * Keeps answers in partitions that are separate from each other, all of them together within `maxBytes`.
 *
 * When space is needed, the least recently used answers are dropped, whatever their partition. An answer is found only while it has not
 * expired and nothing it was read from was written.
 */
export class ResultCache {
  readonly maxBytes: number;
  readonly versions = new ResourceVersions();
  readonly stored: StoredResults | undefined;
  readonly #clock: Clock;
  readonly #partitions = new WeakMap<object, CachePartition>();
  #oldest: Entry | undefined = undefined;
  #newest: Entry | undefined = undefined;
  #bytes = 0;
  #size = 0;
  #numbers = 0;

  /** @throws ToolError `invalid_argument` */
  constructor(options: CacheOptions, dependencies: CacheDependencies) {
    const maxBytes = options.maxBytes ?? DEFAULT_MAX_BYTES;
    checkNumber(maxBytes, "maxBytes of the cache", SIZE);
    this.maxBytes = maxBytes;
    this.#clock = dependencies.clock;
    this.stored = dependencies.store === undefined ? undefined : new StoredResults(dependencies.store, dependencies.log);
  }

  /** Approximate memory of the cached answers, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Number of cached answers, including outdated ones that were not noticed yet. */
  get size(): number {
    return this.#size;
  }

  /** Returns a number that is unique in this cache, to prefix keys with. */
  nextNumber(): number {
    return this.#numbers++;
  }

  /** False until `nextNumber` was called: no call can be answered from here yet, so writes need not be reported. */
  get isInUse(): boolean {
    return this.#numbers > 0;
  }

  /** Returns the partition of a turn, a session or any other owner. */
  partitionOf(owner: object): CachePartition {
    let partition = this.#partitions.get(owner);
    if (partition === undefined) this.#partitions.set(owner, (partition = new CachePartition()));
    return partition;
  }

  /** Returns the answer under a key and marks it as most recently used. */
  find(partition: CachePartition, key: string): CachedAnswer | undefined {
    const entry = partition.entries.get(key);
    if (entry === undefined) return undefined;
    if (!this.#isValid(entry)) {
      this.#drop(entry);
      return undefined;
    }
    entry.asOf = this.versions.now;
    if (entry !== this.#newest) {
      this.#unlink(entry);
      this.#link(entry);
    }
    return entry.answer;
  }

  /** Like `find`, but changes nothing. */
  peek(partition: CachePartition, key: string): CachedAnswer | undefined {
    const entry = partition.entries.get(key);
    return entry !== undefined && this.#isValid(entry) ? entry.answer : undefined;
  }

  /** Drops this answer. A different answer under the same key stays. */
  drop(partition: CachePartition, key: string, answer: CachedAnswer): void {
    const entry = partition.entries.get(key);
    if (entry?.answer === answer) this.#drop(entry);
  }

  /** Stores an answer, replacing an earlier one; false if it is outdated already, too large, or its partition is closed. */
  store(place: { readonly partition: CachePartition; readonly key: string }, answer: CachedAnswer, terms: CacheTerms): boolean {
    const { partition, key } = place;
    if (partition.isClosed || !this.versions.isUnchangedSince(terms.asOf, terms.reads)) return false;
    const entry = new Entry(place, answer, terms, this.#clock.now());
    if (entry.bytes > this.maxBytes * MAX_ENTRY_SHARE) return false;
    const before = partition.entries.get(key);
    if (before !== undefined) this.#drop(before);
    partition.entries.set(key, entry);
    this.#link(entry);
    this.#size++;
    this.#bytes += entry.bytes;
    for (let oldest = this.#oldest; oldest !== undefined && this.#bytes > this.maxBytes; oldest = this.#oldest) this.#drop(oldest);
    return true;
  }

  /** Drops the partition of an owner. Calls that still use it store nothing more. */
  forget(owner: object): void {
    const partition = this.#partitions.get(owner);
    if (partition === undefined) return;
    this.#partitions.delete(owner);
    partition.isClosed = true;
    for (const entry of partition.entries.values()) this.#drop(entry);
  }

  #isValid(entry: Entry): boolean {
    return this.versions.isUnchangedSince(entry.asOf, entry.reads) && (entry.expiresAt === Infinity || this.#clock.now() < entry.expiresAt);
  }

  #drop(entry: Entry): void {
    entry.partition.entries.delete(entry.key);
    this.#unlink(entry);
    this.#size--;
    this.#bytes -= entry.bytes;
  }

  #link(entry: Entry): void {
    entry.older = this.#newest;
    entry.newer = undefined;
    if (this.#newest === undefined) this.#oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
  }

  #unlink({ older, newer }: Entry): void {
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
  }
}

function estimateAnswerBytes({ output, content, metadata }: CachedAnswer): number {
  return estimateJsonBytes(output) + estimateJsonBytes(content) + estimateJsonBytes(metadata);
}
