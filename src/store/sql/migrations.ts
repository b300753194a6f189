/** The steps that bring a store's tables up to date. */
import type { Transaction } from "kysely";
import type { SqlConnection } from "./sql-connection.ts";
import { listEarlierJobs } from "./earlier-jobs.ts";
import type { EventTable, Tables } from "./tables.ts";

export interface Migration {
  readonly name: string;
  run(tables: Transaction<Tables>, connection: SqlConnection): Promise<void>;
}

/** The first makes version 1. A step that was published is never changed. */
export const MIGRATIONS: readonly Migration[] = [
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
    name: "addresses of owners",
    async run({ schema }) {
      await schema.alterTable("haft_owner").addColumn("address", "text").execute();
    },
  },
  { name: "leases", run: createLeaseTables },
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
  { name: "descriptions of processes", run: createProcessTable },
  { name: "messages on channels", run: createChannelTables },
  { name: "calls of no session", run: createCallTable },
];

async function createCallTable({ schema }: Transaction<Tables>): Promise<void> {
  await schema
    .createTable("haft_call")
    .addColumn("number", "bigint", (column) => column.primaryKey())
    .addColumn("at", "bigint", (column) => column.notNull())
    .addColumn("principal", "text")
    .addColumn("body", "text", (column) => column.notNull())
    .execute();
  await schema.createIndex("haft_call_by_time").on("haft_call").columns(["at", "number"]).execute();
}

async function createChannelTables({ schema }: Transaction<Tables>): Promise<void> {
  await schema
    .createTable("haft_channel")
    .addColumn("name", "text", (column) => column.primaryKey())
    .addColumn("last", "bigint", (column) => column.notNull())
    .execute();
  await schema
    .createTable("haft_channel_message")
    .addColumn("channel", "text", (column) => column.notNull())
    .addColumn("number", "bigint", (column) => column.notNull())
    .addColumn("sender", "text", (column) => column.notNull())
    .addColumn("sender_id", "text", (column) => column.notNull())
    .addColumn("body", "text", (column) => column.notNull())
    .addColumn("holder", "text")
    .addColumn("ended", "integer", (column) => column.notNull())
    .addPrimaryKeyConstraint("haft_channel_message_key", ["channel", "number"])
    .execute();
  await schema.createIndex("haft_channel_message_open").on("haft_channel_message").columns(["channel", "ended", "number"]).execute();
}

async function createProcessTable({ schema }: Transaction<Tables>): Promise<void> {
  await schema
    .createTable("haft_process")
    .addColumn("owner", "text", (column) => column.primaryKey())
    .addColumn("started_at", "bigint", (column) => column.notNull())
    .addColumn("about", "text", (column) => column.notNull())
    .addColumn("events_behind", "bigint")
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

async function createLeaseTables({ schema }: Transaction<Tables>): Promise<void> {
  await schema
    .createTable("haft_lease")
    .addColumn("ticket", "text", (column) => column.notNull())
    .addColumn("slot", "integer", (column) => column.notNull())
    .addColumn("owner", "text", (column) => column.notNull())
    .addColumn("place", "bigint", (column) => column.notNull())
    .addColumn("fence", "bigint")
    .addColumn("request", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("haft_lease_key", ["ticket", "slot"])
    .execute();
  await schema.createIndex("haft_lease_by_slot").on("haft_lease").column("slot").execute();
  await schema.createIndex("haft_lease_by_owner").on("haft_lease").column("owner").execute();
  await schema
    .createTable("haft_lease_slot")
    .addColumn("slot", "integer", (column) => column.primaryKey())
    .addColumn("fence", "bigint", (column) => column.notNull())
    .execute();
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
