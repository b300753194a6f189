/** A connection to a database, with everything in which SQLite and PostgreSQL differ. */
import type { CompiledQuery, Kysely, RawBuilder, Transaction } from "kysely";
import type { ToolError } from "../../core/error.ts";
import type { Clock } from "../../core/ports.ts";
import type { SchemaShape } from "./schema-shape.ts";
import type { Tables } from "./tables.ts";

export interface SqlConnection {
  readonly tables: Kysely<Tables>;
  /** Set if the database is in this thread and answers at once. */
  readonly immediate?: ImmediateSql;
  /** Set if one statement can write several tables, from arrays. `schema` contains the tables. */
  readonly groups?: { readonly schema: string };
  /** How it is decided whether an owner is alive. */
  readonly liveness: Liveness;
  /** Maximum size of a text that is looked up, in bytes; longer texts are looked up by their digest. */
  readonly maxKeyBytes: number;
  /** Where the data is, for messages. */
  readonly place: string;
  /** Milliseconds since the epoch by the database's clock, which all owners share. */
  readonly databaseTime: RawBuilder<number>;
  /** The greatest sequence number ever given to an event; null if there is none. */
  readonly lastSequence: RawBuilder<number | null>;
  /** The number up to which no event will be added, for statements that begin later. Undefined if numbers follow the order of commits. */
  readonly settledSequence?: RawBuilder<number>;
  /** 32 random characters. */
  readonly randomText: RawBuilder<string>;
  /** Converts an error of the database to a ToolError. @param doing describes what failed */
  toStoreError(thrown: unknown, doing: string): ToolError;
  /** Whether the cause is damaged data, so that retrying does not help. */
  isDamageError(thrown: unknown): boolean;
  /** Whether another connection holds the lock. */
  isLockBusy(thrown: unknown): boolean;
  /** Whether a row was refused because its key is taken, or because a row that it refers to does not exist. */
  isKeyTaken(thrown: unknown): boolean;
  /** Whether a value was refused that this database can never store. */
  isUnstorable(thrown: unknown): boolean;
  /** Runs work, and retries it if it failed for a temporary reason and is not known to be done. */
  runWithRetries<Result>(work: () => Promise<Result>): Promise<Result>;
  /** The names of all existing tables, for messages. */
  tableNames(tables: Kysely<Tables>): Promise<readonly string[]>;
  /** Locks the tables for a migration, one transaction at a time. Must come first in a transaction that changes the tables themselves. */
  lockTables(transaction: Transaction<Tables>): Promise<void>;
  /** Creates what `lastSequence` and `settledSequence` need, once events have numbers. */
  orderEvents(transaction: Transaction<Tables>): Promise<void>;
  /** Throws ToolError `store_failed` if the tables may not be changed. Undefined if opening a file for writing already fails then. */
  readonly requireRights?: (tables: Kysely<Tables>) => Promise<void>;
  /** Keeps all other writers out until the transaction ends. Undefined if every transaction does so. */
  readonly excludeWriters?: (transaction: Transaction<Tables>) => Promise<void>;
  /** Sets the greatest sequence number ever given to an event. */
  setLastSequence(transaction: Transaction<Tables>, last: number): Promise<void>;
  /** Reads the actual tables of the store. */
  readShape(tables: Kysely<Tables>): Promise<SchemaShape>;
  /** Returns the damage of the file itself. Undefined if the database checks its own files. */
  readonly fileDamage?: (tables: Kysely<Tables>) => Promise<readonly string[]>;
  close(): Promise<void>;
}

export interface Liveness {
  /** An owner that was silent for longer counts as gone. In milliseconds. */
  readonly leaseMs: number;
  /** Whether owners on one host can see each other's processes. An owner whose process has ended is then gone at once. */
  readonly seesProcesses: boolean;
  /** Used to detect that the database's clock was set. @default the system's clock */
  readonly clock?: Pick<Clock, "now">;
}

/** Synchronous statements, on the same connection as `tables`. */
export interface ImmediateSql {
  /** False while a transaction of `tables` is open. */
  readonly isIdle: boolean;
  prepare(query: CompiledQuery): RunStatement;
  /** Runs work in a transaction, which is rolled back if the work throws or returns false. Returns the result of the work. */
  write(work: () => boolean): boolean;
}

/** Runs a prepared statement. Returns the number of changed rows. */
export type RunStatement = (parameters: readonly unknown[]) => number;
