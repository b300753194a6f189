/**
 * Claims several sessions that no process has open by one statement, which also reads their logs. Only short logs that share no events with a parent
 * are claimed this way. Other sessions, and those whose logs do not match their checksums, are claimed one by one.
 */
import { sql, type CompiledQuery, type Kysely } from "kysely";
import type { StoredPage } from "../records/log-database.ts";
import type { LogReader } from "./log-reader.ts";
import type { StoredEvent } from "./log-statements.ts";
import type { Owner } from "./owner.ts";
import type { SessionTable, Tables } from "./tables.ts";
import { withParameters } from "./with-parameters.ts";

export interface GroupClaimsOptions {
  readonly schema: string;
  readonly owner: Owner;
  readonly reader: LogReader;
}

/** A claimed session, its whole log, and `isUnasked` of `ClaimFacts`. */
export interface ClaimedLog {
  readonly row: SessionTable;
  readonly page: StoredPage;
  readonly isUnasked: boolean;
}

/** Maximum number of events read with a claim, however large each is. */
const MAX_EVENTS = 64;

type ClaimedRow = SessionTable & {
  readonly is_unasked: boolean;
  /** Null if the log is empty. */
  readonly position: number | null;
  readonly event_at: number;
  readonly type: string;
  readonly call_id: string | null;
  readonly body: string;
  readonly event_checksum: string;
};

export class GroupClaims {
  readonly #options: GroupClaimsOptions;
  #statement: CompiledQuery<ClaimedRow> | undefined;

  constructor(options: GroupClaimsOptions) {
    this.#options = options;
  }

  /** Claims sessions by their stored ids. Those missing from the result are not claimed. */
  async claim(tables: Kysely<Tables>, ids: readonly string[]): Promise<ReadonlyMap<string, ClaimedLog>> {
    const { owner, schema } = this.#options;
    const claimed = new Map<string, ClaimedLog>();
    if (!owner.isRegistered || owner.id === undefined) return claimed;
    this.#statement ??= claimStatement(schema).compile(tables);
    const { rows } = await tables.executeQuery(withParameters(this.#statement, [ids, owner.id]));
    const unsound: string[] = [];
    for (const [id, [first, ...others]] of Map.groupBy(rows, (row) => row.id)) {
      if (first === undefined) continue;
      const row = toSessionRow(first);
      const page = this.#options.reader.toVerifiedPage(row, [first, ...others].flatMap(toStoredEvents));
      if (page !== undefined) claimed.set(id, { row, page, isUnasked: first.is_unasked });
      else unsound.push(id);
    }
    if (unsound.length > 0)
      await tables.updateTable("haft_session").set({ owner: null }).where("owner", "=", owner.id).where("id", "in", unsound).execute();
    return claimed;
  }
}

/** Skips sessions that another statement is writing. */
function claimStatement(schema: string) {
  const [session, approval, job] = [sql.id(schema, "haft_session"), sql.id(schema, "haft_approval"), sql.id(schema, "haft_job")];
  return sql<ClaimedRow>`
    with free as (
      select id, not exists (select from ${approval} as approval where approval.session = session.id and approval.status = 'open')
        and not exists (select from ${job} as job where job.session = session.id and job.ended_at is null and job.cancel_reason is not null)
        as is_unasked
      from ${session} as session
      where id = any(${""}::text[]) and owner is null and parent_id is null and length <= ${sql.lit(MAX_EVENTS)}
      order by id for update skip locked
    ), claimed as (
      update ${session} as session set owner = ${""}, epoch = session.epoch + 1 from free where session.id = free.id returning session.*, free.is_unasked
    )
    select claimed.*, event.position, event.at as event_at, event.type, event.call_id, event.body, event.checksum as event_checksum
    from claimed left join ${sql.id(schema, "haft_event")} as event on event.session = claimed.id
    order by claimed.id, event.position`;
}

function toSessionRow(row: ClaimedRow): SessionTable {
  const { id, parent_id, parent_length, created_at, durability, updated_at, length, head, checksum, owner, epoch } = row;
  return { id, parent_id, parent_length, created_at, durability, updated_at, length, head, checksum, owner, epoch };
}

function toStoredEvents({ position, event_at: at, type, call_id, body, event_checksum: checksum }: ClaimedRow): readonly StoredEvent[] {
  return position === null ? [] : [{ position, at, type, call_id, body, checksum }];
}
