/** When a cached result expires, by wall clocks that may be set and may differ between machines. */
import type { CacheRecord } from "../../core/store/store.ts";

/** Maximum difference between the clocks of two machines, in milliseconds: a result may have been stored this far in the future. */
const MAX_SKEW_MS = 60_000;

/**
 * Whether a result with an end may no longer be returned. One from the future has expired too: the clock was set back, and the result would be
 * returned for that much longer than its time.
 */
export function hasExpired({ storedAt, expiresAt }: Pick<CacheRecord, "storedAt" | "expiresAt">, now: number): boolean {
  return expiresAt !== undefined && (expiresAt <= now || storedAt > now + MAX_SKEW_MS);
}
