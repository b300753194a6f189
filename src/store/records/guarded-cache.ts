/** A cache that is asked only while its store is open. */
import type { CacheStore } from "../../core/store.ts";

/** `open` opens the store where that is to be done, and rejects when it is closed. */
export function guardCache(cache: CacheStore, open: () => Promise<void>): CacheStore {
  return {
    async get(key, now) {
      await open();
      return cache.get(key, now);
    },
    async versions(resources) {
      await open();
      return cache.versions(resources);
    },
    async put(entry) {
      await open();
      return cache.put(entry);
    },
    async invalidate(resources) {
      await open();
      return cache.invalidate(resources);
    },
  };
}
