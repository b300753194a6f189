/** Stores in PostgreSQL for tests: on a server where one is installed, else in PGlite. */
import { openPostgresDatabase } from "../../../src/store/postgres-database.ts";
import { checkPostgresSettings } from "../../../src/store/postgres-settings.ts";
import { postgresStore, type PostgresStoreOptions } from "../../../src/store/postgres-store.ts";
import { storeInPostgres } from "../../../src/store/store-in-postgres.ts";
import type { Store } from "../../../src/core/store.ts";
import { pgliteDatabase } from "./pglite-pool.ts";
import { startPostgres } from "./server.ts";

export interface StoreMaker {
  /** A store over the data of a name; two of one name share it. */
  readonly store: (name: string, options?: Partial<PostgresStoreOptions>) => Store;
  /** Forgets everything in the tables of a name. */
  readonly empty: (name: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Quicker than new tables. */
function emptying(schema: string): string {
  return `do $$ declare names text; begin
    select string_agg(format('%I.%I', schemaname, tablename), ', ') into names
    from pg_tables where schemaname = '${schema}' and tablename <> 'haft_migration';
    if names is not null then execute 'truncate ' || names; end if; end $$`;
}

export async function onServer(): Promise<StoreMaker> {
  const server = await startPostgres();
  return {
    store: (name, options = {}) => postgresStore({ url: server.url, schema: name, ...options }),
    empty: async (name) => void (await server.execute(emptying(name))),
    close: () => server.remove(),
  };
}

export async function onPglite(): Promise<StoreMaker> {
  const database = await pgliteDatabase();
  return {
    store(name, options = {}) {
      const settings = checkPostgresSettings({ url: "postgres://pglite/memory", schema: name, ...options });
      const connect = async () => openPostgresDatabase(settings, async () => database.pool());
      return storeInPostgres(settings, { connect, maxBufferedBytes: 64e6 });
    },
    empty: (name) => database.execute(emptying(name)),
    close: () => database.close(),
  };
}
