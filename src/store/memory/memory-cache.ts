/** The persistent result cache of a store in memory: results by key, valid while their resources keep their versions. */
import type { CacheRecord, CacheStore } from "../../core/store/store.ts";
import { hasExpired } from "../records/cache-expiry.ts";
import { generationsOfWrite, computeVersion, type Generation } from "../sql/resource-versions.ts";

/** Maximum number of generations. Beyond it all are deleted, together with the cache. */
const MAX_GENERATIONS = 100_000;

export class MemoryCache implements CacheStore {
  readonly #maxBytes: number;
  /** Oldest first. */
  readonly #entries = new Map<string, CacheRecord>();
  readonly #generations = new Map<string, Generation>();
  #bytes = 0;
  /** Added to every version, so that no version repeats after the generations are reset. */
  #base = 0;
  #sum = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  async get(key: string, now: number): Promise<string | undefined> {
    const entry = this.#entries.get(key);
    if (entry === undefined || hasExpired(entry, now)) return undefined;
    return this.#isCurrent(entry) ? entry.body : undefined;
  }

  async versions(resources: readonly string[]): Promise<readonly number[]> {
    return resources.map((resource) => this.#versionOf(resource));
  }

  async put(entry: CacheRecord): Promise<void> {
    if (!this.#isCurrent(entry)) return;
    this.#drop(entry.key);
    const { key, body, resources, versions, storedAt, expiresAt } = entry;
    if (bytesOf(entry) > this.#maxBytes) return;
    this.#entries.set(key, { key, body, resources: [...resources], versions: [...versions], storedAt, expiresAt });
    this.#bytes += bytesOf(entry);
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#drop(oldest);
    }
  }

  async invalidate(resources: readonly string[]): Promise<void> {
    for (const [resource, { self, below }] of generationsOfWrite(resources)) {
      const before = this.#generations.get(resource) ?? { self: 0, below: 0 };
      this.#generations.set(resource, { self: before.self + self, below: before.below + below });
      this.#sum += self + below;
    }
    if (this.#generations.size > MAX_GENERATIONS) this.#reset();
  }

  #isCurrent({ resources, versions }: CacheRecord): boolean {
    return resources.length === versions.length && resources.every((resource, index) => this.#versionOf(resource) === versions[index]);
  }

  #versionOf(resource: string): number {
    return this.#base + computeVersion(resource, this.#generations);
  }

  #reset(): void {
    this.#base += this.#sum + 1;
    this.#sum = 0;
    this.#generations.clear();
    this.#entries.clear();
    this.#bytes = 0;
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= bytesOf(entry);
  }
}

function bytesOf({ key, body, resources }: CacheRecord): number {
  return Buffer.byteLength(key) + Buffer.byteLength(body) + Buffer.byteLength(resources.join());
}
