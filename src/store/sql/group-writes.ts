/**
 * Writes the sessions of a group in one statement: new logs, appends to sessions that this owner wrote before, changes of their jobs, and releases of
 * claims. Each session's record is updated only if its owner and epoch are as known, and events and jobs are written only for the sessions updated.
 * The statement is a whole transaction with a single answer, and a process that stops in the middle holds no lock.
 */
import type { CompiledQuery, Kysely } from "kysely";
import { advanceRecord, createRecord } from "./checksum.ts";
import { toEventRows } from "./event-rows.ts";
import { groupParameters, groupStatement, type GroupClause, type GroupPart } from "./group-statement.ts";
import type { RecordCache } from "./record-cache.ts";
import type { LogWrite } from "../records/log-database.ts";
import type { Owner } from "./owner.ts";
import type { Tables } from "./tables.ts";
import { withParameters } from "./with-parameters.ts";

export interface GroupWritesOptions {
  readonly schema: string;
  readonly owner: Owner;
  readonly records: RecordCache;
}

export class GroupWrites {
  readonly #options: GroupWritesOptions;
  /** Statements by the clauses that they contain. A statement is planned each time it runs, and most groups need only a small one. */
  readonly #statements = new Map<string, CompiledQuery<{ readonly id: string }>>();

  constructor(options: GroupWritesOptions) {
    this.#options = options;
  }

  /** Writes the sessions whose state is known here. Returns the others, which need a transaction; nothing of them is written. */
  async write(tables: Kysely<Tables>, writes: readonly LogWrite[]): Promise<readonly LogWrite[]> {
    const { owner, records } = this.#options;
    if (!owner.isRegistered || owner.id === undefined) return writes;
    const parts: GroupPart[] = [];
    for (const write of writes) {
      const part = this.#toPart(write, owner.id);
      if (part !== undefined) parts.push(part);
    }
    if (parts.length === 0) return writes;
    records.beginTransaction();
    const { clauses, parameters } = groupParameters(parts);
    const { rows } = await tables.executeQuery(withParameters(this.#findStatement(tables, clauses), parameters));
    const written = new Set(rows.map(({ id }) => id));
    const done = new Set<LogWrite>();
    for (const { write, to } of parts) {
      if (!written.has(to.id)) continue;
      if (write.release === true) records.remove(write.sessionId);
      else records.stage(write.sessionId, to);
      done.add(write);
    }
    records.commit();
    return done.size === writes.length ? [] : writes.filter((write) => !done.has(write));
  }

  #toPart(write: LogWrite, owner: string): GroupPart | undefined {
    const { create } = write;
    if (create?.parent !== undefined) return undefined;
    const from = create === undefined ? this.#options.records.findRecordFor(write) : createRecord({ ...write, create }, { owner });
    if (from === undefined) return undefined;
    const events = toEventRows(write.events, from);
    const last = events.at(-1);
    return { write, from, to: last === undefined ? from : advanceRecord(from, last), events };
  }

  #findStatement(tables: Kysely<Tables>, clauses: readonly GroupClause[]): CompiledQuery<{ readonly id: string }> {
    const key = clauses.join();
    let statement = this.#statements.get(key);
    if (statement === undefined) this.#statements.set(key, (statement = groupStatement(this.#options.schema, clauses).compile(tables)));
    return statement;
  }
}
