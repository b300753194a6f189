/** Sessions in a PostgreSQL database, shared by any number of processes on any number of machines. @packageDocumentation */
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { Store } from "../core/store/store.ts";
import { bossQueue } from "./postgres/boss-queue.ts";
import { checkPostgresSettings } from "./postgres/postgres-settings.ts";
import { DEFAULT_BUFFERED_BYTES, requireInteger } from "./records/store-options.ts";
import { PostgresNotifier } from "./postgres/postgres-notifier.ts";
import { createPostgresStore } from "./postgres/create-postgres-store.ts";

/** Options of a store in PostgreSQL. */
export interface PostgresStoreOptions {
  /**
   * `postgres://user:password@host:5432/database`. PostgreSQL 13 or newer, with the encoding UTF8. Supports `?sslmode=verify-full` and the other
   * settings of `pg`; without a password, `PGPASSWORD` and the password file are used.
   */
  readonly url: string;
  /** The schema that contains the tables. Two stores in one database need two schemas. @default "haft" */
  readonly schema?: string;
  /** Maximum number of connections of this store. Integer ≥ 1. @default 10 */
  readonly maxConnections?: number;
  /** How long to wait for a connection, in milliseconds. @default 5_000 */
  readonly connectTimeoutMs?: number;
  /** How long to wait for the answer to a statement before the connection is discarded, in milliseconds. @default 60_000 */
  readonly answerTimeoutMs?: number;
  /** How long a statement waits for another process that writes the same row, in milliseconds. @default 5_000 */
  readonly lockTimeoutMs?: number;
  /**
   * How long to retry a request that failed because the connection was lost, in milliseconds since the failure was noticed; 0 = no retries. After
   * `leaseMs` of silence another process may claim the session. @default `leaseMs`; 1_000 if `readOnly`
   */
  readonly retryMs?: number;
  /**
   * How long this process may be silent, in milliseconds by the database's clock, before another may claim its open sessions. Must be the same in all
   * processes of a store. Integer ≥ 100. @default 15_000
   */
  readonly leaseMs?: number;
  /** Whether to create and migrate the tables when the store is opened; if false, they must be up to date already. @default true */
  readonly migrate?: boolean;
  /**
   * Whether processes notify each other at once of their writes, over one more connection each, with `LISTEN` and `NOTIFY`. If false, they poll about
   * twice a second. Set it to false behind PgBouncer in transaction mode, which does not forward notifications; otherwise that is detected at the
   * start and logged, and the processes poll as often. @default true
   */
  readonly notify?: boolean;
  /** Opens the store for reading only. @default false */
  readonly readOnly?: boolean;
  /** Maximum number of UTF-8 bytes of JSON that wait to be written; beyond it `append` throws. @default 268_435_456 */
  readonly maxBufferedBytes?: number;
  /** Maximum size of the persistent result cache, in bytes, which all processes share; the oldest results are dropped first. @default 67_108_864 */
  readonly maxCacheBytes?: number;
}

const OPTIONS: OptionNames<PostgresStoreOptions> = {
  url: true,
  schema: true,
  maxConnections: true,
  connectTimeoutMs: true,
  answerTimeoutMs: true,
  lockTimeoutMs: true,
  retryMs: true,
  leaseMs: true,
  migrate: true,
  notify: true,
  readOnly: true,
  maxBufferedBytes: true,
  maxCacheBytes: true,
};

/**
 * Keeps sessions in PostgreSQL, with the same guarantees as `sqliteStore`, for any number of equal processes.
 *
 * A session is written by the process that claimed it. The claim expires when that process is silent for `leaseMs`. The next claim increments the
 * session's epoch, and each write carries the epoch of its claim, so that a late write of an earlier owner is refused with `conflict`. Events that
 * are appended during a commit are written together with the next one, in one statement.
 *
 * Requests are retried for up to `retryMs` if a connection is lost, or a server restarts or accepts no writes. Events that still cannot be written
 * stay buffered, and are tried again with the next write. Needs the package `pg`, which is loaded when the store is opened.
 *
 * @throws ToolError `invalid_argument`
 */
export function postgresStore(options: PostgresStoreOptions): Store {
  checkKnownKeys(options, OPTIONS, "postgresStore()");
  const { maxBufferedBytes = DEFAULT_BUFFERED_BYTES, ...rest } = options;
  const settings = checkPostgresSettings(rest);
  const connect = async () => (await import("./postgres/postgres-database.ts")).openPostgresDatabase(settings);
  const notifier = settings.notify ? new PostgresNotifier(settings) : undefined;
  return createPostgresStore(settings, {
    connect,
    maxBufferedBytes: requireInteger("maxBufferedBytes", maxBufferedBytes, 1),
    notifier,
    ...(settings.readOnly ? {} : { queue: bossQueue(settings, notifier) }),
  });
}
