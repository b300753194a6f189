/** Times by the database's clock, because the clocks of several machines are never compared. */
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { SqlConnection } from "./sql-connection.ts";
import type { Tables } from "./tables.ts";

/** Evaluates an expression that needs no table, such as `databaseTime` of a connection. */
export async function evaluateExpression<Value>(expression: RawBuilder<Value>, tables: Kysely<Tables>): Promise<Value> {
  const { rows } = await sql<{ value: Value }>`select ${expression} as value`.execute(tables);
  const [row] = rows;
  if (row === undefined) throw new Error("The database answered a select without tables with no row.");
  return row.value;
}

/** The database's time so many milliseconds after the statement. */
export function databaseTimeAfter(ms: number, { databaseTime }: SqlConnection): RawBuilder<number> {
  return sql<number>`${databaseTime} + ${Math.trunc(ms)}`;
}
