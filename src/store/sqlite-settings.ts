/** How a SQLite file is opened: what the store's thread is started with. */

/** Milliseconds between two heartbeats of the owner of a store. It is in this file so that a reader of it loads no database. */
export const HEARTBEAT_MS = 5_000;

export interface SqliteSettings {
  /** Absolute, or `:memory:`. */
  readonly path: string;
  readonly readOnly: boolean;
  readonly busyTimeoutMs: number;
  readonly synchronous: "full" | "normal";
  readonly maxCacheBytes: number;
}
