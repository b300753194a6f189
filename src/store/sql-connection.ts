/** What the statements need to know of the database they run on: the part that SQLite and others do not have in common. */
import type { Kysely, RawBuilder } from "kysely";
import type { ToolError } from "../core/error.ts";
import type { Tables } from "./tables.ts";

export interface SqlConnection {
  readonly tables: Kysely<Tables>;
  /** Where the data is, for messages. */
  readonly place: string;
  /** Milliseconds since the epoch by the database's clock, which all owners share. */
  readonly databaseTime: RawBuilder<number>;
  /** 32 random characters. */
  readonly randomText: RawBuilder<string>;
  /** Says in words what kept the database from doing something. */
  explain(thrown: unknown, doing: string): ToolError;
  /** True when the cause is damaged data, which no second try mends. */
  isDamage(thrown: unknown): boolean;
  /** True when another connection has the lock that is needed. */
  isBusy(thrown: unknown): boolean;
  /** True when a row was refused because another one stands in its place. */
  isTaken(thrown: unknown): boolean;
  close(): Promise<void>;
}
