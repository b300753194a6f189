/** Sessions in a SQLite file. @packageDocumentation */
import { quoteValue } from "../core/base/wording.ts";
import { resolve } from "node:path";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { Store } from "../core/store/store.ts";
import { DatabaseStore } from "./database/database-store.ts";
import { InThreadDatabase } from "./database/in-thread-database.ts";
import type { SqliteSettings } from "./sqlite/sqlite-settings.ts";
import { DEFAULT_BUFFERED_BYTES, DEFAULT_CACHE_BYTES, HEARTBEAT_MS, requireInteger } from "./records/store-options.ts";
import { sqliteUnavailableError } from "./sqlite/sqlite-error.ts";
import { WorkerDatabase, findWorkerFile } from "./sqlite/worker-database.ts";

/** Options of a store in a SQLite file. */
export interface SqliteStoreOptions {
  /** The file, created if it does not exist, in an existing folder; or `:memory:`. Must not be on a network drive. */
  readonly path: string;
  /** How long to wait for another process that is writing, in milliseconds. @default 5_000 */
  readonly busyTimeoutMs?: number;
  /** `full`: durable events survive power failures; `normal`: they survive the end of the process, not always a power failure. @default "full" */
  readonly synchronous?: "full" | "normal";
  /** Opens the store for reading only, even if the file is damaged. @default false */
  readonly readOnly?: boolean;
  /** Maximum number of UTF-8 bytes of JSON that wait to be written; beyond it `append` throws. @default 268_435_456 */
  readonly maxBufferedBytes?: number;
  /** Maximum size of the persistent result cache, in bytes; the oldest results are dropped first. @default 67_108_864 */
  readonly maxCacheBytes?: number;
}

const OPTIONS: OptionNames<SqliteStoreOptions> = {
  path: true,
  busyTimeoutMs: true,
  synchronous: true,
  readOnly: "boolean",
  maxBufferedBytes: true,
  maxCacheBytes: true,
};
const DEFAULT_BUSY_TIMEOUT_MS = 5_000;

/**
 * Keeps sessions in a SQLite file, written by a separate thread. Several processes on one machine can share the file.
 *
 * Events that are appended during a commit are written together with the next one (group commit). Every event has a checksum over itself and the
 * event before, verified whenever it is read. A pending request keeps the process alive, an idle store does not.
 *
 * If Haft is bundled into the program's own file, there is no worker file to start the thread from. The store then writes in the program's thread,
 * which every commit blocks. Mark `haft` as external to keep the thread.
 *
 * @throws ToolError `invalid_argument`
 */
export function sqliteStore(options: SqliteStoreOptions): Store {
  checkKnownKeys(options, OPTIONS, "sqliteStore()");
  const { path, readOnly = false, synchronous = "full" } = options;
  if (typeof path !== "string" || path === "") throw new ToolError("invalid_argument", "path is missing; name a file, or :memory:.");
  if (synchronous !== "full" && synchronous !== "normal") {
    throw new ToolError("invalid_argument", `synchronous is ${quoteValue(synchronous)}; it must be full or normal.`);
  }
  const inMemory = path === ":memory:";
  const file = inMemory ? path : resolve(path);
  const busyTimeoutMs = requireInteger("busyTimeoutMs", options.busyTimeoutMs ?? DEFAULT_BUSY_TIMEOUT_MS, 0);
  const maxCacheBytes = requireInteger("maxCacheBytes", options.maxCacheBytes ?? DEFAULT_CACHE_BYTES, 0);
  const settings = { path: file, readOnly, busyTimeoutMs, synchronous, maxCacheBytes };
  const place = inMemory ? "The store in memory" : `The store ${file}`;
  const workerFile = findWorkerFile();
  const database = workerFile === undefined ? createInThreadDatabase(settings, place) : new WorkerDatabase(settings, workerFile);
  return new DatabaseStore(database, {
    kind: "sqlite",
    outlivesProcess: !inMemory,
    place,
    readOnly,
    acceptsPipelinedCommits: workerFile !== undefined,
    maxBufferedBytes: requireInteger("maxBufferedBytes", options.maxBufferedBytes ?? DEFAULT_BUFFERED_BYTES, 1),
  });
}

/** A database in this thread: each commit blocks the thread until it is on disk. */
function createInThreadDatabase(settings: SqliteSettings, place: string): InThreadDatabase {
  const connect = async () => {
    const { openSqliteDatabase } = await import("./sqlite/sqlite-database.ts").catch((thrown: unknown) => {
      throw sqliteUnavailableError(thrown, place);
    });
    return openSqliteDatabase(settings);
  };
  return new InThreadDatabase({ place, heartbeatMs: HEARTBEAT_MS, connect });
}
