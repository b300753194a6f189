/** A cache that opens its store before each request. */
import type { CacheStore } from "../../core/store/store.ts";

/** @param open opens the store if necessary, and rejects if it is closed */
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
