/** A store over a PostgreSQL database, independent of how it is connected. */
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { SessionQueue } from "../../core/store/session-queue.ts";
import type { Store } from "../../core/store/store.ts";
import type { StoreNotifier } from "../../core/store/store-changes.ts";
import { DatabaseStore } from "../database/database-store.ts";
import { InThreadDatabase } from "../database/in-thread-database.ts";
import { HEARTBEATS_IN_LEASE } from "../records/store-options.ts";
import { describePostgresStore, type PostgresSettings } from "./postgres-settings.ts";
import type { SqlDatabase } from "../sql/sql-database.ts";

export interface CreatePostgresStoreOptions {
  /** Makes the database without opening it. */
  readonly connect: () => Promise<SqlDatabase>;
  readonly maxBufferedBytes: number;
  /** @default processes do not notify each other */
  readonly notifier?: StoreNotifier | undefined;
  readonly queue?: SessionQueue;
}

export function createPostgresStore(
  settings: PostgresSettings,
  { connect, maxBufferedBytes, notifier, queue }: CreatePostgresStoreOptions,
): Store {
  const place = describePostgresStore(settings);
  const heartbeatMs = Math.ceil(settings.leaseMs / HEARTBEATS_IN_LEASE);
  return new DatabaseStore(new InThreadDatabase({ place, heartbeatMs, connect }), {
    kind: "postgres",
    outlivesProcess: true,
    place,
    readOnly: settings.readOnly,
    maxBufferedBytes,
    notifier,
    ...omitUndefined({ queue }),
  });
}
