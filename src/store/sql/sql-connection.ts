/** The part of the database that the statements need to know: the part in which SQLite and others differ. */
import type { CompiledQuery, Kysely, RawBuilder, Transaction } from "kysely";
import type { ToolError } from "../../core/error.ts";
import type { Clock } from "../../core/ports.ts";
import type { SchemaShape } from "./schema-shape.ts";
import type { Tables } from "./tables.ts";

export interface SqlConnection {
  readonly tables: Kysely<Tables>;
  /** Set when the database is in this thread and answers at once. */
  readonly immediate?: ImmediateSql;
  /** Set when one statement can write to several tables, from arrays: the name of the schema that they are in. */
  readonly groups?: { readonly schema: string };
  /** How it is known that an owner lives. */
  readonly liveness: Liveness;
  /** Most bytes of a text that is looked up; longer ones are looked up by their digest. */
  readonly maxKeyBytes: number;
  /** Where the data is, for messages. */
  readonly place: string;
  /** Milliseconds since the epoch by the database's clock, which all owners share. */
  readonly databaseTime: RawBuilder<number>;
  /** The greatest number that was ever given to an event; null before there was one. */
  readonly lastSequence: RawBuilder<number | null>;
  /**
   * The number up to which it is decided which events there are, for statements that begin later. Undefined where numbers are given in the
   * order of commits.
   */
  readonly settledSequence?: RawBuilder<number>;
  /** 32 random characters. */
  readonly randomText: RawBuilder<string>;
  /** Describes as text what kept the database from doing something. */
  explain(thrown: unknown, doing: string): ToolError;
  /** True when the cause is damaged data, which no second try mends. */
  isDamage(thrown: unknown): boolean;
  /** True when another connection has the lock that is needed. */
  isBusy(thrown: unknown): boolean;
  /** True when a row was refused because another one is in its place, or one that it refers to is not there. */
  isTaken(thrown: unknown): boolean;
  /** True when a value was refused that this database can never hold. */
  isUnfit(thrown: unknown): boolean;
  /** Runs work, and runs it again where it failed for a reason that passes and it is not known to be done. */
  attempt<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Names of all tables that are there, for messages. */
  tableNames(tables: Kysely<Tables>): Promise<readonly string[]>;
  /** The first thing in a transaction that changes the tables themselves: only one at a time comes past it. */
  lockTables(transaction: Transaction<Tables>): Promise<void>;
  /** Makes what `lastSequence` and `settledSequence` need, when the table of events has its numbers. */
  orderEvents(transaction: Transaction<Tables>): Promise<void>;
  /** Throws ToolError `store_failed` where the tables may not be changed. Undefined where opening a file for writing says so. */
  readonly requireRights?: (tables: Kysely<Tables>) => Promise<void>;
  /** Keeps all other writers out until the transaction ends. Undefined where a transaction does that by itself. */
  readonly excludeWriters?: (transaction: Transaction<Tables>) => Promise<void>;
  /** Sets the greatest number that was ever given to an event. */
  setLastSequence(transaction: Transaction<Tables>, last: number): Promise<void>;
  /** The tables of the store as they are. */
  readShape(tables: Kysely<Tables>): Promise<SchemaShape>;
  /** Says what is wrong with the file itself. Undefined where the database looks after that. */
  readonly fileDamage?: (tables: Kysely<Tables>) => Promise<readonly string[]>;
  close(): Promise<void>;
}

export interface Liveness {
  /** An owner that was silent for longer is gone, or has no say any more. */
  readonly leaseMs: number;
  /** All owners of one host see each other's processes: one whose process is gone is gone at once. */
  readonly seesProcesses: boolean;
  /** By which it is noticed that the database's clock was set. @default that of the system */
  readonly clock?: Pick<Clock, "now">;
}

/** Statements that have run when the function that runs them returns, on the connection that `tables` uses as well. */
export interface ImmediateSql {
  /** False while a transaction of `tables` is under way. */
  readonly isFree: boolean;
  prepare(query: CompiledQuery): RunStatement;
  /** Runs work in a transaction; one whose work throws or returns false is rolled back. Returns what the work returns. */
  write(work: () => boolean): boolean;
}

/** Runs a prepared statement. Returns how many rows it changed. */
export type RunStatement = (parameters: readonly unknown[]) => number;
