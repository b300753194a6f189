/** A SQLite store whose database is in the test's own thread, where the test can lay hands on it. */
import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../src/core/ports.ts";
import { DatabaseStore } from "../../src/store/database/database-store.ts";
import type { SqlDatabase } from "../../src/store/sql/sql-database.ts";
import { connectSqlite } from "../../src/store/sqlite/sqlite-connection.ts";
import { openSqliteDatabase } from "../../src/store/sqlite/sqlite-database.ts";

export interface LocalStore {
  readonly store: DatabaseStore;
  readonly log: SqlDatabase;
  readonly file: DatabaseSync;
}

export interface LocalStoreOptions {
  readonly readOnly?: boolean;
  readonly maxBufferedBytes?: number;
  readonly maxCacheBytes?: number;
  /** Of another process; a wait for this thread itself would never end. @default 0 */
  readonly busyTimeoutMs?: number;
  /** @default "normal", which is quicker and makes no difference to a test */
  readonly synchronous?: "full" | "normal";
  readonly clock?: Clock;
}

export function localStore(path: string, options: LocalStoreOptions = {}): LocalStore {
  const { busyTimeoutMs = 0, readOnly = false, maxBufferedBytes = 64e6, maxCacheBytes = 64e6, synchronous = "normal", clock } = options;
  const settings = { path, readOnly, busyTimeoutMs, synchronous, maxCacheBytes };
  const connection = connectSqlite(settings);
  const log = openSqliteDatabase(settings, connection);
  const store = new DatabaseStore(log, {
    kind: "sqlite",
    outlivesProcess: true,
    place: `The store ${path}`,
    readOnly,
    maxBufferedBytes,
    ...(clock === undefined ? {} : { clock }),
  });
  return { store, log, file: connection.database };
}
