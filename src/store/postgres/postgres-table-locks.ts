/** The locks for changing the tables of a store in PostgreSQL, or filling them by a copy, and the rights needed for that. */
import { sql, type Kysely } from "kysely";
import { ToolError } from "../../core/error.ts";
import { isPostgresBusy } from "./postgres-error.ts";
import type { SqlConnection } from "../sql/sql-connection.ts";
import type { Tables } from "../sql/tables.ts";

/** The advisory lock for changes of tables; the same for all stores of a server. */
const TABLES_LOCK = 4_726_183;

export function createTableLocks(store: {
  readonly schema: string;
  readonly place: string;
}): Required<Pick<SqlConnection, "lockTables" | "requireRights" | "excludeWriters">> {
  const { schema } = store;
  return {
    async lockTables(transaction) {
      try {
        await sql`select pg_advisory_xact_lock(${TABLES_LOCK})`.execute(transaction);
      } catch (thrown: unknown) {
        throw isPostgresBusy(thrown) ? tablesBusyError(store.place, thrown) : thrown;
      }
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

function tablesBusyError(place: string, cause: unknown): ToolError {
  return new ToolError("store_failed", `${place} has to be migrated, but another process is changing tables on this server (55P03).`, {
    operatorHint: "Wait until it is done, then start this process again.",
    cause,
  });
}

interface Rights {
  readonly role: string;
  readonly hasSchema: boolean;
  readonly mayCreate: boolean;
  /** A table that belongs to another role. */
  readonly foreign: string | null;
}

/** Returns whether the schema exists. @throws ToolError `store_failed` that says which right the role lacks */
async function requireRights(
  tables: Kysely<Tables>,
  { schema, place }: { readonly schema: string; readonly place: string },
): Promise<boolean> {
  const { rows } = await sql<Rights>`
    select current_user::text as role, found.oid is not null as "hasSchema",
      case when found.oid is null then has_database_privilege(current_database(), 'CREATE')
        else has_schema_privilege(found.oid, 'CREATE') end as "mayCreate",
      (select c.relname::text from pg_class c where c.relnamespace = found.oid and c.relkind in ('r', 'p') and c.relname like 'haft\\_%'
        and not pg_has_role(c.relowner, 'USAGE') order by 1 limit 1) as "foreign"
    from (select 1) as always left join pg_namespace found on found.nspname = ${schema}`.execute(tables);
  const [rights] = rows;
  const lack = rights === undefined ? "its rights cannot be read" : describeMissingRight(rights, schema);
  if (rights !== undefined && lack === undefined) return rights.hasSchema;
  throw new ToolError("store_failed", `${place} has to be migrated, but its role may not do that: ${lack}.`, {
    retryable: false,
    operatorHint:
      "Run haft store migrate with a role that may, such as the owner of the tables; then grant this role the rights that it needs on them.",
  });
}

function describeMissingRight({ role, hasSchema, mayCreate, foreign }: Rights, schema: string): string | undefined {
  if (!mayCreate) return `${role} may not create ${hasSchema ? `tables in the schema ${schema}` : "a schema in this database"} (42501)`;
  return foreign === null ? undefined : `${foreign} is not owned by ${role} (42501)`;
}
