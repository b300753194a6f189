/** Sessions in a SQLite file. @packageDocumentation */
import { quoted } from "../core/base/wording.ts";
import { resolve } from "node:path";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { Store } from "../core/store.ts";
import { DatabaseStore } from "./database/database-store.ts";
import { InThreadDatabase } from "./database/in-thread-database.ts";
import type { SqliteSettings } from "./sqlite/sqlite-settings.ts";
import { DEFAULT_BUFFERED_BYTES, DEFAULT_CACHE_BYTES, HEARTBEAT_MS, requireWhole } from "./records/store-options.ts";
import { noSqliteHere } from "./sqlite/sqlite-error.ts";
import { WorkerDatabase, findWorkerFile } from "./sqlite/worker-database.ts";

/** How the file of a store is written. */
export interface SqliteStoreOptions {
  /** The file, made when it is not there, in a folder that is; or `:memory:`. Never on a network drive. */
  readonly path: string;
  /** How long to wait for another process that is writing, in milliseconds. @default 5_000 */
  readonly busyTimeoutMs?: number;
  /** `full`: what is durable survives a loss of power; `normal`: it survives the end of the process, and a power cut may take the last of it. @default "full" */
  readonly synchronous?: "full" | "normal";
  /** Reads, also from a file that is damaged, and changes nothing. @default false */
  readonly readOnly?: boolean;
  /** When so many UTF-8 bytes of JSON wait to be written, `append` throws. @default 268_435_456 */
  readonly maxBufferedBytes?: number;
  /** Most bytes of the persistent result cache; the oldest results go first. @default 67_108_864 */
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
 * Keeps sessions in a SQLite file, written by a thread of its own: one process or several on one machine.
 *
 * Events that are appended while a commit is under way go together with the next (group commit). Every event carries a checksum over itself
 * and the event before, verified whenever it is read. A request that is under way keeps the process alive, an idle store does not.
 *
 * Bundled into a program's own file, it has no file to start its thread from, and writes in the thread that uses it: each commit then holds
 * that up. Mark `haft` as external to keep the thread.
 *
 * @throws ToolError `invalid_argument`
 */
export function sqliteStore(options: SqliteStoreOptions): Store {
  checkKnownKeys(options, OPTIONS, "sqliteStore()");
  const { path, readOnly = false, synchronous = "full" } = options;
  if (typeof path !== "string" || path === "") throw new ToolError("invalid_argument", "path is missing; name a file, or :memory:.");
  if (synchronous !== "full" && synchronous !== "normal") {
    throw new ToolError("invalid_argument", `synchronous is ${quoted(synchronous)}; it must be full or normal.`);
  }
  const inMemory = path === ":memory:";
  const file = inMemory ? path : resolve(path);
  const busyTimeoutMs = requireWhole("busyTimeoutMs", options.busyTimeoutMs ?? DEFAULT_BUSY_TIMEOUT_MS, 0);
  const maxCacheBytes = requireWhole("maxCacheBytes", options.maxCacheBytes ?? DEFAULT_CACHE_BYTES, 0);
  const settings = { path: file, readOnly, busyTimeoutMs, synchronous, maxCacheBytes };
  const place = inMemory ? "The store in memory" : `The store ${file}`;
  const workerFile = findWorkerFile();
  const database = workerFile === undefined ? inThread(settings, place) : new WorkerDatabase(settings, workerFile);
  return new DatabaseStore(database, {
    kind: "sqlite",
    outlivesProcess: !inMemory,
    place,
    readOnly,
    takesCommitsAhead: workerFile !== undefined,
    maxBufferedBytes: requireWhole("maxBufferedBytes", options.maxBufferedBytes ?? DEFAULT_BUFFERED_BYTES, 1),
  });
}

/** Each commit holds up the thread until the disk has it. */
function inThread(settings: SqliteSettings, place: string): InThreadDatabase {
  const connect = async () => {
    const { openSqliteDatabase } = await import("./sqlite/sqlite-database.ts").catch((thrown: unknown) => {
      throw noSqliteHere(thrown, place);
    });
    return openSqliteDatabase(settings);
  };
  return new InThreadDatabase({ place, heartbeatMs: HEARTBEAT_MS, connect });
}
