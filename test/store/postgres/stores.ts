/** Stores in PostgreSQL for tests: on a server where one is installed, else in PGlite. */
import pg from "pg";
import { openPostgresDatabase } from "../../../src/store/postgres/postgres-database.ts";
import { checkPostgresSettings } from "../../../src/store/postgres/postgres-settings.ts";
import { postgresStore, type PostgresStoreOptions } from "../../../src/store/postgres-store.ts";
import { createPostgresStore } from "../../../src/store/postgres/create-postgres-store.ts";
import type { Store } from "../../../src/core/store/store.ts";
import { pgliteDatabase } from "./pglite-pool.ts";
import { startPostgres } from "./server.ts";

export interface StoreMaker {
  /** A store over the data of a name; two of one name share it. */
  readonly store: (name: string, options?: Partial<PostgresStoreOptions>) => Store;
  /** Forgets everything in the tables of a name. */
  readonly empty: (name: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Quicker than new tables, and than `truncate`, which makes new files for each table. A replica checks no references. */
function emptying(schema: string): string {
  return `do $$ declare one text; begin
    perform set_config('session_replication_role', 'replica', true);
    for one in select format('%I.%I', schemaname, tablename) from pg_tables
      where schemaname = '${schema}' and tablename <> 'haft_migration'
    loop execute 'delete from ' || one; end loop; end $$`;
}

export async function onServer(): Promise<StoreMaker> {
  const server = await startPostgres({ autovacuum: "off" }, "trust");
  const client = new pg.Client(server.url);
  await client.connect();
  return {
    store: (name, options = {}) => postgresStore({ url: server.url, schema: name, ...options }),
    empty: async (name) => void (await client.query(emptying(name))),
    async close() {
      await client.end();
      await server.remove();
    },
  };
}

export async function onPglite(): Promise<StoreMaker> {
  const database = await pgliteDatabase();
  return {
    store(name, options = {}) {
      const settings = checkPostgresSettings({ url: "postgres://pglite/memory", schema: name, ...options });
      const connect = async () => openPostgresDatabase(settings, async () => database.pool());
      return createPostgresStore(settings, { connect, maxBufferedBytes: 64e6 });
    },
    empty: (name) => database.execute(emptying(name)),
    close: () => database.close(),
  };
}
