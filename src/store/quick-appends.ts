/**
 * Appends to sessions that this owner wrote before, with one statement for the session and one for each event, run at once.
 *
 * The record of a session is remembered from the last write. It is changed only where it still is exactly that in the database, its owner
 * included: a session that was claimed, removed or damaged since is not written here.
 */
import type { CompiledQuery, Kysely } from "kysely";
import { rowsOf } from "./event-rows.ts";
import { sessionChecksum } from "./checksum.ts";
import type { JobChange } from "./job-changes.ts";
import type { JobStatements } from "./job-statements.ts";
import type { LogWrite } from "./log-database.ts";
import type { ImmediateSql, RunStatement } from "./sql-connection.ts";
import type { SessionTable, Tables } from "./tables.ts";

/** So many records are remembered; those that were not written for longest are forgotten first. */
const MAX_KNOWN = 16_384;

export class QuickAppends {
  readonly #sql: ImmediateSql;
  readonly #tables: Kysely<Tables>;
  /** By session id. */
  readonly #known = new Map<string, SessionTable>();
  /** Records as the transaction under way leaves them. */
  readonly #written = new Map<string, SessionTable>();
  /** Made when first needed, because the tables may have to be made before. */
  #statements: { readonly insert: RunStatement; readonly move: RunStatement } | undefined;

  readonly #jobs: JobStatements;
  readonly #preparedJobs = new Map<CompiledQuery, RunStatement>();

  constructor(sql: ImmediateSql, tables: Kysely<Tables>, jobs: JobStatements) {
    this.#jobs = jobs;
    this.#sql = sql;
    this.#tables = tables;
  }

  /** Writes a group in one transaction. Returns false, and has written nothing, when a part of it is no append to what is known. */
  writeAll(writes: readonly LogWrite[]): boolean {
    if (!this.#sql.isFree || !writes.every((write) => this.#recordFor(write) !== undefined)) return false;
    this.begin();
    if (!this.#sql.write(() => writes.every((write) => this.append(write)))) return false;
    this.confirm();
    return true;
  }

  /** A transaction begins; what an earlier one wrote and did not confirm is not in the database. */
  begin(): void {
    this.#written.clear();
  }

  /** Writes one session's part in the transaction under way. Returns false, and has written nothing, when it is no append to what is known. */
  append(write: LogWrite): boolean {
    const row = this.#recordFor(write);
    if (row === undefined) return false;
    const events = rowsOf(write.events, row);
    const last = events.at(-1);
    if (last === undefined) return false;
    this.#statements ??= { insert: this.#sql.prepare(insertEvent(this.#tables)), move: this.#sql.prepare(moveSession(this.#tables)) };
    const moved = { ...row, length: last.position, updated_at: Math.max(row.updated_at, last.at), head: last.checksum };
    const session = { ...moved, checksum: sessionChecksum(moved) };
    if (this.#statements.move([...newValues(session), ...allValues(row)]) === 0) return false;
    const { insert } = this.#statements;
    for (const { session, position, at, type, call_id, body, checksum } of events)
      insert([session, position, at, type, call_id, body, checksum]);
    if (write.jobs !== undefined) this.#writeJobs(row.id, write.jobs);
    this.note(write.sessionId, session);
    return true;
  }

  #writeJobs(session: string, changes: readonly JobChange[]): void {
    for (const { query, parameters } of changes.flatMap((change) => this.#jobs.all(session, change))) {
      let run = this.#preparedJobs.get(query);
      if (run === undefined) this.#preparedJobs.set(query, (run = this.#sql.prepare(query)));
      run(parameters);
    }
  }

  /** Remembers a record as the transaction under way leaves it. */
  note(sessionId: string, row: SessionTable): void {
    this.#written.set(sessionId, row);
  }

  /** The transaction is committed. */
  confirm(): void {
    for (const [sessionId, row] of this.#written) {
      this.#known.delete(sessionId); // so that it goes to the end
      this.#known.set(sessionId, row);
    }
    for (const sessionId of this.#known.keys()) {
      if (this.#known.size <= MAX_KNOWN) return;
      this.#known.delete(sessionId);
    }
  }

  #recordFor({ sessionId, create, from }: LogWrite): SessionTable | undefined {
    const row = create === undefined ? this.#known.get(sessionId) : undefined;
    return row?.length === from - 1 ? row : undefined;
  }
}

function insertEvent(tables: Kysely<Tables>) {
  const event = { session: "", position: 0, at: 0, type: "", call_id: null, body: "", checksum: "" };
  return tables.insertInto("haft_event").values(event).compile();
}

/** Parameters: `newValues` of the session as it is to be, `allValues` of it as it is known. */
function moveSession(tables: Kysely<Tables>) {
  return tables
    .updateTable("haft_session")
    .set({ updated_at: 0, length: 0, head: "", checksum: "" })
    .where("id", "=", "")
    .where("owner", "=", "")
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
  const { id, owner, checksum, length, head, updated_at, created_at, durability, parent_length, parent_id } = row;
  return [id, owner, checksum, length, head, updated_at, created_at, durability, parent_length, parent_id];
}
