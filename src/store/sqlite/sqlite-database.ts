/** A SQLite file as the database behind a store. Loads Kysely and `node:sqlite`. */
import { migrate, requireReadable } from "../sql/migrate.ts";
import { SqlDatabase } from "../sql/sql-database.ts";
import { connectSqlite, prepareForWriting, type SqliteConnection } from "./sqlite-connection.ts";
import type { SqliteSettings } from "./sqlite-settings.ts";

/** @throws ToolError `store_failed` or `corrupt_record` if the file cannot be opened */
export function openSqliteDatabase(settings: SqliteSettings, connection: SqliteConnection = connectSqlite(settings)): SqlDatabase {
  return new SqlDatabase(connection, {
    maxCacheBytes: settings.maxCacheBytes,
    async prepare() {
      if (settings.readOnly) return requireReadable(connection);
      await migrate(connection);
      prepareForWriting(connection, settings);
    },
  });
}
