/** How a SQLite file is opened: what the store's thread is started with. */

export interface SqliteSettings {
  /** Absolute, or `:memory:`. */
  readonly path: string;
  readonly readOnly: boolean;
  readonly busyTimeoutMs: number;
  readonly synchronous: "full" | "normal";
  readonly maxCacheBytes: number;
}
