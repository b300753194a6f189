/** Writes groups of events, each group in one transaction, for sessions that this owner still has. */
import { pushAll } from "../../core/collections/push-all.ts";
import type { Kysely, Transaction } from "kysely";
import { ToolError, describeThrown } from "../../core/error.ts";
import type { LogOptions } from "../../core/store/store.ts";
import { plural } from "../../core/base/wording.ts";
import { advanceRecord, createRecord, rootChecksum } from "./checksum.ts";
import { toEventRows } from "./event-rows.ts";
import { GroupWrites } from "./group-writes.ts";
import { formatBranchPoint, type LogRefusal, type LogWrite } from "../records/log-database.ts";
import { RecordCache } from "./record-cache.ts";
import type { LogReader } from "./log-reader.ts";
import { JobStatements } from "./job-statements.ts";
import type { LogStatements } from "./log-statements.ts";
import { ownerAfterRelease, type Owner } from "./owner.ts";
import { ImmediateAppends } from "./immediate-appends.ts";
import type { SqlConnection } from "./sql-connection.ts";
import { toStoredText } from "../records/stored-text.ts";
import type { SessionTable, Tables } from "./tables.ts";
import { withParameters } from "./with-parameters.ts";

/** Maximum number of sessions looked up in one statement. */
const LOOKUP_BATCH_SIZE = 500;

export interface LogWriterOptions {
  readonly connection: SqlConnection;
  readonly statements: LogStatements;
  readonly reader: LogReader;
  readonly owner: Owner;
}

export class LogWriter {
  readonly #connection: SqlConnection;
  readonly #statements: LogStatements;
  readonly #reader: LogReader;
  readonly #owner: Owner;
  readonly #jobs: JobStatements;
  readonly #records = new RecordCache();
  /** Set if the database answers at once. */
  readonly #immediateAppends: ImmediateAppends | undefined;
  /** Set if the database is reached over a network. */
  readonly #groups: GroupWrites | undefined;

  constructor(options: LogWriterOptions) {
    this.#connection = options.connection;
    this.#statements = options.statements;
    this.#reader = options.reader;
    this.#owner = options.owner;
    const { immediate: sql, groups, tables } = options.connection;
    this.#jobs = new JobStatements(tables);
    const records = this.#records;
    this.#immediateAppends = sql === undefined ? undefined : new ImmediateAppends({ sql, tables, jobs: this.#jobs, records });
    this.#groups = groups === undefined ? undefined : new GroupWrites({ schema: groups.schema, owner: options.owner, records });
  }

  /** Remembers the record of a claimed session, so that the first append need not look it up. */
  cacheRecord(sessionId: string, row: SessionTable): void {
    this.#records.store(sessionId, row);
  }

  /** See `LogRequests.commit`. If one session prevents a group from being written, each is written alone. */
  async commit(tables: Kysely<Tables>, writes: readonly LogWrite[]): Promise<readonly LogRefusal[]> {
    const [first, ...others] = writes;
    try {
      return await this.#commit(tables, writes);
    } catch (error: unknown) {
      if (!this.#isSessionError(error)) throw error;
      if (first === undefined) return [];
    }
    if (others.length === 0) return this.#commitAlone(tables, first);
    const refusals: LogRefusal[] = [];
    for (const write of writes) pushAll(refusals, await this.#commitAlone(tables, write));
    return refusals;
  }

  /** Tries a session's part again, because the obstacle may have been a row that another process wrote meanwhile. */
  async #commitAlone(tables: Kysely<Tables>, write: LogWrite): Promise<readonly LogRefusal[]> {
    try {
      return await this.#commitInTransaction(tables, [write]);
    } catch (error: unknown) {
      if (!this.#isSessionError(error)) throw error;
      return [toRefusal(write, this.#connection.isUnstorable(error) ? unstorableError(write, error) : strayEventsError(write))];
    }
  }

  #isSessionError(error: unknown): boolean {
    return this.#connection.isKeyTaken(error) || this.#connection.isUnstorable(error);
  }

  async #commit(tables: Kysely<Tables>, allWrites: readonly LogWrite[]): Promise<readonly LogRefusal[]> {
    const writes = allWrites.some(isConfirmation) ? await this.#withoutConfirmed(tables, allWrites) : allWrites;
    if (writes.length === 0) return [];
    if (this.#immediateAppends?.writeAll(writes) === true) return [];
    const left = (await this.#groups?.write(tables, writes)) ?? writes;
    return left.length === 0 ? [] : await this.#commitInTransaction(tables, left);
  }

  /** Filters out the confirmations of sessions that this owner still has, looked up by one statement for many sessions, without locks. */
  async #withoutConfirmed(tables: Kysely<Tables>, writes: readonly LogWrite[]): Promise<readonly LogWrite[]> {
    const epochs = new Map<string, number>();
    const ids = writes.filter(isConfirmation).map(({ sessionId }) => toStoredText(sessionId));
    for (let at = 0; at < ids.length; at += LOOKUP_BATCH_SIZE) {
      const some = tables
        .selectFrom("haft_session")
        .select(["id", "epoch"])
        .where("id", "in", ids.slice(at, at + LOOKUP_BATCH_SIZE));
      for (const { id, epoch } of await some.where("owner", "=", this.#owner.id ?? "").execute()) epochs.set(id, epoch);
    }
    return writes.filter((write) => !isConfirmation(write) || epochs.get(toStoredText(write.sessionId)) !== write.epoch);
  }

  async #commitInTransaction(tables: Kysely<Tables>, writes: readonly LogWrite[]): Promise<readonly LogRefusal[]> {
    const creates = writes.some((write) => write.create !== undefined);
    const refusals = await tables.transaction().execute(async (transaction) => {
      if (creates) await this.#owner.register(transaction);
      this.#records.beginTransaction();
      const refused: LogRefusal[] = [];
      for (const write of writes) {
        const { parent } = write.create ?? {};
        const isOrphan = parent !== undefined && refused.some(({ sessionId }) => sessionId === parent.sessionId);
        const error =
          isOrphan && parent !== undefined ? missingParentError(write, formatBranchPoint(parent)) : await this.#write(transaction, write);
        if (error !== undefined) refused.push(toRefusal(write, error));
      }
      return refused;
    });
    if (creates) this.#owner.confirmRegistration();
    this.#records.commit();
    return refusals;
  }

  /** Writes one session's part. Returns the error if it is left out. */
  async #write(transaction: Transaction<Tables>, write: LogWrite): Promise<ToolError | undefined> {
    if (this.#immediateAppends?.append(write) === true) return undefined;
    const isReleaseAlone = write.release === true && write.events.length === 0 && write.create === undefined;
    const error = isReleaseAlone ? undefined : await this.#writeEvents(transaction, write);
    if (write.release === true && error === undefined) await this.#release(transaction, write);
    return error;
  }

  async #writeEvents(transaction: Transaction<Tables>, write: LogWrite): Promise<ToolError | undefined> {
    const found = await this.#reader.find(transaction, toStoredText(write.sessionId));
    if (found === undefined) {
      return write.create === undefined ? removedError(write) : this.#create(transaction, write, write.create);
    }
    const { row } = found;
    if (row.owner !== this.#owner.id || row.epoch !== write.epoch) {
      if (write.release === true && (await this.#isWritten(transaction, write, row))) return undefined;
      return write.create === undefined ? this.#takenOverError(transaction, write, row) : duplicateError(write);
    }
    if (found.damage !== undefined) return new ToolError("corrupt_record", `Session ${quoteId(write)} cannot be written: ${found.damage}.`);
    return this.#append(transaction, write, row);
  }

  async #release(transaction: Transaction<Tables>, write: LogWrite): Promise<void> {
    const { sessionId, epoch } = write;
    await transaction
      .updateTable("haft_session")
      .set({ owner: ownerAfterRelease(write) })
      .where("id", "=", toStoredText(sessionId))
      .where("owner", "=", this.#owner.id ?? "")
      .where("epoch", "=", epoch)
      .execute();
    this.#records.remove(sessionId);
  }

  async #create(transaction: Transaction<Tables>, write: LogWrite, create: LogOptions): Promise<ToolError | undefined> {
    const { parent } = create;
    let parentSum: string | undefined = "";
    if (parent !== undefined) {
      const found = await this.#reader.find(transaction, toStoredText(parent.sessionId));
      const hasIt = found !== undefined && found.damage === undefined && parent.length <= found.row.length;
      parentSum = hasIt ? await this.#reader.checksumAt(transaction, found.row, parent.length) : undefined;
      if (parentSum === undefined) return missingParentError(write, formatBranchPoint(parent));
    }
    const row = createRecord({ ...write, create }, { owner: this.#owner.id ?? null, parentSum });
    await transaction.insertInto("haft_session").values(row).execute();
    return this.#append(transaction, write, row);
  }

  async #append(transaction: Transaction<Tables>, write: LogWrite, row: SessionTable): Promise<ToolError | undefined> {
    const storedCount = row.length - (write.from - 1);
    if (storedCount < 0 || storedCount > write.events.length) return mismatchError(write, row.length);
    if (storedCount > 0 && !(await this.#hasFirstEvents(transaction, write, { row, storedCount }))) return mismatchError(write, row.length);
    if (storedCount === write.events.length) return undefined;
    const events = toEventRows(write.events.slice(storedCount), row);
    const last = events.at(-1);
    if (last === undefined) return undefined;
    const session = advanceRecord(row, last);
    if (!(await this.#statements.updateSession(transaction, row, session))) return this.#staleRecordError(transaction, write);
    await this.#statements.insertEvents(transaction, events);
    for (const change of write.jobs ?? [])
      for (const { query, parameters } of this.#jobs.statementsFor(row.id, change))
        await transaction.executeQuery(withParameters(query, parameters));
    this.#records.stage(write.sessionId, session);
    return undefined;
  }

  /** The error of a session whose record has changed since this transaction read it. */
  async #staleRecordError(transaction: Transaction<Tables>, write: LogWrite): Promise<ToolError> {
    const found = await this.#reader.find(transaction, toStoredText(write.sessionId));
    return found === undefined ? removedError(write) : this.#takenOverError(transaction, write, found.row);
  }

  /** Whether the log already ends with the first events of a write, because the answer to an earlier commit was lost. */
  async #hasFirstEvents(
    transaction: Transaction<Tables>,
    { from, events }: LogWrite,
    { row, storedCount }: { readonly row: SessionTable; readonly storedCount: number },
  ): Promise<boolean> {
    const before = await this.#reader.checksumAt(transaction, row, from - 1);
    if (before === undefined) return false;
    const head = from - 1 === row.parent_length ? rootChecksum(row, before) : before;
    const last = toEventRows(events.slice(0, storedCount), { ...row, length: from - 1, head }).at(-1);
    const stored = last?.position === row.length ? row.head : await this.#reader.checksumAt(transaction, row, from - 1 + storedCount);
    return last !== undefined && last.checksum === stored;
  }

  /** Whether all events of a write are stored: an earlier commit wrote them and released the claim, but its answer was lost. */
  async #isWritten(transaction: Transaction<Tables>, write: LogWrite, row: SessionTable): Promise<boolean> {
    return write.events.length > 0 && (await this.#hasFirstEvents(transaction, write, { row, storedCount: write.events.length }));
  }

  async #takenOverError(transaction: Transaction<Tables>, write: LogWrite, row: SessionTable): Promise<ToolError> {
    const owner = row.owner === null ? undefined : await this.#owner.describe(transaction, row.owner);
    const by = owner === undefined ? "was claimed by another process and closed again" : `is claimed by ${owner.text} now`;
    return new ToolError("conflict", `Session ${quoteId(write)} ${by}; this log can no longer write to it.`, {
      operatorHint: "Claim the session again to continue it.",
    });
  }
}

/** Whether a write only confirms that the session is still this owner's: see `EventLog.confirm`. */
function isConfirmation({ events, create, jobs, release }: LogWrite): boolean {
  return events.length === 0 && create === undefined && jobs === undefined && release !== true;
}

function quoteId({ sessionId }: LogWrite): string {
  return JSON.stringify(sessionId);
}

function toRefusal({ sessionId }: LogWrite, error: ToolError): LogRefusal {
  return { sessionId, error: error.toJSON() };
}

function strayEventsError(write: LogWrite): ToolError {
  return new ToolError("corrupt_record", `Session ${quoteId(write)} cannot be written: there are already events after its end.`);
}

function unstorableError(write: LogWrite, cause: unknown): ToolError {
  return new ToolError("too_large", `Session ${quoteId(write)} cannot be written: ${describeThrown(cause)}.`, { cause });
}

function duplicateError(write: LogWrite): ToolError {
  return new ToolError("duplicate", `A session ${quoteId(write)} already exists; nothing was written to it.`, {
    operatorHint: `Continue it with runtime.resume(${quoteId(write)}), or choose another id.`,
  });
}

function removedError(write: LogWrite): ToolError {
  return new ToolError(
    "conflict",
    `Session ${quoteId(write)} was removed by another process, or the database lost it; this log can no longer write to it.`,
  );
}

function missingParentError(write: LogWrite, from: string): ToolError {
  return new ToolError("not_found", `Session ${quoteId(write)} was not created: the store does not have ${from}, where it branches off.`);
}

function mismatchError(write: LogWrite, length: number): ToolError {
  return new ToolError(
    "conflict",
    `Session ${quoteId(write)} has ${plural(length, "event")}, which do not match this log at position ${write.from}.`,
  );
}
