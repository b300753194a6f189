/** A PostgreSQL database behind a store. Loads Kysely and `pg`. */
import type { PostgresPool } from "kysely";
import { migrate, requireCurrent, requireReadable } from "../sql/migrate.ts";
import { connectPostgres } from "./postgres-connection.ts";
import { createPostgresPool } from "./postgres-pool.ts";
import type { PostgresSettings } from "./postgres-settings.ts";
import type { SqlConnection } from "../sql/sql-connection.ts";
import { SqlDatabase } from "../sql/sql-database.ts";
import { HEARTBEATS_IN_LEASE } from "../records/store-options.ts";

export function openPostgresDatabase(settings: PostgresSettings, pool?: () => Promise<PostgresPool>): SqlDatabase {
  return new SqlDatabase(connectPostgres(settings, pool ?? (() => createPostgresPool(settings))), {
    maxCacheBytes: settings.maxCacheBytes,
    ...(pool === undefined ? { heartbeatConnection: connectForHeartbeats(settings) } : {}),
    prepare(connection) {
      if (settings.readOnly) return requireReadable(connection);
      return settings.migrate ? migrate(connection) : requireCurrent(connection);
    },
  });
}

/** A connection for heartbeats alone, which no statement delays. It is replaced before the lease ends if the server does not answer. */
function connectForHeartbeats(settings: PostgresSettings): SqlConnection {
  const answerTimeoutMs = Math.min(settings.answerTimeoutMs, Math.ceil(settings.leaseMs / HEARTBEATS_IN_LEASE));
  const own = {
    ...settings,
    maxConnections: 1,
    answerTimeoutMs,
    connectTimeoutMs: Math.min(settings.connectTimeoutMs, answerTimeoutMs),
    retryMs: 0,
  };
  return connectPostgres(own, () => createPostgresPool(own));
}
