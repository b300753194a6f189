/** Claims sessions, one at a time, and ensures that a session is free before it is removed. */
import type { Kysely, Transaction } from "kysely";
import { ToolError } from "../../core/error.ts";
import type { LogOptions } from "../../core/store/store.ts";
import type { ClaimAnswer, ClaimRequest, ClaimFacts } from "../records/log-database.ts";
import { outerLostError } from "../records/outer-lost-error.ts";
import type { FoundSession, LogReader } from "./log-reader.ts";
import type { Owner } from "./owner.ts";
import { parseStoredTextOrRaw, toStoredText } from "../records/stored-text.ts";
import type { SessionTable, Tables } from "./tables.ts";

/** Number of events verified in one transaction, between which others may write. */
const VERIFY_BATCH_SIZE = 5_000;
/** Maximum number of events verified in the transaction that claims. */
const MAX_VERIFIED_WITH_CLAIM = 500;
/** A hint for development servers, which load a changed module again and leave its earlier stores open. */
const RELOADED_HINT =
  "That is another store in this process, or a container with the same host name: if modules are reloaded, keep the runtime on globalThis. ";

export interface SessionClaimsOptions {
  readonly owner: Owner;
  readonly reader: LogReader;
  /** Called with the record of each claimed session. */
  readonly onClaim: (sessionId: string, row: SessionTable) => void;
}

/** State kept across the retries of a claim: after a try whose answer was lost, this owner already has the session. */
export interface ClaimRetryState {
  wasLeftOpen: boolean;
}

export class SessionClaims {
  readonly #owner: Owner;
  readonly #reader: LogReader;
  readonly #onClaim: SessionClaimsOptions["onClaim"];

  constructor({ owner, reader, onClaim }: SessionClaimsOptions) {
    this.#owner = owner;
    this.#reader = reader;
    this.#onClaim = onClaim;
  }

  async claim(tables: Kysely<Tables>, request: ClaimRequest, retryState: ClaimRetryState): Promise<ClaimAnswer> {
    const { verified, length } = await runInSnapshot(tables, (transaction) => this.#verifyNext(transaction, request));
    if (length - verified > MAX_VERIFIED_WITH_CLAIM) return { claimed: false, verified };
    const row = await tables
      .transaction()
      .execute((transaction) => this.#claimInTransaction(transaction, { ...request, verified }, retryState));
    if (row === undefined) return { claimed: false, verified };
    this.#owner.confirmRegistration();
    this.#onClaim(request.sessionId, row);
    return toClaimAnswer(row, retryState);
  }

  /** Takes a session for this owner, so that no other can claim it until the transaction ends. Returns false if there is none. */
  async lockSession(transaction: Transaction<Tables>, sessionId: string): Promise<boolean> {
    for (let before: SessionTable | undefined; ;) {
      const found = await this.#reader.find(transaction, toStoredText(sessionId));
      if (found === undefined) return false;
      const { row } = found;
      await this.#requireFree(transaction, sessionId, row);
      // a record that is unchanged although it could not be taken does not exist in the table
      if (row.owner === before?.owner && row.epoch === before.epoch) return true;
      if (await this.#setOwner(transaction, row)) return true;
      before = row;
    }
  }

  /** Verifies the next events of a log that may be claimed. */
  async #verifyNext(
    transaction: Transaction<Tables>,
    request: ClaimRequest,
  ): Promise<{ readonly verified: number; readonly length: number }> {
    const { row } = await this.#findClaimable(transaction, request);
    if (row.length - request.verified <= MAX_VERIFIED_WITH_CLAIM) return { verified: request.verified, length: row.length };
    return { verified: await this.#verifyPage(transaction, request), length: row.length };
  }

  /** Undefined if another claim came first: the caller must check again whether the session may be claimed. */
  async #claimInTransaction(
    transaction: Transaction<Tables>,
    request: ClaimRequest,
    retryState: ClaimRetryState,
  ): Promise<SessionTable | undefined> {
    const found = await this.#findClaimable(transaction, request);
    await this.#requireOuter(transaction, request); // after the record was read: a claim by the new owner of the outer session changes that record
    retryState.wasLeftOpen ||= await this.#isLeftOpen(transaction, found.row);
    await this.#owner.register(transaction);
    if (!(await this.#setOwner(transaction, found.row))) return undefined;
    const { row } = await this.#findClaimable(transaction, { ...request, takeOver: true }); // as its last owner left it
    let verified = request.verified;
    while (verified < row.length) verified = await this.#verifyPage(transaction, { ...request, verified });
    return row;
  }

  /** @throws ToolError `conflict` if the outer session was claimed again, as a rejection. One that is not stored yet cannot have been claimed. */
  async #requireOuter(transaction: Transaction<Tables>, { outer }: ClaimRequest): Promise<void> {
    if (outer === undefined) return;
    const found = await this.#reader.find(transaction, toStoredText(outer.sessionId));
    if (found === undefined) return;
    const { owner, epoch } = found.row;
    if (epoch !== outer.epoch || owner !== (this.#owner.id ?? null)) throw outerLostError(outer.sessionId);
  }

  /** Makes this owner the owner of a session, if its record is still as found. From then on no other owner can write it. */
  async #setOwner(transaction: Transaction<Tables>, { id, owner, epoch }: SessionTable): Promise<boolean> {
    const { numUpdatedRows } = await transaction
      .updateTable("haft_session")
      .set({ owner: this.#owner.id ?? null, epoch: epoch + 1 })
      .where("id", "=", id)
      .where("epoch", "=", epoch)
      .where("owner", "is not distinct from", owner)
      .executeTakeFirst();
    return numUpdatedRows === 1n;
  }

  async #findClaimable(transaction: Transaction<Tables>, { sessionId, takeOver }: ClaimRequest): Promise<FoundSession> {
    const found = await this.#reader.require(transaction, sessionId);
    if (!takeOver) await this.#requireFree(transaction, sessionId, found.row);
    if (found.damage !== undefined) throw damagedError(sessionId, await this.#countSoundEvents(transaction, found), found.damage);
    return found;
  }

  /** Verifies a page. Returns the number of events known to be sound. */
  async #verifyPage(transaction: Transaction<Tables>, { sessionId, verified }: ClaimRequest): Promise<number> {
    const found = await this.#reader.require(transaction, sessionId);
    const page = await this.#reader.read(transaction, found, { from: verified + 1, limit: VERIFY_BATCH_SIZE });
    const sound = verified + page.bodies.length;
    if (page.damage !== undefined) throw damagedError(sessionId, sound, `event ${page.damage.position}: ${page.damage.reason}`);
    return sound;
  }

  async #countSoundEvents(transaction: Transaction<Tables>, found: FoundSession): Promise<number> {
    for (let sound = 0; ;) {
      const page = await this.#reader.read(transaction, found, { from: sound + 1, limit: VERIFY_BATCH_SIZE });
      sound += page.bodies.length;
      if (page.next === undefined) return sound;
    }
  }

  async #isLeftOpen(transaction: Transaction<Tables>, { owner }: SessionTable): Promise<boolean> {
    return owner !== null && (await this.#owner.describe(transaction, owner)) === undefined;
  }

  async #requireFree(transaction: Transaction<Tables>, sessionId: string, { owner }: SessionTable): Promise<void> {
    if (owner === null || owner === this.#owner.id) return;
    const living = await this.#owner.describe(transaction, owner);
    if (living === undefined) return;
    throw new ToolError("resource_busy", `Session ${JSON.stringify(sessionId)} is open in ${living.text}.`, {
      operatorHint: `${living.mayBeThisProcess ? RELOADED_HINT : ""}Close it there, or claim it with takeOver: the session that is open there can then no longer write.`,
    });
  }
}

export function toClaimAnswer(row: SessionTable, facts: ClaimFacts): ClaimAnswer {
  return { claimed: true, length: row.length, options: toLogOptions(row), epoch: row.epoch, ...facts };
}

/** Runs several statements on one snapshot of the tables. */
export function runInSnapshot<Result>(
  tables: Kysely<Tables>,
  work: (transaction: Transaction<Tables>) => Promise<Result>,
): Promise<Result> {
  return tables.transaction().setIsolationLevel("repeatable read").setAccessMode("read only").execute(work);
}

export function toLogOptions({ created_at, durability, parent_id, parent_length }: SessionTable): LogOptions {
  const parent = parent_id === null ? {} : { parent: { sessionId: parseStoredTextOrRaw(parent_id), length: parent_length } };
  return { at: created_at, durability: durability === "async" ? "async" : "sync", ...parent };
}

function damagedError(sessionId: string, sound: number, reason: string): ToolError {
  return new ToolError("corrupt_record", `Session ${JSON.stringify(sessionId)} is damaged after its first ${sound} events (${reason}).`, {
    hint: "Those can be read: export them, and continue in a new session.",
  });
}
