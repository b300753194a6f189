/** The records of sessions as this owner last wrote them, so that an append need not look them up. */
import type { LogWrite } from "../records/log-database.ts";
import type { SessionTable } from "./tables.ts";

/** Maximum number of records; the least recently written are forgotten first. */
const MAX_RECORDS = 16_384;

export class RecordCache {
  /** By session id. */
  readonly #records = new Map<string, SessionTable>();
  /** Records written by the open transaction. */
  readonly #staged = new Map<string, SessionTable>();

  /** Begins a transaction, and forgets the records of an earlier one that was not committed. */
  beginTransaction(): void {
    this.#staged.clear();
  }

  /** Notes a record that the open transaction writes. */
  stage(sessionId: string, row: SessionTable): void {
    this.#staged.set(sessionId, row);
  }

  /** Remembers a record that is committed. */
  store(sessionId: string, row: SessionTable): void {
    this.#records.delete(sessionId); // so that it moves to the end
    this.#records.set(sessionId, row);
  }

  /** Forgets a record, because its claim was released. */
  remove(sessionId: string): void {
    this.#staged.delete(sessionId);
    this.#records.delete(sessionId);
  }

  /** Remembers the records of the open transaction, which is committed. */
  commit(): void {
    for (const [sessionId, row] of this.#staged) this.store(sessionId, row);
    for (const sessionId of this.#records.keys()) {
      if (this.#records.size <= MAX_RECORDS) return;
      this.#records.delete(sessionId);
    }
  }

  /** The record that a write appends to; undefined if it is not known, or the write is not an append to it. */
  findRecordFor({ sessionId, create, epoch, from }: LogWrite): SessionTable | undefined {
    const row = create === undefined ? this.#records.get(sessionId) : undefined;
    return row?.length === from - 1 && row.epoch === epoch ? row : undefined;
  }
}
