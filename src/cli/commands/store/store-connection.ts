/** Shared parts of the commands of `haft store`. */
import { connectStore, type ConnectStoreOptions, type StoreLocation } from "../../../store/connect-store.ts";
import { describePostgresStore } from "../../../store/postgres/postgres-settings.ts";
import type { SqlConnection } from "../../../store/sql/sql-connection.ts";

/** Connects, does the work and always closes the connection. Explains errors of the database in a way that a person can act on. */
export async function withStoreConnection<Result>(
  location: StoreLocation,
  options: ConnectStoreOptions & { readonly doing: string },
  work: (connection: SqlConnection) => Promise<Result>,
): Promise<Result> {
  const { doing, ...connecting } = options;
  const connection = await connectStore(location, connecting);
  try {
    return await work(connection);
  } catch (thrown: unknown) {
    throw connection.toStoreError(thrown, doing);
  } finally {
    await connection.close();
  }
}

/** Names the place for messages, without a password. */
export function formatLocation(location: StoreLocation): string {
  return "path" in location
    ? location.path
    : describePostgresStore({ url: location.url, schema: location.schema ?? "haft" }).replace(/^The store /u, "");
}
