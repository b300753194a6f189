/** The locks under which the tables of a store in PostgreSQL are changed, or filled by a copy. */
import { sql } from "kysely";
import { requireRights } from "./postgres-rights.ts";
import type { SqlConnection } from "../sql/sql-connection.ts";

/** Of those that change the tables; one number for all stores of a server. */
const TABLES_LOCK = 4_726_183;

export function tableLocks(store: {
  readonly schema: string;
  readonly place: string;
}): Required<Pick<SqlConnection, "lockTables" | "requireRights" | "excludeWriters">> {
  const { schema } = store;
  return {
    async lockTables(transaction) {
      await sql`select pg_advisory_xact_lock(${TABLES_LOCK})`.execute(transaction);
      if (await requireRights(transaction, store)) return;
      await transaction.schema.createSchema(schema).execute();
    },
    requireRights: async (tables) => void (await requireRights(tables, store)),
    async excludeWriters(transaction) {
      const { rows } = await sql<{ name: string }>`
        select tablename as name from pg_tables where schemaname = ${schema} and tablename like 'haft\\_%' order by 1`.execute(transaction);
      const names = sql.join(rows.map(({ name }) => sql.id(schema, name)));
      if (rows.length > 0) await sql`lock table ${names} in share row exclusive mode`.execute(transaction);
    },
  };
}
