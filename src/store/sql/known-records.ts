/** The records of sessions as this owner last wrote them, so that an append need not look them up. */
import type { LogWrite } from "../records/log-database.ts";
import type { SessionTable } from "./tables.ts";

/** Maximum number of records; the least recently written are forgotten first. */
const MAX_KNOWN = 16_384;

export class KnownRecords {
  /** By session id. */
  readonly #known = new Map<string, SessionTable>();
  /** Records written by the open transaction. */
  readonly #written = new Map<string, SessionTable>();

  /** Begins a transaction, and forgets the records of an earlier one that was not committed. */
  begin(): void {
    this.#written.clear();
  }

  /** Notes a record that the open transaction writes. */
  note(sessionId: string, row: SessionTable): void {
    this.#written.set(sessionId, row);
  }

  /** Remembers a record that is committed. */
  remember(sessionId: string, row: SessionTable): void {
    this.#known.delete(sessionId); // so that it moves to the end
    this.#known.set(sessionId, row);
  }

  /** Forgets a record, because its claim was released. */
  forget(sessionId: string): void {
    this.#written.delete(sessionId);
    this.#known.delete(sessionId);
  }

  /** Remembers the records of the open transaction, which is committed. */
  confirm(): void {
    for (const [sessionId, row] of this.#written) this.remember(sessionId, row);
    for (const sessionId of this.#known.keys()) {
      if (this.#known.size <= MAX_KNOWN) return;
      this.#known.delete(sessionId);
    }
  }

  /** The record that a write appends to; undefined if it is not known, or the write is not an append to it. */
  recordFor({ sessionId, create, epoch, from }: LogWrite): SessionTable | undefined {
    const row = create === undefined ? this.#known.get(sessionId) : undefined;
    return row?.length === from - 1 && row.epoch === epoch ? row : undefined;
  }
}
