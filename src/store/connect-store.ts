/** Connects to the database of a store without a session store over it, for administration. */
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { checkPostgresSettings } from "./postgres/postgres-settings.ts";
import type { SqlConnection } from "./sql/sql-connection.ts";
import { DEFAULT_CACHE_BYTES } from "./records/store-options.ts";

/** Where a store is. */
export type StoreLocation = { readonly path: string } | { readonly url: string; readonly schema?: string | undefined };

const BUSY_TIMEOUT_MS = 5_000;
/** Administrative work may take long: for example, a large table is rewritten in one statement. */
const ANSWER_TIMEOUT_MS = 86_400_000;
const LOCK_TIMEOUT_MS = 60_000;

export interface ConnectStoreOptions {
  /** @default false */
  readonly readOnly?: boolean;
  /** How long the server lets a transaction idle between two statements, in milliseconds. @default as for a store */
  readonly idleMs?: number;
}

/** Opens a connection without changing the database. @throws ToolError `store_failed`, `corrupt_record` */
export async function connectStore(
  location: StoreLocation,
  { readOnly = false, idleMs }: ConnectStoreOptions = {},
): Promise<SqlConnection> {
  if ("path" in location) {
    const { connectSqlite } = await import("./sqlite/sqlite-connection.ts");
    const settings = { busyTimeoutMs: BUSY_TIMEOUT_MS, synchronous: "full", maxCacheBytes: DEFAULT_CACHE_BYTES } as const;
    return connectSqlite({ path: location.path, readOnly, ...settings });
  }
  const [{ connectPostgres }, { createPostgresPool }] = await Promise.all([
    import("./postgres/postgres-connection.ts"),
    import("./postgres/postgres-pool.ts"),
  ]);
  const settings = checkPostgresSettings({
    url: location.url,
    readOnly,
    answerTimeoutMs: ANSWER_TIMEOUT_MS,
    lockTimeoutMs: LOCK_TIMEOUT_MS,
    ...omitUndefined({ schema: location.schema, leaseMs: idleMs }),
  });
  return connectPostgres(settings, () => createPostgresPool(settings));
}
