/** Reads the actual tables of a PostgreSQL schema. */
import { sql, type Kysely } from "kysely";
import { toTableShapes, type ColumnRow, type IndexRow, type ReferenceRow, type SchemaShape } from "../sql/schema-shape.ts";
import type { Tables } from "../sql/tables.ts";

const FUNCTIONS = ["haft_last_event", "haft_settled_event", "haft_mark_writer"];

export async function readPostgresShape(tables: Kysely<Tables>, schema: string): Promise<SchemaShape> {
  const ours = sql`t.relnamespace = (select oid from pg_namespace where nspname = ${schema}) and t.relkind in ('r', 'p') and t.relname like 'haft\\_%'`;
  const columns = await sql<ColumnRow>`
    select t.relname::text as "table", a.attname::text as name, format_type(a.atttypid, null) as type, a.attnotnull as required
    from pg_class t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
    where ${ours} order by t.relname, a.attnum`.execute(tables);
  const indexes = await sql<IndexRow>`
    select t.relname::text as "table", i.relname::text as name, x.indisunique as "isUnique",
      (select string_agg(a.attname::text, ', ' order by k.place) from unnest(x.indkey::int2[]) with ordinality as k(number, place)
        join pg_attribute a on a.attrelid = t.oid and a.attnum = k.number) as columns
    from pg_class t join pg_index x on x.indrelid = t.oid join pg_class i on i.oid = x.indexrelid
    where ${ours} and x.indisvalid and x.indpred is null and x.indexprs is null`.execute(tables);
  const references = await sql<ReferenceRow>`
    select t.relname::text as "table", a.attname::text as "column", f.relname::text as target, b.attname::text as "targetColumn"
    from pg_class t join pg_constraint c on c.conrelid = t.oid and c.contype = 'f' join pg_class f on f.oid = c.confrelid
      join pg_attribute a on a.attrelid = t.oid and a.attnum = c.conkey[1] join pg_attribute b on b.attrelid = f.oid and b.attnum = c.confkey[1]
    where ${ours}`.execute(tables);
  const found = toTableShapes({ columns: columns.rows, indexes: indexes.rows, references: references.rows });
  return { tables: found, missing: found.get("haft_event")?.columns.has("sequence") === true ? await findMissing(tables, schema) : [] };
}

/** The missing functions and triggers that order events; see postgres-event-order.ts. */
async function findMissing(tables: Kysely<Tables>, schema: string): Promise<readonly string[]> {
  const functions = await sql<{ name: string }>`
    select proname::text as name from pg_proc where pronamespace = (select oid from pg_namespace where nspname = ${schema})`.execute(
    tables,
  );
  const names = new Set(functions.rows.map(({ name }) => name));
  const triggers = await sql<{ state: string }>`
    select tgenabled::text as state from pg_trigger
    where tgrelid = format('%I.%I', ${schema}::text, 'haft_event')::regclass and tgname = 'haft_mark_writer'`.execute(tables);
  const isOn = triggers.rows.some(({ state }) => state === "O" || state === "A");
  return [
    ...FUNCTIONS.filter((name) => !names.has(name)).map((name) => `the function ${name}`),
    ...(isOn ? [] : ["the trigger haft_mark_writer of haft_event, switched on"]),
  ];
}
