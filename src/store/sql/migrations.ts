/** The steps that migrate a store's tables. */
import type { CreateTableBuilder, SchemaModule, Transaction } from "kysely";
import type { SqlConnection } from "./sql-connection.ts";
import { addEarlierJobs } from "./add-earlier-jobs.ts";
import type { EventTable, Tables } from "./tables.ts";

export interface Migration {
  readonly name: string;
  run(tables: Transaction<Tables>, connection: SqlConnection): Promise<void>;
}

/** The steps in order; the first makes version 1. A published step is never changed. */
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
      await addEarlierJobs(tables);
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

/** Types of columns by name. A column is not null, unless its type has a question mark. */
type Columns = Readonly<Record<string, "text" | "text?" | "integer" | "bigint" | "bigint?" | "key text" | "key integer" | "key bigint">>;

function createTable(schema: SchemaModule, name: string, columns: Columns): CreateTableBuilder<string, string> {
  let table: CreateTableBuilder<string, string> = schema.createTable(name);
  for (const [column, kind] of Object.entries(columns)) {
    const type = kind.replace("key ", "").replace("?", "") as "text" | "integer" | "bigint";
    table = table.addColumn(column, type, (build) => {
      if (kind.startsWith("key ")) return build.primaryKey();
      return kind.endsWith("?") ? build : build.notNull();
    });
  }
  return table;
}

async function createSessionTables({ schema }: Transaction<Tables>): Promise<void> {
  await createTable(schema, "haft_owner", { id: "key text", host: "text", pid: "integer", seen_at: "bigint" }).execute();
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

/** Gives every event a sequence number. Existing events are numbered by time, and within a session by position. */
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
  await createTable(schema, "haft_job", {
    session: "text",
    id: "text",
    tool: "text",
    mode: "text",
    notify: "integer",
    state: "text",
    started_at: "bigint",
    ended_at: "bigint?",
    starts: "integer",
    error_code: "text?",
    cancel_reason: "text?",
  })
    .addPrimaryKeyConstraint("haft_job_key", ["session", "id"])
    .execute();
  await schema.createIndex("haft_job_by_start").on("haft_job").column("started_at").execute();
  await schema.createIndex("haft_job_by_end").on("haft_job").column("ended_at").execute();
  await schema.createIndex("haft_job_by_cancel").on("haft_job").column("cancel_reason").execute();
}

async function createAccessTables({ schema }: Transaction<Tables>): Promise<void> {
  const key = {
    id: "key text",
    created_at: "bigint",
    session: "text?",
    expires_at: "bigint?",
    revoked_at: "bigint?",
    body: "text",
  } as const;
  await createTable(schema, "haft_key", key).execute();
  await schema.createIndex("haft_key_by_expiry").on("haft_key").column("expires_at").execute();
  await createTable(schema, "haft_refusal", { number: "key integer", at: "bigint", principal: "text?", body: "text" }).execute();
}

async function createRequestTable({ schema }: Transaction<Tables>): Promise<void> {
  await createTable(schema, "haft_request", { key: "key text", fingerprint: "text", at: "bigint", answer: "text?" }).execute();
  await schema.createIndex("haft_request_by_time").on("haft_request").column("at").execute();
}

async function createLeaseTables({ schema }: Transaction<Tables>): Promise<void> {
  const lease = { ticket: "text", slot: "integer", owner: "text", place: "bigint", fence: "bigint?", request: "text" } as const;
  await createTable(schema, "haft_lease", lease).addPrimaryKeyConstraint("haft_lease_key", ["ticket", "slot"]).execute();
  await schema.createIndex("haft_lease_by_slot").on("haft_lease").column("slot").execute();
  await schema.createIndex("haft_lease_by_owner").on("haft_lease").column("owner").execute();
  await createTable(schema, "haft_lease_slot", { slot: "key integer", fence: "bigint" }).execute();
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
  const rule = { id: "key text", session: "text?", expires_at: "bigint?", created_at: "bigint", rule: "text" } as const;
  await createTable(schema, "haft_approval_rule", rule).execute();
}

async function createWebhookTables({ schema }: Transaction<Tables>): Promise<void> {
  await createTable(schema, "haft_webhook", { endpoint: "text", type: "text" })
    .addPrimaryKeyConstraint("haft_webhook_key", ["endpoint", "type"])
    .execute();
  const delivery = {
    endpoint: "text",
    message: "text",
    payload: "text",
    attempts: "integer",
    created_at: "bigint",
    due_at: "bigint",
  } as const;
  await createTable(schema, "haft_delivery", delivery).addPrimaryKeyConstraint("haft_delivery_key", ["endpoint", "message"]).execute();
  await schema.createIndex("haft_delivery_by_due").on("haft_delivery").column("due_at").execute();
}

async function createArtifactTable({ schema }: Transaction<Tables>): Promise<void> {
  await createTable(schema, "haft_artifact", { id: "key text", media_type: "text", stored_at: "bigint", data: "text" }).execute();
  await schema.createIndex("haft_artifact_by_time").on("haft_artifact").column("stored_at").execute();
}

async function createProcessTable({ schema }: Transaction<Tables>): Promise<void> {
  await createTable(schema, "haft_process", { owner: "key text", started_at: "bigint", about: "text", events_behind: "bigint?" }).execute();
}

async function createChannelTables({ schema }: Transaction<Tables>): Promise<void> {
  await createTable(schema, "haft_channel", { name: "key text", last: "bigint" }).execute();
  await createTable(schema, "haft_channel_message", {
    channel: "text",
    number: "bigint",
    sender: "text",
    sender_id: "text",
    body: "text",
    holder: "text?",
    ended: "integer",
  })
    .addPrimaryKeyConstraint("haft_channel_message_key", ["channel", "number"])
    .execute();
  await schema.createIndex("haft_channel_message_open").on("haft_channel_message").columns(["channel", "ended", "number"]).execute();
}

async function createCallTable({ schema }: Transaction<Tables>): Promise<void> {
  await createTable(schema, "haft_call", { number: "key bigint", at: "bigint", principal: "text?", body: "text" }).execute();
  await schema.createIndex("haft_call_by_time").on("haft_call").columns(["at", "number"]).execute();
}

async function createCacheTables({ schema }: Transaction<Tables>): Promise<void> {
  await createTable(schema, "haft_cache", {
    key: "key text",
    body: "text",
    resources: "text",
    versions: "text",
    stored_at: "bigint",
    expires_at: "bigint?",
    bytes: "integer",
    checksum: "text",
  }).execute();
  await schema.createIndex("haft_cache_by_time").on("haft_cache").column("stored_at").execute();
  await createTable(schema, "haft_generation", { resource: "key text", self: "bigint", below: "bigint" }).execute();
  await createTable(schema, "haft_counter", { name: "key text", value: "bigint" }).execute();
}
