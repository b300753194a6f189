/** Sessions in a PostgreSQL database, which any number of processes on any number of machines share. @packageDocumentation */
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { Store } from "../core/store.ts";
import { bossQueue } from "./postgres/boss-queue.ts";
import { checkPostgresSettings } from "./postgres/postgres-settings.ts";
import { DEFAULT_BUFFERED_BYTES, requireWhole } from "./records/store-options.ts";
import { PostgresNotifier } from "./postgres/postgres-notifier.ts";
import { storeInPostgres } from "./postgres/store-in-postgres.ts";

/** How a store in PostgreSQL is reached. */
export interface PostgresStoreOptions {
  /**
   * `postgres://user:password@host:5432/database`. PostgreSQL 13 or newer, with the encoding UTF8. `?sslmode=verify-full` and the other
   * settings of `pg` are understood; without a password, `PGPASSWORD` and the password file are.
   */
  readonly url: string;
  /** The schema that has the tables; two stores of one database have two. @default "haft" */
  readonly schema?: string;
  /** Most connections of this store. Integer ≥ 1. @default 10 */
  readonly maxConnections?: number;
  /** How long to wait for a connection, in milliseconds. @default 5_000 */
  readonly connectTimeoutMs?: number;
  /** How long to wait for the answer to a statement, in milliseconds; then the connection is given up. @default 60_000 */
  readonly answerTimeoutMs?: number;
  /** How long a statement waits for another process that writes the same row, in milliseconds. @default 5_000 */
  readonly lockTimeoutMs?: number;
  /**
   * How long what failed because the connection was lost is tried again, in milliseconds from when that showed; 0 = not at all. After `leaseMs` of
   * silence another process may have the session. @default `leaseMs`; 1_000 where `readOnly`
   */
  readonly retryMs?: number;
  /**
   * After so many milliseconds of silence, by the database's clock, another process may claim what this one has open. The same in all
   * processes of a store. Integer ≥ 100. @default 15_000
   */
  readonly leaseMs?: number;
  /** Whether tables are made and brought up to date when the store is opened; false = they must be already. @default true */
  readonly migrate?: boolean;
  /**
   * Whether processes tell each other at once what they wrote, over one more connection each, with `LISTEN` and `NOTIFY`; false = they look for
   * it about twice a second. Set it to false behind PgBouncer in transaction mode, which passes no notifications on; else that is found out at
   * the start, said in the log, and they look as often. @default true
   */
  readonly notify?: boolean;
  /** Reads, and changes nothing. @default false */
  readonly readOnly?: boolean;
  /** When so many UTF-8 bytes of JSON wait to be written, `append` throws. @default 268_435_456 */
  readonly maxBufferedBytes?: number;
  /** Most bytes of the persistent result cache, which all processes share; the oldest results go first. @default 67_108_864 */
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
 * Keeps sessions in PostgreSQL, with the same promises as `sqliteStore`, for any number of equal processes.
 *
 * A session is written by the process that claimed it. The claim ends when that process is silent for `leaseMs`; the next claim
 * raises its epoch, and each write names the epoch that it belongs to, so that a write of the earlier owner that comes late is refused
 * with `conflict`. Events that are appended while a commit is under way go together with the next, in one statement.
 *
 * A connection that is lost, a server that is restarted, and one that takes no writes are waited for as long as `retryMs`; what cannot be written then stays
 * buffered, and is tried again with the next write. Needs the package `pg`, which is loaded when the store is opened.
 *
 * @throws ToolError `invalid_argument`
 */
export function postgresStore(options: PostgresStoreOptions): Store {
  checkKnownKeys(options, OPTIONS, "postgresStore()");
  const { maxBufferedBytes = DEFAULT_BUFFERED_BYTES, ...rest } = options;
  const settings = checkPostgresSettings(rest);
  const connect = async () => (await import("./postgres/postgres-database.ts")).openPostgresDatabase(settings);
  const notifier = settings.notify ? new PostgresNotifier(settings) : undefined;
  return storeInPostgres(settings, {
    connect,
    maxBufferedBytes: requireWhole("maxBufferedBytes", maxBufferedBytes, 1),
    notifier,
    ...(settings.readOnly ? {} : { queue: bossQueue(settings, notifier) }),
  });
}
