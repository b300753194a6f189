/** The part of the database that the statements need to know: the part in which SQLite and others differ. */
import type { CompiledQuery, Kysely, RawBuilder } from "kysely";
import type { ToolError } from "../core/error.ts";
import type { Tables } from "./tables.ts";

export interface SqlConnection {
  readonly tables: Kysely<Tables>;
  /** Set when the database is in this thread and answers at once. */
  readonly immediate?: ImmediateSql;
  /** Where the data is, for messages. */
  readonly place: string;
  /** Milliseconds since the epoch by the database's clock, which all owners share. */
  readonly databaseTime: RawBuilder<number>;
  /** The greatest number that was ever given to an event; null before there was one. */
  readonly lastSequence: RawBuilder<number | null>;
  /** 32 random characters. */
  readonly randomText: RawBuilder<string>;
  /** Describes as text what kept the database from doing something. */
  explain(thrown: unknown, doing: string): ToolError;
  /** True when the cause is damaged data, which no second try mends. */
  isDamage(thrown: unknown): boolean;
  /** True when another connection has the lock that is needed. */
  isBusy(thrown: unknown): boolean;
  /** True when a row was refused because another one is in its place. */
  isTaken(thrown: unknown): boolean;
  close(): Promise<void>;
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
