/** The steps that bring a store's tables up to date, and the check that they are a store's at all. */
import type { Kysely, Transaction } from "kysely";
import { ToolError } from "../core/error.ts";
import type { SqlConnection } from "./sql-connection.ts";
import { listEarlierJobs } from "./earlier-jobs.ts";
import type { EventTable, Tables } from "./tables.ts";

interface Migration {
  readonly name: string;
  run(tables: Transaction<Tables>, connection: SqlConnection): Promise<void>;
}

/** The first makes version 1. A step that was published is never changed. */
const MIGRATIONS: readonly Migration[] = [
  {
    name: "sessions, events, owners, cache",
    async run(tables) {
      await createSessionTables(tables);
      await createCacheTables(tables);
    },
  },
  {
    name: "jobs",
    async run(tables) {
      await createJobTable(tables);
      await listEarlierJobs(tables);
    },
  },
  { name: "keys, refusals", run: createAccessTables },
  { name: "approvals", run: createApprovalTables },
  { name: "numbers of events", run: numberEvents },
  { name: "webhooks", run: createWebhookTables },
  {
    name: "epochs of claims",
    async run({ schema }) {
      await schema
        .alterTable("haft_session")
        .addColumn("epoch", "bigint", (column) => column.notNull().defaultTo(0))
        .execute();
    },
  },
  { name: "keyed requests", run: createRequestTable },
  { name: "artifacts", run: createArtifactTable },
  {
    name: "holders of keyed requests",
    async run({ schema }) {
      await schema.alterTable("haft_request").addColumn("holder", "text").execute();
      await schema
        .alterTable("haft_request")
        .addColumn("beats", "integer", (column) => column.notNull().defaultTo(0))
        .execute();
    },
  },
];

const CURRENT_VERSION = MIGRATIONS.length;
/**
 * Brings the tables up to date in one transaction, which only one process at a time can have. Does nothing when they are.
 *
 * @throws ToolError `corrupt_record` for tables of a newer version, or of something else
 */
export async function migrate(connection: SqlConnection): Promise<void> {
  const { tables } = connection;
  if ((await quickVersion(tables)) === CURRENT_VERSION) return;
  await tables.transaction().execute(async (transaction) => {
    await connection.lockTables(transaction);
    const version = await formatVersion(connection, transaction); // another process may have been quicker
    for (const [index, migration] of MIGRATIONS.entries()) {
      if (index < version) continue;
      if (index === 0) await createMigrationTable(transaction);
      await migration.run(transaction, connection);
      const done = { version: index + 1, name: migration.name };
      await transaction.insertInto("haft_migration").values(done).execute();
    }
  });
}

/** Refuses tables whose sessions this version cannot read as they are. @throws ToolError `corrupt_record` */
export async function requireReadable(connection: SqlConnection): Promise<void> {
  const { tables, place } = connection;
  if ((await quickVersion(tables)) === CURRENT_VERSION || (await formatVersion(connection, tables)) > 0) return;
  throw new ToolError("corrupt_record", `${place} is empty: there is nothing to read.`, {
    hint: "Open it once for writing: that makes its tables.",
  });
}

/** Refuses tables that are not up to date, where they may not be changed. @throws ToolError `corrupt_record` */
export async function requireCurrent(connection: SqlConnection): Promise<void> {
  const { tables, place } = connection;
  if ((await quickVersion(tables)) === CURRENT_VERSION) return;
  const version = await formatVersion(connection, tables);
  if (version === CURRENT_VERSION) return;
  const what = version === 0 ? "has no tables yet" : `has format version ${version}; this Haft works with ${CURRENT_VERSION}`;
  throw new ToolError("corrupt_record", `${place} ${what}.`, {
    operatorHint: "Open it once with a role that may change tables, and with migrate as it is by default.",
  });
}

/** Refuses a store that was opened for reading and is of a version without a list of jobs. @throws ToolError `corrupt_record` */
export function requireJobs(connection: SqlConnection): Promise<void> {
  return requireVersion(connection, 2, "lists no jobs");
}

/** As `requireJobs`, for approvals. @throws ToolError `corrupt_record` */
export function requireApprovals(connection: SqlConnection): Promise<void> {
  return requireVersion(connection, 6, "keeps no approvals");
}

/** As `requireJobs`, for artifacts. @throws ToolError `corrupt_record` */
export function requireArtifacts(connection: SqlConnection): Promise<void> {
  return requireVersion(connection, 8, "keeps no artifacts");
}

async function requireVersion({ tables, place }: SqlConnection, least: number, lack: string): Promise<void> {
  const version = await quickVersion(tables);
  if (version === undefined || version >= least) return;
  throw new ToolError("corrupt_record", `${place} has format version ${version}, which ${lack}.`, {
    hint: "Open it once for writing, as haft run does: that brings it up to date.",
  });
}

/** As `requireJobs`, for keys and refusals. @throws ToolError `corrupt_record` */
export function requireAccess(connection: SqlConnection): Promise<void> {
  return requireVersion(connection, 3, "keeps no keys and no refusals");
}

/** As `requireJobs`, of versions without numbers of events. @throws ToolError `corrupt_record` */
export function requireFeed(connection: SqlConnection): Promise<void> {
  return requireVersion(connection, 5, "has no order of the events of all sessions");
}

/** Undefined when there is more to find out. */
async function quickVersion(tables: Kysely<Tables>): Promise<number | undefined> {
  try {
    return await lastMigration(tables);
  } catch {
    return undefined; // most likely there is no such table; formatVersion says what is wrong otherwise
  }
}

/** 0 for an empty database. */
async function formatVersion(connection: SqlConnection, tables: Kysely<Tables>): Promise<number> {
  const { place } = connection;
  const names = await connection.tableNames(tables);
  if (names.length === 0) return 0;
  if (!names.includes("haft_migration")) {
    throw new ToolError("corrupt_record", `${place} is not a store of Haft: it holds the tables ${names.slice(0, 5).join(", ")}.`, {
      hint: "Nothing was changed. Give the store a file of its own.",
    });
  }
  const version: unknown = await lastMigration(tables);
  if (typeof version === "number" && Number.isInteger(version) && version >= 1 && version <= CURRENT_VERSION) return version;
  throw new ToolError(
    "corrupt_record",
    `${place} has format version ${String(version)}; this Haft knows the versions up to ${CURRENT_VERSION}.`,
    { hint: "Nothing was changed. Open it with the Haft that wrote it, or with a newer one." },
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

async function createSessionTables({ schema }: Transaction<Tables>): Promise<void> {
  await schema
    .createTable("haft_owner")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("host", "text", (column) => column.notNull())
    .addColumn("pid", "integer", (column) => column.notNull())
    .addColumn("seen_at", "bigint", (column) => column.notNull())
    .execute();
  await schema
    .createTable("haft_session")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("parent_id", "text", (column) => column.references("haft_session.id"))
    .addColumn("parent_length", "integer", (column) => column.notNull())
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("durability", "text", (column) => column.notNull())
    .addColumn("updated_at", "bigint", (column) => column.notNull())
    .addColumn("length", "integer", (column) => column.notNull())
    .addColumn("head", "text", (column) => column.notNull())
    .addColumn("checksum", "text", (column) => column.notNull())
    .addColumn("owner", "text")
    .execute();
  await schema.createIndex("haft_session_by_parent").on("haft_session").column("parent_id").execute();
  await schema
    .createTable("haft_event")
    .addColumn("session", "text", (column) => column.notNull().references("haft_session.id"))
    .addColumn("position", "integer", (column) => column.notNull())
    .addColumn("at", "bigint", (column) => column.notNull())
    .addColumn("type", "text", (column) => column.notNull())
    .addColumn("call_id", "text")
    .addColumn("body", "text", (column) => column.notNull())
    .addColumn("checksum", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("haft_event_key", ["session", "position"])
    .execute();
}

const EVENT_COLUMNS = ["session", "position", "at", "type", "call_id", "body", "checksum"] as const;

/** Gives every event a number. Those that are there already get theirs by time, and within a session by position. */
async function numberEvents(tables: Transaction<Tables>, connection: SqlConnection): Promise<void> {
  const { schema } = tables;
  await schema.alterTable("haft_event").renameTo("haft_event_before").execute();
  await schema
    .createTable("haft_event")
    .addColumn("sequence", "integer", (column) => column.primaryKey().autoIncrement())
    .addColumn("session", "text", (column) => column.notNull().references("haft_session.id"))
    .addColumn("position", "integer", (column) => column.notNull())
    .addColumn("at", "bigint", (column) => column.notNull())
    .addColumn("type", "text", (column) => column.notNull())
    .addColumn("call_id", "text")
    .addColumn("body", "text", (column) => column.notNull())
    .addColumn("checksum", "text", (column) => column.notNull())
    .addUniqueConstraint("haft_event_place", ["session", "position"])
    .execute();
  const before = tables.withTables<{ haft_event_before: EventTable }>();
  const byTime = before
    .selectFrom("haft_event_before")
    .select(EVENT_COLUMNS)
    .orderBy((build) => build.fn.max("at").over((over) => over.partitionBy("session").orderBy("position")))
    .orderBy("session")
    .orderBy("position");
  await before.insertInto("haft_event").columns(EVENT_COLUMNS).expression(byTime).execute();
  await schema.dropTable("haft_event_before").execute();
  await connection.orderEvents(tables);
}

async function createJobTable({ schema }: Transaction<Tables>): Promise<void> {
  await schema
    .createTable("haft_job")
    .addColumn("session", "text", (column) => column.notNull())
    .addColumn("id", "text", (column) => column.notNull())
    .addColumn("tool", "text", (column) => column.notNull())
    .addColumn("mode", "text", (column) => column.notNull())
    .addColumn("notify", "integer", (column) => column.notNull())
    .addColumn("state", "text", (column) => column.notNull())
    .addColumn("started_at", "bigint", (column) => column.notNull())
    .addColumn("ended_at", "bigint")
    .addColumn("starts", "integer", (column) => column.notNull())
    .addColumn("error_code", "text")
    .addColumn("cancel_reason", "text")
    .addPrimaryKeyConstraint("haft_job_key", ["session", "id"])
    .execute();
  await schema.createIndex("haft_job_by_start").on("haft_job").column("started_at").execute();
  await schema.createIndex("haft_job_by_end").on("haft_job").column("ended_at").execute();
  await schema.createIndex("haft_job_by_cancel").on("haft_job").column("cancel_reason").execute();
}

async function createAccessTables({ schema }: Transaction<Tables>): Promise<void> {
  await schema
    .createTable("haft_key")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("session", "text")
    .addColumn("expires_at", "bigint")
    .addColumn("revoked_at", "bigint")
    .addColumn("body", "text", (column) => column.notNull())
    .execute();
  await schema.createIndex("haft_key_by_expiry").on("haft_key").column("expires_at").execute();
  await schema
    .createTable("haft_refusal")
    .addColumn("number", "integer", (column) => column.primaryKey())
    .addColumn("at", "bigint", (column) => column.notNull())
    .addColumn("principal", "text")
    .addColumn("body", "text", (column) => column.notNull())
    .execute();
}

async function createRequestTable({ schema }: Transaction<Tables>): Promise<void> {
  await schema
    .createTable("haft_request")
    .addColumn("key", "text", (column) => column.primaryKey())
    .addColumn("fingerprint", "text", (column) => column.notNull())
    .addColumn("at", "bigint", (column) => column.notNull())
    .addColumn("answer", "text")
    .execute();
  await schema.createIndex("haft_request_by_time").on("haft_request").column("at").execute();
}

async function createApprovalTables({ schema }: Transaction<Tables>): Promise<void> {
  await schema
    .createTable("haft_approval")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("position", "integer", (column) => column.notNull().unique())
    .addColumn("session", "text", (column) => column.notNull())
    .addColumn("call_id", "text", (column) => column.notNull())
    .addColumn("tool", "text", (column) => column.notNull())
    .addColumn("digest", "text", (column) => column.notNull())
    .addColumn("status", "text", (column) => column.notNull())
    .addColumn("expires_at", "bigint")
    .addColumn("owner", "text", (column) => column.notNull())
    .addColumn("question", "text", (column) => column.notNull())
    .addColumn("answer", "text")
    .addColumn("wants_preview", "integer", (column) => column.notNull())
    .addColumn("preview", "text")
    .execute();
  await schema.createIndex("haft_approval_by_status").on("haft_approval").columns(["status", "position"]).execute();
  await schema.createIndex("haft_approval_by_session").on("haft_approval").columns(["session", "status"]).execute();
  await schema
    .createTable("haft_approval_rule")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("session", "text")
    .addColumn("expires_at", "bigint")
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("rule", "text", (column) => column.notNull())
    .execute();
}

async function createWebhookTables({ schema }: Transaction<Tables>): Promise<void> {
  await schema
    .createTable("haft_webhook")
    .addColumn("endpoint", "text", (column) => column.notNull())
    .addColumn("type", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("haft_webhook_key", ["endpoint", "type"])
    .execute();
  await schema
    .createTable("haft_delivery")
    .addColumn("endpoint", "text", (column) => column.notNull())
    .addColumn("message", "text", (column) => column.notNull())
    .addColumn("payload", "text", (column) => column.notNull())
    .addColumn("attempts", "integer", (column) => column.notNull())
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("due_at", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("haft_delivery_key", ["endpoint", "message"])
    .execute();
  await schema.createIndex("haft_delivery_by_due").on("haft_delivery").column("due_at").execute();
}

async function createArtifactTable({ schema }: Transaction<Tables>): Promise<void> {
  await schema
    .createTable("haft_artifact")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("media_type", "text", (column) => column.notNull())
    .addColumn("stored_at", "bigint", (column) => column.notNull())
    .addColumn("data", "text", (column) => column.notNull())
    .execute();
  await schema.createIndex("haft_artifact_by_time").on("haft_artifact").column("stored_at").execute();
}

async function createCacheTables({ schema }: Transaction<Tables>): Promise<void> {
  await schema
    .createTable("haft_cache")
    .addColumn("key", "text", (column) => column.primaryKey())
    .addColumn("body", "text", (column) => column.notNull())
    .addColumn("resources", "text", (column) => column.notNull())
    .addColumn("versions", "text", (column) => column.notNull())
    .addColumn("stored_at", "bigint", (column) => column.notNull())
    .addColumn("expires_at", "bigint")
    .addColumn("bytes", "integer", (column) => column.notNull())
    .addColumn("checksum", "text", (column) => column.notNull())
    .execute();
  await schema.createIndex("haft_cache_by_time").on("haft_cache").column("stored_at").execute();
  await schema
    .createTable("haft_generation")
    .addColumn("resource", "text", (column) => column.primaryKey())
    .addColumn("self", "bigint", (column) => column.notNull())
    .addColumn("below", "bigint", (column) => column.notNull())
    .execute();
  await schema
    .createTable("haft_counter")
    .addColumn("name", "text", (column) => column.primaryKey())
    .addColumn("value", "bigint", (column) => column.notNull())
    .execute();
}
