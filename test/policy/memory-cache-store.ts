/** A store's cache in memory that notes what it is asked, and can be made to fail or to wait. */
import { ToolError } from "../../src/core/error.ts";
import type { CacheRecord, CacheStore } from "../../src/core/store/store.ts";
import { ResourceVersions } from "../../src/policy/cache/resource-versions.ts";

export class MemoryCacheStore implements CacheStore {
  readonly entries = new Map<string, CacheRecord>();
  /** What was asked, in order. */
  readonly asked: string[] = [];
  /** Set: every request fails. */
  failing = false;
  /** What requests wait for before they are answered. */
  gate: Promise<void> | undefined;
  readonly #versions = new ResourceVersions();

  async get(key: string, now: number): Promise<string | undefined> {
    await this.#begin("get");
    const entry = this.entries.get(key);
    if (entry === undefined || (entry.expiresAt !== undefined && now >= entry.expiresAt) || !this.#isCurrent(entry)) return undefined;
    return entry.body;
  }

  async versions(resources: readonly string[]): Promise<readonly number[]> {
    await this.#begin("versions");
    return resources.map(() => this.#versions.now);
  }

  async put(entry: CacheRecord): Promise<void> {
    await this.#begin("put");
    if (this.#isCurrent(entry)) this.entries.set(entry.key, entry);
  }

  async invalidate(resources: readonly string[]): Promise<void> {
    await this.#begin(`invalidate ${resources.join(" ")}`);
    this.#versions.recordWrite(resources);
  }

  async #begin(request: string): Promise<void> {
    this.asked.push(request);
    await this.gate;
    if (this.failing) throw new ToolError("store_failed", "The disk is full.");
  }

  #isCurrent({ resources, versions }: CacheRecord): boolean {
    return resources.every((resource, index) => this.#versions.isUnchangedSince(versions[index] ?? -1, [resource]));
  }
}
