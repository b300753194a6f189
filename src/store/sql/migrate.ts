/** Migrates the tables of a store, and rejects tables that are not up to date where they must be. */
import type { Kysely, Transaction } from "kysely";
import { ToolError } from "../../core/error.ts";
import { MIGRATIONS } from "./migrations.ts";
import type { SqlConnection } from "./sql-connection.ts";
import type { Tables } from "./tables.ts";

/** The format version of this Haft. */
export const CURRENT_VERSION = MIGRATIONS.length;

/** A format version, and the name of the step that makes it. */
export interface MigrationStep {
  readonly version: number;
  readonly name: string;
}

export interface MigrateOptions {
  /** The version to stop at. @default the current one */
  readonly upTo?: number;
  /** Called for each step once it is committed. */
  readonly onDone?: (step: MigrationStep) => void;
}

/**
 * Migrates the tables to the current version. Each step runs in a transaction of its own, which only one process at a time can have, so that finished
 * steps stay. An empty database gets all tables in one transaction. Does nothing if the tables are up to date.
 *
 * @throws ToolError `corrupt_record` if the tables are of a newer version or not of a store; `store_failed` if they may not be changed
 */
export async function migrate(connection: SqlConnection, { upTo = CURRENT_VERSION, onDone }: MigrateOptions = {}): Promise<void> {
  if ((await tryReadVersion(connection.tables)) === upTo) return requireSameSteps(connection, connection.tables);
  for (;;) {
    const steps = await connection.tables.transaction().execute((transaction) => runNextSteps(transaction, connection, upTo));
    if (onDone !== undefined) steps.forEach(onDone);
    if (steps.length === 0 || steps.at(-1)?.version === upTo) return;
  }
}

/** Runs the next step, or all steps if the database is empty, within a transaction. Returns the steps that it ran. */
export async function runNextSteps(
  transaction: Transaction<Tables>,
  connection: SqlConnection,
  upTo: number = CURRENT_VERSION,
): Promise<readonly MigrationStep[]> {
  await connection.lockTables(transaction);
  const version = await readVersion(connection, transaction); // another process may have migrated meanwhile
  if (version > 0) await requireSameSteps(connection, transaction);
  const steps = stepsBetween(version, version === 0 ? upTo : Math.min(version + 1, upTo));
  if (version === 0) await createMigrationTable(transaction);
  for (const step of steps) {
    await MIGRATIONS[step.version - 1]?.run(transaction, connection);
    await transaction.insertInto("haft_migration").values(step).execute();
  }
  return steps;
}

/** The version of the tables, 0 for an empty database, and the steps that are missing. @throws ToolError as `migrate` */
export async function findPendingSteps(
  connection: SqlConnection,
): Promise<{ readonly version: number; readonly pending: readonly MigrationStep[] }> {
  const version = await readVersion(connection, connection.tables);
  if (version > 0) await requireSameSteps(connection, connection.tables);
  return { version, pending: stepsBetween(version, CURRENT_VERSION) };
}

function stepsBetween(version: number, upTo: number): readonly MigrationStep[] {
  return MIGRATIONS.map(({ name }, index) => ({ version: index + 1, name })).slice(version, upTo);
}

/** Rejects a database whose sessions this version cannot read. @throws ToolError `corrupt_record` */
export async function requireReadable(connection: SqlConnection): Promise<void> {
  const { tables, place } = connection;
  if ((await tryReadVersion(tables)) === CURRENT_VERSION || (await readVersion(connection, tables)) > 0) return;
  throw new ToolError("corrupt_record", `${place} is empty: there is nothing to read.`, {
    hint: "Open it once for writing: that creates its tables.",
  });
}

/** Rejects tables that are not up to date, for a store that must not migrate them. @throws ToolError `corrupt_record` */
export async function requireCurrent(connection: SqlConnection): Promise<void> {
  const { tables, place } = connection;
  if ((await tryReadVersion(tables)) === CURRENT_VERSION) return requireSameSteps(connection, tables);
  const version = await readVersion(connection, tables);
  if (version === CURRENT_VERSION) return;
  const what = version === 0 ? "has no tables yet" : `has format version ${version}; this version of Haft works with ${CURRENT_VERSION}`;
  throw new ToolError("corrupt_record", `${place} ${what}.`, {
    operatorHint: "Run haft store migrate with a role that may change tables.",
  });
}

/** The version that added a part, and what earlier versions lack. */
const PARTS = {
  jobs: { since: 2, lack: "lists no jobs" },
  access: { since: 3, lack: "keeps no keys and no refusals" },
  feed: { since: 5, lack: "does not order the events of all sessions" },
  approvals: { since: 6, lack: "keeps no approvals" },
  artifacts: { since: 9, lack: "keeps no artifacts" },
  leases: { since: 11, lack: "keeps no leases" },
  processes: { since: 13, lack: "does not describe its processes" },
  channels: { since: 14, lack: "keeps no messages on channels" },
  calls: { since: 15, lack: "keeps no calls outside of sessions" },
} as const;

/** Rejects a store that was opened for reading and whose version lacks the part. @throws ToolError `corrupt_record` */
export async function requirePart({ tables, place }: SqlConnection, part: keyof typeof PARTS): Promise<void> {
  const { since, lack } = PARTS[part];
  const version = await tryReadVersion(tables);
  if (version === undefined || version >= since) return;
  throw new ToolError("corrupt_record", `${place} has format version ${version}, which ${lack}.`, {
    hint: "Open it once for writing, or run haft store migrate: that brings it up to date.",
  });
}

/** The version of the tables; undefined if it cannot be read, and `readVersion` must find out why. */
async function tryReadVersion(tables: Kysely<Tables>): Promise<number | undefined> {
  try {
    return await lastMigration(tables);
  } catch {
    return undefined; // most likely the table does not exist; otherwise readVersion reports the error
  }
}

/** The version of the tables, 0 for an empty database. @throws ToolError `corrupt_record` */
async function readVersion(connection: SqlConnection, tables: Kysely<Tables>): Promise<number> {
  const { place } = connection;
  const names = await connection.tableNames(tables);
  if (names.length === 0) return 0;
  if (!names.includes("haft_migration")) {
    throw new ToolError("corrupt_record", `${place} is not a store of Haft: it contains the tables ${names.slice(0, 5).join(", ")}.`, {
      hint: "Nothing was changed. Use a separate file for the store.",
    });
  }
  const version: unknown = await lastMigration(tables);
  if (typeof version === "number" && Number.isInteger(version) && version >= 1 && version <= CURRENT_VERSION) return version;
  throw new ToolError(
    "corrupt_record",
    `${place} has format version ${String(version)}; this version of Haft supports versions up to ${CURRENT_VERSION}.`,
    { hint: "Nothing was changed. Open it with the version of Haft that wrote it, or with a newer one." },
  );
}

/** Rejects tables made by other steps, as of an unreleased version: some would run twice, others never. @throws ToolError `corrupt_record` */
async function requireSameSteps({ place }: SqlConnection, tables: Kysely<Tables>): Promise<void> {
  const steps = await tables.selectFrom("haft_migration").select(["version", "name"]).orderBy("version").execute();
  const other = steps.find(({ version, name }) => MIGRATIONS[version - 1]?.name !== name);
  if (other === undefined) return;
  throw new ToolError(
    "corrupt_record",
    `${place} was created by other migrations: its version ${other.version} is ${JSON.stringify(other.name)}; in this version of Haft it is ${JSON.stringify(MIGRATIONS[other.version - 1]?.name)}.`,
    {
      hint: "Nothing was changed. An unreleased version made it: export its sessions (haft sessions export), and import them into a new store.",
    },
  );
}

async function lastMigration(tables: Kysely<Tables>): Promise<number | undefined> {
  const row = await tables
    .selectFrom("haft_migration")
    .select((select) => select.fn.max("version").as("version"))
    .executeTakeFirst();
  return row?.version;
}

async function createMigrationTable(tables: Transaction<Tables>): Promise<void> {
  await tables.schema
    .createTable("haft_migration")
    .addColumn("version", "integer", (column) => column.primaryKey())
    .addColumn("name", "text", (column) => column.notNull())
    .execute();
}
