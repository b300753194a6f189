/**
 * The order of events in PostgreSQL, where a transaction may commit after one that took greater sequence numbers.
 *
 * Before a transaction takes its first number, it acquires a shared advisory lock whose key is the last number given so far; the server releases the
 * lock when the transaction ends. No more events can be added up to the lowest of these keys, and up to the last number given before the locks were
 * read.
 */
import { sql, type Transaction } from "kysely";
import type { SqlConnection } from "../sql/sql-connection.ts";
import type { Tables } from "../sql/tables.ts";

const LAST = "haft_last_event";
const SETTLED = "haft_settled_event";
const MARK = "haft_mark_writer";

export function createEventOrder(
  schema: string,
): Required<Pick<SqlConnection, "lastSequence" | "settledSequence" | "orderEvents" | "setLastSequence">> {
  return {
    lastSequence: sql<number>`${sql.id(schema, LAST)}()`,
    settledSequence: sql<number>`${sql.id(schema, SETTLED)}()`,
    orderEvents: (transaction) => createFunctions(transaction, schema),
    async setLastSequence(transaction, last) {
      const sequence = sql`pg_get_serial_sequence(format('%I.%I', ${schema}::text, 'haft_event'), 'sequence')`;
      await sql`select setval(${sequence}, ${Math.max(last, 1)}::bigint, ${last > 0})`.execute(transaction);
    },
  };
}

/** Creates `security definer` functions, so that a read-only role needs no rights on the sequence. */
async function createFunctions(transaction: Transaction<Tables>, schema: string): Promise<void> {
  const { rows } = await sql<{ name: string; number: number }>`
    select name, name::regclass::oid::bigint as number
    from (select pg_get_serial_sequence(format('%I.%I', ${schema}::text, 'haft_event'), 'sequence') as name) as found`.execute(transaction);
  const [found] = rows;
  if (found === undefined) throw new Error("haft_event has no sequence");
  const sequence = sql.raw(found.name);
  const number = sql.lit(found.number);
  const lockClass = sql.lit(toSigned32(found.number));
  await sql`
    create or replace function ${sql.id(schema, LAST)}() returns bigint language sql volatile security definer set search_path = pg_catalog
    as $$ select case when is_called then last_value else 0 end from ${sequence} $$`.execute(transaction);
  await sql`
    create or replace function ${sql.id(schema, SETTLED)}() returns bigint language plpgsql volatile security definer set search_path = pg_catalog
    as $$ declare given bigint; before bigint; begin
      given := ${sql.id(schema, LAST)}();
      select min(given - ((given - objid::bigint) % 4294967296 + 4294967296) % 4294967296) into before from pg_locks
      where locktype = 'advisory' and objsubid = 2 and classid = ${number}
        and database = (select oid from pg_database where datname = current_database());
      return least(given, before);
    end $$`.execute(transaction);
  await sql`
    create or replace function ${sql.id(schema, MARK)}() returns trigger language plpgsql volatile security definer set search_path = pg_catalog
    as $$ declare given bigint; begin
      if coalesce(current_setting('haft.writes', true), '') = '' then
        given := ${sql.id(schema, LAST)}() % 4294967296;
        perform pg_advisory_xact_lock_shared(${lockClass}, (case when given > 2147483647 then given - 4294967296 else given end)::int);
        perform set_config('haft.writes', 'yes', true);
      end if;
      return null;
    end $$`.execute(transaction);
  await sql`
    create trigger haft_mark_writer before insert on ${sql.id(schema, "haft_event")}
    for each statement execute function ${sql.id(schema, MARK)}()`.execute(transaction);
}

/** Converts a number to a signed 32-bit one, as the two-key advisory locks need. */
function toSigned32(number: number): number {
  return number | 0;
}
