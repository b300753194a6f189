/**
 * Appends synchronously to sessions that this owner wrote before, with one statement for the session and one for each event.
 *
 * The record of a session is remembered from the last write. It is updated only if the record in the database is exactly the same, including owner
 * and epoch: a session that was claimed, removed or damaged since is not written here.
 */
import type { CompiledQuery, Kysely } from "kysely";
import { toEventRows } from "./event-rows.ts";
import { advanceRecord } from "./checksum.ts";
import type { JobChange } from "../records/job-changes.ts";
import type { JobStatements } from "./job-statements.ts";
import type { RecordCache } from "./record-cache.ts";
import type { LogWrite } from "../records/log-database.ts";
import type { ImmediateSql, RunStatement } from "./sql-connection.ts";
import { ownerAfterRelease } from "./owner.ts";
import type { SessionTable, Tables } from "./tables.ts";

export interface ImmediateAppendsOptions {
  readonly sql: ImmediateSql;
  readonly tables: Kysely<Tables>;
  readonly jobs: JobStatements;
  readonly records: RecordCache;
}

export class ImmediateAppends {
  readonly #options: ImmediateAppendsOptions;
  /** Prepared when first needed, because the tables may not exist before. */
  #statements: { readonly insert: RunStatement; readonly move: RunStatement; readonly release: RunStatement } | undefined;
  readonly #preparedJobs = new Map<CompiledQuery, RunStatement>();

  constructor(options: ImmediateAppendsOptions) {
    this.#options = options;
  }

  /** Writes a group in one transaction. Returns false, having written nothing, if any part is not an append to a known record. */
  writeAll(writes: readonly LogWrite[]): boolean {
    const { sql, records } = this.#options;
    if (!sql.isIdle || !writes.every((write) => records.findRecordFor(write) !== undefined)) return false;
    records.beginTransaction();
    if (!sql.write(() => writes.every((write) => this.append(write)))) return false;
    records.commit();
    return true;
  }

  /** Writes one session's part in the open transaction. Returns false, having written nothing, if it is not an append to a known record. */
  append(write: LogWrite): boolean {
    const { sql, tables, records } = this.#options;
    const row = records.findRecordFor(write);
    if (row === undefined) return false;
    this.#statements ??= {
      insert: sql.prepare(insertEvent(tables)),
      move: sql.prepare(moveSession(tables)),
      release: sql.prepare(releaseSession(tables)),
    };
    const events = toEventRows(write.events, row);
    const last = events.at(-1);
    if (last === undefined) {
      if (write.release !== true) return false;
      this.#statements.release([ownerAfterRelease(write), row.id, row.owner, row.epoch]);
      return true;
    }
    const session = advanceRecord(row, last);
    if (this.#statements.move([...newValues(session), ...allValues(row)]) === 0) return false;
    const { insert } = this.#statements;
    for (const { session, position, at, type, call_id, body, checksum } of events)
      insert([session, position, at, type, call_id, body, checksum]);
    if (write.jobs !== undefined) this.#writeJobs(row.id, write.jobs);
    if (write.release === true) this.#statements.release([ownerAfterRelease(write), row.id, row.owner, row.epoch]);
    records.stage(write.sessionId, session);
    return true;
  }

  #writeJobs(session: string, changes: readonly JobChange[]): void {
    for (const { query, parameters } of changes.flatMap((change) => this.#options.jobs.statementsFor(session, change))) {
      let run = this.#preparedJobs.get(query);
      if (run === undefined) this.#preparedJobs.set(query, (run = this.#options.sql.prepare(query)));
      run(parameters);
    }
  }
}

function insertEvent(tables: Kysely<Tables>) {
  const event = { session: "", position: 0, at: 0, type: "", call_id: null, body: "", checksum: "" };
  return tables.insertInto("haft_event").values(event).compile();
}

/** Parameters: the new owner, then id, owner and epoch. */
function releaseSession(tables: Kysely<Tables>) {
  const mine = tables.updateTable("haft_session").set({ owner: null });
  return mine.where("id", "=", "").where("owner", "=", "").where("epoch", "=", 0).compile();
}

/** Parameters: `newValues` of the new record, then `allValues` of the known one. */
function moveSession(tables: Kysely<Tables>) {
  return tables
    .updateTable("haft_session")
    .set({ updated_at: 0, length: 0, head: "", checksum: "" })
    .where("id", "=", "")
    .where("owner", "=", "")
    .where("epoch", "=", 0)
    .where("checksum", "=", "")
    .where("length", "=", 0)
    .where("head", "=", "")
    .where("updated_at", "=", 0)
    .where("created_at", "=", 0)
    .where("durability", "=", "")
    .where("parent_length", "=", 0)
    .where("parent_id", "is not distinct from", "")
    .compile();
}

function newValues({ updated_at, length, head, checksum }: SessionTable): readonly unknown[] {
  return [updated_at, length, head, checksum];
}

function allValues(row: SessionTable): readonly unknown[] {
  const { id, owner, epoch, checksum, length, head, updated_at, created_at, durability, parent_length, parent_id } = row;
  return [id, owner, epoch, checksum, length, head, updated_at, created_at, durability, parent_length, parent_id];
}
