/** The one statement that writes all sessions of a group, with an array parameter for each column. */
import { sql, type RawBuilder } from "kysely";
import { foldJobChanges, type FoldedJob } from "../records/fold-job-changes.ts";
import type { LogWrite } from "../records/log-database.ts";
import { parseStoredText, toStoredText } from "../records/stored-text.ts";
import { ownerAfterRelease } from "./owner.ts";
import type { EventTable, SessionTable } from "./tables.ts";
import { createJobMessage, type WebhookMessage } from "../records/webhook-messages.ts";

/** One session's part of a group. */
export interface GroupPart {
  readonly write: LogWrite;
  /** The record before the write: as it is known, or as it is to be created. */
  readonly from: SessionTable;
  /** The record after the write. `owner` is the claim's owner, even if the write releases the claim. */
  readonly to: SessionTable;
  readonly events: readonly EventTable[];
}

/**
 * The optional clauses of the statement: sessions updated (`moved`) and created (`made`), events added, jobs begun and changed, and webhook messages
 * queued (`kept`).
 */
const CLAUSES = ["moved", "made", "added", "begun", "changed", "kept"] as const;
export type GroupClause = (typeof CLAUSES)[number];

/** The name, type and value of a column, for an array of rows. */
type Column<Row> = readonly [name: string, type: "text" | "bigint", valueOf: (row: Row) => unknown];

const ownerOf = ({ write, to }: GroupPart): string | null => (write.release === true ? ownerAfterRelease(write) : to.owner);

const MOVED_COLUMNS: readonly Column<GroupPart>[] = [
  ["id", "text", ({ to }) => to.id],
  ["epoch", "bigint", ({ from }) => from.epoch],
  ["known_owner", "text", ({ from }) => from.owner],
  ["known_length", "bigint", ({ from }) => from.length],
  ["known_head", "text", ({ from }) => from.head],
  ["known_checksum", "text", ({ from }) => from.checksum],
  ["updated_at", "bigint", ({ to }) => to.updated_at],
  ["length", "bigint", ({ to }) => to.length],
  ["head", "text", ({ to }) => to.head],
  ["checksum", "text", ({ to }) => to.checksum],
  ["owner", "text", ownerOf],
];

const MADE_COLUMNS: readonly Column<GroupPart>[] = [
  ["id", "text", ({ to }) => to.id],
  ["parent_length", "bigint", ({ to }) => to.parent_length],
  ["created_at", "bigint", ({ to }) => to.created_at],
  ["durability", "text", ({ to }) => to.durability],
  ["updated_at", "bigint", ({ to }) => to.updated_at],
  ["length", "bigint", ({ to }) => to.length],
  ["head", "text", ({ to }) => to.head],
  ["checksum", "text", ({ to }) => to.checksum],
  ["owner", "text", ownerOf],
  ["epoch", "bigint", ({ to }) => to.epoch],
];

const EVENT_COLUMNS: readonly Column<EventTable>[] = [
  ["session", "text", (event) => event.session],
  ["position", "bigint", (event) => event.position],
  ["at", "bigint", (event) => event.at],
  ["type", "text", (event) => event.type],
  ["call_id", "text", (event) => event.call_id],
  ["body", "text", (event) => event.body],
  ["checksum", "text", (event) => event.checksum],
];

const BEGUN_COLUMNS: readonly Column<FoldedJob>[] = [
  ["session", "text", ({ session }) => session],
  ["id", "text", ({ id }) => id],
  ["tool", "text", ({ start }) => toStoredText(start?.toolName ?? "")],
  ["mode", "text", ({ start }) => start?.mode],
  ["notify", "bigint", ({ start }) => Number(start?.notify)],
  ["state", "text", ({ state }) => state],
  ["started_at", "bigint", ({ start }) => start?.at],
  ["ended_at", "bigint", ({ end }) => end?.at],
  ["starts", "bigint", ({ starts }) => starts],
  ["error_code", "text", ({ end }) => end?.errorCode],
];

const CHANGED_COLUMNS: readonly Column<FoldedJob>[] = [
  ["session", "text", ({ session }) => session],
  ["id", "text", ({ id }) => id],
  ["state", "text", ({ state }) => state],
  ["starts", "bigint", ({ starts }) => starts],
  ["ended_at", "bigint", ({ end }) => end?.at],
  ["error_code", "text", ({ end }) => end?.errorCode],
];

interface QueuedMessage {
  readonly session: string;
  readonly message: WebhookMessage;
}

const KEPT_COLUMNS: readonly Column<QueuedMessage>[] = [
  ["session", "text", ({ session }) => session],
  ["message", "text", ({ message }) => message.id],
  ["type", "text", ({ message }) => message.type],
  ["payload", "text", ({ message }) => message.payload],
  ["at", "bigint", ({ message }) => message.at],
];

/** The clauses that these parts need, and their parameters in the order of the statement. */
export function groupParameters(parts: readonly GroupPart[]): {
  readonly clauses: readonly GroupClause[];
  readonly parameters: readonly unknown[];
} {
  const jobs = parts.flatMap(({ write, to }) => (write.jobs === undefined ? [] : foldJobChanges(to.id, write.jobs)));
  const ends = jobs.flatMap(({ session, end }) =>
    end === undefined ? [] : [{ session, message: createJobMessage(parseStoredText(session), end) }],
  );
  const arrays: Readonly<Record<GroupClause, readonly unknown[]>> = {
    moved: toColumnArrays(
      MOVED_COLUMNS,
      parts.filter(({ write }) => write.create === undefined),
    ),
    made: toColumnArrays(
      MADE_COLUMNS,
      parts.filter(({ write }) => write.create !== undefined),
    ),
    added: toColumnArrays(
      EVENT_COLUMNS,
      parts.flatMap(({ events }) => events),
    ),
    begun: toColumnArrays(
      BEGUN_COLUMNS,
      jobs.filter(({ start }) => start !== undefined),
    ),
    changed: toColumnArrays(
      CHANGED_COLUMNS,
      jobs.filter(({ start }) => start === undefined),
    ),
    kept: toColumnArrays(KEPT_COLUMNS, ends),
  };
  const clauses = CLAUSES.filter((clause) => arrays[clause].length > 0);
  return { clauses, parameters: clauses.flatMap((clause) => arrays[clause]) };
}

/** One array for each column; none if there are no rows. */
function toColumnArrays<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): readonly unknown[][] {
  return rows.length === 0 ? [] : columns.map(([, , valueOf]) => rows.map((row) => valueOf(row) ?? null));
}

/** Selects the rows of the arrays, numbered by `turn`. */
function selectArrays<Row>(name: string, columns: readonly Column<Row>[]): RawBuilder<unknown> {
  const arrays = columns.map(([, type]) => (type === "text" ? sql`${""}::text[]` : sql`${""}::bigint[]`));
  const names = [...columns.map(([column]) => column), "turn"].map((column) => sql.ref(column));
  return sql`unnest(${sql.join(arrays)}) with ordinality as ${sql.ref(name)}(${sql.join(names)})`;
}

/** The statement for some clauses, which returns the ids of the written sessions. @param clauses as `groupParameters` returns them */
export function groupStatement(schema: string, clauses: readonly GroupClause[]): RawBuilder<{ readonly id: string }> {
  const texts: Readonly<Record<GroupClause, RawBuilder<unknown>>> = { ...sessionClauses(schema), ...jobClauses(schema) };
  const isOfSessions = (clause: GroupClause): boolean => clause === "moved" || clause === "made";
  const sessions = clauses.filter((clause) => isOfSessions(clause));
  const written = sql.join(
    sessions.map((clause) => sql`select id from ${sql.ref(clause)}`),
    sql` union all `,
  );
  const parts = [
    ...sessions.map((clause) => texts[clause]),
    sql`written as (${written})`,
    ...clauses.filter((clause) => !isOfSessions(clause)).map((clause) => texts[clause]),
  ];
  return sql`with ${sql.join(parts)} select id from written`;
}

function sessionClauses(schema: string): Readonly<Record<"moved" | "made" | "added", RawBuilder<unknown>>> {
  const session = sql.id(schema, "haft_session");
  return {
    moved: sql`moved as (
      update ${session} as session
      set updated_at = part.updated_at, length = part.length, head = part.head, checksum = part.checksum, owner = part.owner
      from ${selectArrays("part", MOVED_COLUMNS)}
      where session.id = part.id and session.owner = part.known_owner and session.epoch = part.epoch
        and session.length = part.known_length and session.head = part.known_head and session.checksum = part.known_checksum
      returning session.id
    )`,
    made: sql`made as (
      insert into ${session} (id, parent_length, created_at, durability, updated_at, length, head, checksum, owner, epoch)
      select id, parent_length, created_at, durability, updated_at, length, head, checksum, owner, epoch from ${selectArrays("part", MADE_COLUMNS)}
      on conflict (id) do nothing
      returning id
    )`,
    added: sql`added as (
      insert into ${sql.id(schema, "haft_event")} (session, position, at, type, call_id, body, checksum)
      select event.session, event.position, event.at, event.type, event.call_id, event.body, event.checksum
      from ${selectArrays("event", EVENT_COLUMNS)} join written on written.id = event.session
      order by event.turn
    )`,
  };
}

function jobClauses(schema: string): Readonly<Record<"begun" | "changed" | "kept", RawBuilder<unknown>>> {
  const job = sql.id(schema, "haft_job");
  return {
    begun: sql`begun as (
      insert into ${job} (session, id, tool, mode, notify, state, started_at, ended_at, starts, error_code)
      select part.session, part.id, tool, mode, notify, state, started_at, ended_at, starts, error_code
      from ${selectArrays("part", BEGUN_COLUMNS)} join written on written.id = part.session
      on conflict (session, id) do nothing
    )`,
    changed: sql`changed as (
      update ${job} as job
      set state = coalesce(part.state, case when job.state = 'waiting' then 'running' else job.state end),
        starts = coalesce(part.starts, job.starts), ended_at = part.ended_at, error_code = part.error_code,
        cancel_reason = case when part.ended_at is null then job.cancel_reason end
      from ${selectArrays("part", CHANGED_COLUMNS)} join written on written.id = part.session
      where job.session = part.session and job.id = part.id and job.ended_at is null
    )`,
    kept: sql`kept as (
      insert into ${sql.id(schema, "haft_delivery")} (endpoint, message, payload, attempts, created_at, due_at)
      select webhook.endpoint, part.message, part.payload, 0, part.at, 0
      from ${selectArrays("part", KEPT_COLUMNS)} join written on written.id = part.session
      join ${sql.id(schema, "haft_webhook")} as webhook on webhook.type = part.type
      on conflict (endpoint, message) do nothing
    )`,
  };
}
