/** Reads the actual tables of a SQLite file. */
import { sql, type Kysely } from "kysely";
import { toTableShapes, type ColumnRow, type IndexRow, type ReferenceRow, type SchemaShape } from "../sql/schema-shape.ts";
import type { Tables } from "../sql/tables.ts";

const OURS = sql`m.type = 'table' and m.name like 'haft\\_%' escape '\\'`;

export async function readSqliteShape(tables: Kysely<Tables>): Promise<SchemaShape> {
  const columns = await sql<ColumnRow>`
    select m.name as "table", c.name, c.type, (c."notnull" or c.pk > 0) as required
    from sqlite_schema m join pragma_table_info(m.name) c where ${OURS} order by m.name, c.cid`.execute(tables);
  const keys = await sql<IndexRow>`
    select "table", "table" as name, 1 as "isUnique", group_concat(name, ', ') as columns from (
      select m.name as "table", c.name from sqlite_schema m join pragma_table_info(m.name) c
      where ${OURS} and c.pk > 0 order by m.name, c.pk) group by "table"`.execute(tables);
  const indexes = await sql<IndexRow>`
    select "table", name, "isUnique", group_concat(part, ', ') as columns from (
      select m.name as "table", i.name, i."unique" as "isUnique", p.name as part
      from sqlite_schema m join pragma_index_list(m.name) i join pragma_index_info(i.name) p
      where ${OURS} and i.origin <> 'pk' order by m.name, i.name, p.seqno) group by "table", name, "isUnique"`.execute(tables);
  const references = await sql<ReferenceRow>`
    select m.name as "table", f."from" as "column", f."table" as target, f."to" as "targetColumn"
    from sqlite_schema m join pragma_foreign_key_list(m.name) f where ${OURS}`.execute(tables);
  return {
    tables: toTableShapes({ columns: columns.rows, indexes: [...keys.rows, ...indexes.rows], references: references.rows }),
    missing: [],
  };
}
