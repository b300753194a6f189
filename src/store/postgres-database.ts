/** A PostgreSQL database as what is behind a store. Loads Kysely and `pg`. */
import type { PostgresPool } from "kysely";
import { migrate, requireCurrent, requireReadable } from "./migrate.ts";
import { connectPostgres } from "./postgres-connection.ts";
import { postgresPool } from "./postgres-pool.ts";
import type { PostgresSettings } from "./postgres-settings.ts";
import { SqlDatabase } from "./sql-database.ts";

export function openPostgresDatabase(
  settings: PostgresSettings,
  pool: () => Promise<PostgresPool> = () => postgresPool(settings),
): SqlDatabase {
  return new SqlDatabase(connectPostgres(settings, pool), {
    maxCacheBytes: settings.maxCacheBytes,
    prepare(connection) {
      if (settings.readOnly) return requireReadable(connection);
      return settings.migrate ? migrate(connection) : requireCurrent(connection);
    },
  });
}
