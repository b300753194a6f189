/**
 * Appends to sessions that this owner wrote before, all of a group in one statement: each session's record is changed where owner and
 * epoch still have it as it is known, and events are inserted for those alone. Such a statement is a whole transaction, with one answer
 * to wait for, and a process that stops in the middle holds no lock.
 */
import { sql, type CompiledQuery, type Kysely, type Transaction } from "kysely";
import { movedRecord } from "./checksum.ts";
import { rowsOf } from "./event-rows.ts";
import type { JobStatements } from "./job-statements.ts";
import type { KnownRecords } from "./known-records.ts";
import type { LogWrite } from "./log-database.ts";
import type { Owner } from "./owner.ts";
import type { EventTable, SessionTable, Tables } from "./tables.ts";
import { withParameters } from "./with-parameters.ts";

export interface GroupAppendsParts {
  readonly schema: string;
  readonly owner: Owner;
  readonly tables: Kysely<Tables>;
  readonly jobs: JobStatements;
  readonly records: KnownRecords;
}

/** One session's part of a group. */
interface Part {
  readonly write: LogWrite;
  readonly from: SessionTable;
  readonly to: SessionTable;
  readonly events: readonly EventTable[];
}

export class GroupAppends {
  readonly #parts: GroupAppendsParts;
  readonly #statement: CompiledQuery<{ readonly id: string }>;

  constructor(parts: GroupAppendsParts) {
    this.#parts = parts;
    this.#statement = appendStatement(parts.schema).compile(parts.tables);
  }

  /** Returns true when all of a group is written. Returns false for one that needs a transaction; what is written of it then is so for good. */
  async writeAll(tables: Kysely<Tables>, writes: readonly LogWrite[]): Promise<boolean> {
    const { records } = this.#parts;
    if (!writes.every((write) => write.jobs === undefined && records.recordFor(write) !== undefined)) return false;
    records.begin();
    const left = await this.#run(tables, writes);
    records.confirm();
    return left.length === 0;
  }

  /** Writes in the transaction under way what is an append to what is known. Returns the rest, of which nothing is written. */
  async append(transaction: Transaction<Tables>, writes: readonly LogWrite[]): Promise<readonly LogWrite[]> {
    return this.#run(transaction, writes);
  }

  async #run(tables: Kysely<Tables>, writes: readonly LogWrite[]): Promise<readonly LogWrite[]> {
    const { owner, records } = this.#parts;
    const parts = writes.map((write) => partOf(write, records.recordFor(write))).filter((part) => part !== undefined);
    if (parts.length === 0 || owner.id === undefined) return writes;
    const { rows } = await tables.executeQuery(withParameters(this.#statement, parametersOf(parts, owner.id)));
    const moved = new Set(rows.map(({ id }) => id));
    const done = new Set<LogWrite>();
    for (const { write, to } of parts) {
      if (!moved.has(to.id)) continue;
      records.note(write.sessionId, to);
      await this.#writeJobs(tables, write, to.id);
      done.add(write);
    }
    return writes.filter((write) => !done.has(write));
  }

  async #writeJobs(tables: Kysely<Tables>, { jobs }: LogWrite, session: string): Promise<void> {
    for (const change of jobs ?? []) {
      for (const { query, parameters } of this.#parts.jobs.all(session, change))
        await tables.executeQuery(withParameters(query, parameters));
    }
  }
}

function partOf(write: LogWrite, from: SessionTable | undefined): Part | undefined {
  const events = from === undefined ? [] : rowsOf(write.events, from);
  const last = events.at(-1);
  return from === undefined || last === undefined ? undefined : { write, from, to: movedRecord(from, last), events };
}

/** Placeholders follow the order of `parametersOf`. */
function appendStatement(schema: string) {
  const session = sql.id(schema, "haft_session");
  const event = sql.id(schema, "haft_event");
  return sql<{ readonly id: string }>`
    with part as (
      select * from unnest(${""}::text[], ${""}::bigint[], ${""}::bigint[], ${""}::text[], ${""}::text[],
        ${""}::bigint[], ${""}::bigint[], ${""}::text[], ${""}::text[])
        as part(id, epoch, known_length, known_head, known_checksum, updated_at, length, head, checksum)
    ), moved as (
      update ${session} as session
      set updated_at = part.updated_at, length = part.length, head = part.head, checksum = part.checksum
      from part
      where session.id = part.id and session.owner = ${""} and session.epoch = part.epoch
        and session.length = part.known_length and session.head = part.known_head and session.checksum = part.known_checksum
      returning session.id
    ), added as (
      insert into ${event} (session, position, at, type, call_id, body, checksum)
      select event.session, event.position, event.at, event.type, event.call_id, event.body, event.checksum
      from unnest(${""}::text[], ${""}::bigint[], ${""}::bigint[], ${""}::text[], ${""}::text[], ${""}::text[], ${""}::text[])
        with ordinality as event(session, position, at, type, call_id, body, checksum, turn)
      join moved on moved.id = event.session
      order by event.turn
    )
    select id from moved`;
}

function parametersOf(parts: readonly Part[], owner: string): readonly unknown[] {
  const events = parts.flatMap((part) => part.events);
  const from = <Key extends keyof SessionTable>(key: Key) => parts.map((part) => part.from[key]);
  const to = <Key extends keyof SessionTable>(key: Key) => parts.map((part) => part.to[key]);
  const of = <Key extends keyof EventTable>(key: Key) => events.map((event) => event[key]);
  return [
    from("id"),
    from("epoch"),
    from("length"),
    from("head"),
    from("checksum"),
    to("updated_at"),
    to("length"),
    to("head"),
    to("checksum"),
    owner,
    of("session"),
    of("position"),
    of("at"),
    of("type"),
    of("call_id"),
    of("body"),
    of("checksum"),
  ];
}
