/** The public names of `haft/store`, listed by hand: the seam behind which sessions outlive their process. @packageDocumentation */
export type { AccessStore, KeyQuery, RefusalQuery, RefusedRequest, RevokeKeyRequest, StoredKey } from "../core/access-store.ts";
export type { CancelRequest, JobKey, JobStore, ListStoredJobsOptions, PruneJobsOptions, StoredJob } from "../core/job-store.ts";
export type {
  CacheRecord,
  CacheStore,
  EventLog,
  EventPage,
  ListOptions,
  LogDamage,
  LogOptions,
  ReadOptions,
  Store,
  StoredSession,
} from "../core/store.ts";
export { memoryStore } from "../store/memory-store.ts";
