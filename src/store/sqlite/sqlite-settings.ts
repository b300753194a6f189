/** How a SQLite file is opened. Passed to the store's thread when it starts. */

export interface SqliteSettings {
  /** Absolute path, or `:memory:`. */
  readonly path: string;
  readonly readOnly: boolean;
  readonly busyTimeoutMs: number;
  readonly synchronous: "full" | "normal";
  readonly maxCacheBytes: number;
}
