/**
 * Writes the sessions of a group in one statement: logs that begin, appends to sessions that this owner wrote before, changes of their jobs,
 * and claims that are given up. Each session's record is changed where owner and epoch still have it as it is known, and the rest is
 * written for those alone. Such a statement is a whole transaction, with one answer to wait for, and a process that stops in the middle
 * holds no lock.
 */
import type { CompiledQuery, Kysely } from "kysely";
import { movedRecord, newRecord } from "./checksum.ts";
import { rowsOf } from "./event-rows.ts";
import { groupParameters, groupStatement, type GroupKind, type GroupPart } from "./group-statement.ts";
import type { KnownRecords } from "./known-records.ts";
import type { LogWrite } from "../records/log-database.ts";
import type { Owner } from "./owner.ts";
import type { Tables } from "./tables.ts";
import { withParameters } from "./with-parameters.ts";

export interface GroupWritesParts {
  readonly schema: string;
  readonly owner: Owner;
  readonly records: KnownRecords;
}

export class GroupWrites {
  readonly #parts: GroupWritesParts;
  /** By the kinds of changes that they make: a statement is planned each time that it runs, and most groups need a small one. */
  readonly #statements = new Map<string, CompiledQuery<{ readonly id: string }>>();

  constructor(parts: GroupWritesParts) {
    this.#parts = parts;
  }

  /** Writes what needs nothing that is not known here. Returns the rest, which needs a transaction, and of which nothing is written. */
  async write(tables: Kysely<Tables>, writes: readonly LogWrite[]): Promise<readonly LogWrite[]> {
    const { owner, records } = this.#parts;
    if (!owner.isRegistered || owner.id === undefined) return writes;
    const parts: GroupPart[] = [];
    for (const write of writes) {
      const part = this.#partOf(write, owner.id);
      if (part !== undefined) parts.push(part);
    }
    if (parts.length === 0) return writes;
    records.begin();
    const { kinds, parameters } = groupParameters(parts);
    const { rows } = await tables.executeQuery(withParameters(this.#statementFor(tables, kinds), parameters));
    const written = new Set(rows.map(({ id }) => id));
    const done = new Set<LogWrite>();
    for (const { write, to } of parts) {
      if (!written.has(to.id)) continue;
      if (write.release === true) records.forget(write.sessionId);
      else records.note(write.sessionId, to);
      done.add(write);
    }
    records.confirm();
    return done.size === writes.length ? [] : writes.filter((write) => !done.has(write));
  }

  #partOf(write: LogWrite, owner: string): GroupPart | undefined {
    const { create } = write;
    if (create?.parent !== undefined) return undefined;
    const from = create === undefined ? this.#parts.records.recordFor(write) : newRecord({ ...write, create }, { owner });
    if (from === undefined) return undefined;
    const events = rowsOf(write.events, from);
    const last = events.at(-1);
    return { write, from, to: last === undefined ? from : movedRecord(from, last), events };
  }

  #statementFor(tables: Kysely<Tables>, kinds: readonly GroupKind[]): CompiledQuery<{ readonly id: string }> {
    const key = kinds.join();
    let statement = this.#statements.get(key);
    if (statement === undefined) this.#statements.set(key, (statement = groupStatement(this.#parts.schema, kinds).compile(tables)));
    return statement;
  }
}
