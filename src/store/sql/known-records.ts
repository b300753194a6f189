/** The records of sessions as this owner's writes left them, so that an append need not look them up. */
import type { LogWrite } from "../records/log-database.ts";
import type { SessionTable } from "./tables.ts";

/** So many records are remembered; those that were not written for longest are forgotten first. */
const MAX_KNOWN = 16_384;

export class KnownRecords {
  /** By session id. */
  readonly #known = new Map<string, SessionTable>();
  /** Records as the transaction under way leaves them. */
  readonly #written = new Map<string, SessionTable>();

  /** A transaction begins; what an earlier one wrote and did not confirm is not in the database. */
  begin(): void {
    this.#written.clear();
  }

  /** Remembers a record as the transaction under way leaves it. */
  note(sessionId: string, row: SessionTable): void {
    this.#written.set(sessionId, row);
  }

  /** Takes a record as a transaction that is committed left it. */
  remember(sessionId: string, row: SessionTable): void {
    this.#known.delete(sessionId); // so that it goes to the end
    this.#known.set(sessionId, row);
  }

  /** Forgets a record: its claim was given up. */
  forget(sessionId: string): void {
    this.#written.delete(sessionId);
    this.#known.delete(sessionId);
  }

  /** The transaction is committed. */
  confirm(): void {
    for (const [sessionId, row] of this.#written) this.remember(sessionId, row);
    for (const sessionId of this.#known.keys()) {
      if (this.#known.size <= MAX_KNOWN) return;
      this.#known.delete(sessionId);
    }
  }

  /** The record that a write appends to; undefined when it is not known, or the write is no append to it. */
  recordFor({ sessionId, create, epoch, from }: LogWrite): SessionTable | undefined {
    const row = create === undefined ? this.#known.get(sessionId) : undefined;
    return row?.length === from - 1 && row.epoch === epoch ? row : undefined;
  }
}
