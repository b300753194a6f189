/** Leases in SQL tables. */
import { maxOf } from "../../core/collections/push-all.ts";
import { sql, type Kysely, type Transaction } from "kysely";
import type { LeaseAnswer, LeaseRequest, LeaseStore, LeaseUpdate, StoredLease } from "../../core/store/lease-store.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { EVENT_LIMITS } from "../../core/recording/read-event.ts";
import { LeaseQueue, slotsOf, type LeaseQueueEntry } from "../records/lease-queue.ts";
import { requirePart } from "./migrate.ts";
import type { Owner } from "./owner.ts";
import type { SqlConnection } from "./sql-connection.ts";
import type { Tables } from "./tables.ts";

/** A lease request in the queue, with its owner. */
interface OwnedEntry extends LeaseQueueEntry {
  readonly owner: string;
}

/** Requests to put in the queue, the locked slots of their keys, and the fence of leases granted now. */
interface TakeRequest {
  readonly wanted: readonly LeaseRequest[];
  readonly slots: readonly number[];
  readonly fence: number;
}

/** Maximum number of rows inserted by one statement, within the limits of every database. */
const INSERT_BATCH_SIZE = 1_000;
/** A slot that no key has. Requests that may form a cycle lock it, one at a time. */
const CYCLE_SLOT = -1;

export class SqlLeases implements LeaseStore {
  readonly #connection: SqlConnection;
  readonly #owner: Owner;
  /** The slots of requests whose update failed: its last statement may still be running, and put them in the queue after they were released. */
  readonly #uncertainSlots = new Map<string, readonly number[]>();
  #hasRemovedStale = false;

  constructor(connection: SqlConnection, owner: Owner) {
    this.#connection = connection;
    this.#owner = owner;
  }

  async update({ released, requested: wanted }: LeaseUpdate): Promise<readonly LeaseAnswer[]> {
    const { tables } = this.#connection;
    const doubtful = released.flatMap((ticket) => this.#uncertainSlots.get(ticket) ?? []);
    if (wanted.length === 0 && doubtful.length === 0) {
      await releaseLeases(tables, released);
      return [];
    }
    if (released.length === 0) {
      const waiting = await this.#answerIfWaiting(tables, wanted);
      if (waiting !== undefined) return waiting;
    }
    const slots = slotsOfAll(wanted);
    // waits until a failed update of these tickets is committed or rolled back, because it holds its slots until then
    const locked = listSlotsToLock(wanted, sortSlots([...slots, ...doubtful]));
    try {
      const answers = await tables.transaction().execute(async (transaction) => {
        await this.#owner.register(transaction);
        if (!this.#hasRemovedStale) await removeStaleLeases(transaction);
        const fence = await lockSlots(transaction, locked);
        await releaseLeases(transaction, released);
        const taken = await this.#answerRequests(transaction, { wanted, slots, fence });
        await raiseFences(transaction, locked, fence);
        return taken;
      });
      this.#owner.confirmRegistration();
      this.#hasRemovedStale = true;
      for (const ticket of [...released, ...wanted.map((request) => request.ticket)]) this.#uncertainSlots.delete(ticket);
      return answers;
    } catch (error: unknown) {
      for (const request of wanted) this.#uncertainSlots.set(request.ticket, slotsOf(request));
      throw error;
    }
  }

  async list(): Promise<readonly StoredLease[]> {
    const { tables } = this.#connection;
    await requirePart(this.#connection, "leases");
    const { entries } = new LeaseQueue(await readEntries(tables, undefined));
    const leases: StoredLease[] = [];
    for (const { callId, reads, writes, fence, owner } of entries as readonly OwnedEntry[]) {
      const living = await this.#owner.describe(tables, owner);
      if (living !== undefined) leases.push({ callId, reads, writes, fence, heldBy: living.text });
    }
    return leases;
  }

  /** Returns the answers without a lock if every request is queued and must keep waiting; otherwise undefined. */
  async #answerIfWaiting(tables: Kysely<Tables>, wanted: readonly LeaseRequest[]): Promise<readonly LeaseAnswer[] | undefined> {
    const all = await readEntries(tables, slotsOfAll(wanted));
    const entries = new Map(all.map((entry) => [entry.ticket, entry]));
    const queue = new LeaseQueue(all);
    const answers: LeaseAnswer[] = [];
    for (const { ticket, within, callId } of wanted) {
      const entry = entries.get(ticket);
      if (entry === undefined || entry.fence !== undefined || queue.isUnblocked(entry) || within !== callId) return undefined;
      answers.push({ granted: false, waitsFor: queue.blockers(entry).map((other) => other.callId), isDeadlock: false });
    }
    const gone = await this.#owner.filterGone(
      tables,
      all.map(({ owner }) => owner),
    );
    return gone.length > 0 ? undefined : answers;
  }

  async #answerRequests(transaction: Transaction<Tables>, { wanted, slots, fence }: TakeRequest): Promise<readonly LeaseAnswer[]> {
    if (wanted.length === 0) return [];
    const entries = await this.#livingEntries(transaction, slots);
    const known = new Map(entries.map((entry) => [entry.ticket, entry]));
    let place = entries.reduce((most, entry) => Math.max(most, entry.place), 0);
    const added: OwnedEntry[] = [];
    for (const request of wanted) {
      if (known.has(request.ticket)) continue;
      const entry = { ...request, place: ++place, fence: undefined, owner: this.#owner.id ?? "" };
      known.set(request.ticket, entry);
      added.push(entry);
    }
    const queue = new LeaseQueue([...entries, ...added]);
    const [granted, left] = [new Set<string>(), new Set<string>()];
    const answers: LeaseAnswer[] = [];
    for (const { ticket } of wanted) {
      const entry = known.get(ticket);
      if (entry === undefined || entry.fence !== undefined) {
        answers.push({ granted: true, fence: entry?.fence ?? fence });
      } else if (queue.isUnblocked(entry)) {
        granted.add(ticket);
        answers.push({ granted: true, fence });
      } else {
        const isDeadlock = entry.within !== entry.callId && (await this.#isInCycle(transaction, [...entries, ...added], entry));
        if (isDeadlock) left.add(ticket);
        answers.push({ granted: false, waitsFor: queue.blockers(entry).map(({ callId }) => callId), isDeadlock });
      }
    }
    await insertEntries(
      transaction,
      added.filter(({ ticket }) => !left.has(ticket)).map((entry) => (granted.has(entry.ticket) ? { ...entry, fence } : entry)),
    );
    const before = entries.filter(({ ticket }) => granted.has(ticket)).map(({ ticket }) => ticket);
    if (before.length > 0) await transaction.updateTable("haft_lease").set({ fence }).where("ticket", "in", before).execute();
    await releaseLeases(transaction, [...left]);
    return answers;
  }

  /** Whether a request closes a cycle. A cycle may involve any keys, so the whole queue is read. */
  async #isInCycle(transaction: Transaction<Tables>, near: readonly OwnedEntry[], entry: OwnedEntry): Promise<boolean> {
    const all = new Map((await readEntries(transaction, undefined)).map((other) => [other.ticket, other]));
    for (const other of near) all.set(other.ticket, other);
    return new LeaseQueue([...all.values()]).isInCycle(entry);
  }

  /** Reads the requests in some slots, and deletes those of owners that are gone. */
  async #livingEntries(transaction: Transaction<Tables>, slots: readonly number[]): Promise<readonly OwnedEntry[]> {
    const entries = await readEntries(transaction, slots);
    const gone = await this.#owner.filterGone(
      transaction,
      entries.map(({ owner }) => owner),
    );
    if (gone.length === 0) return entries;
    await transaction.deleteFrom("haft_lease").where("owner", "in", gone).execute();
    return entries.filter(({ owner }) => !gone.includes(owner));
  }
}

export async function removeLeases(tables: Kysely<Tables>, owner: string): Promise<void> {
  await tables.deleteFrom("haft_lease").where("owner", "=", owner).execute();
}

/** Deletes leases of forgotten owners. They block no request, but would otherwise stay until a call requests the same keys. */
async function removeStaleLeases(transaction: Transaction<Tables>): Promise<void> {
  await transaction.deleteFrom("haft_lease").where("owner", "not in", transaction.selectFrom("haft_owner").select("id")).execute();
}

/** The slots to lock. If two requests close a cycle from both ends, the first one to lock `CYCLE_SLOT` keeps its place. */
function listSlotsToLock(wanted: readonly LeaseRequest[], slots: readonly number[]): readonly number[] {
  return wanted.some(({ within, callId }) => within !== callId) ? [CYCLE_SLOT, ...slots] : slots;
}

function slotsOfAll(wanted: readonly LeaseRequest[]): readonly number[] {
  return sortSlots(wanted.flatMap(slotsOf));
}

function sortSlots(slots: readonly number[]): readonly number[] {
  return [...new Set(slots)].toSorted((one, other) => one - other);
}

async function releaseLeases(tables: Kysely<Tables>, tickets: readonly string[]): Promise<void> {
  if (tickets.length > 0) await tables.deleteFrom("haft_lease").where("ticket", "in", tickets).execute();
}

/**
 * Locks the slots, so that one transaction at a time passes each. `slots` must be ascending, so that transactions cannot deadlock.
 *
 * @returns the fence of leases that this transaction grants, greater than all earlier fences of these slots
 */
async function lockSlots(transaction: Transaction<Tables>, slots: readonly number[]): Promise<number> {
  const rows = await transaction
    .insertInto("haft_lease_slot")
    .values(slots.map((slot) => ({ slot, fence: 1 })))
    .onConflict((conflict) => conflict.column("slot").doUpdateSet({ fence: sql<number>`haft_lease_slot.fence + 1` }))
    .returning("fence")
    .execute();
  return maxOf(rows.map(({ fence }) => fence));
}

async function raiseFences(transaction: Transaction<Tables>, slots: readonly number[], fence: number): Promise<void> {
  if (slots.length < 2) return;
  await transaction.updateTable("haft_lease_slot").set({ fence }).where("slot", "in", slots).where("fence", "<", fence).execute();
}

async function readEntries(tables: Kysely<Tables>, slots: readonly number[] | undefined): Promise<readonly OwnedEntry[]> {
  const all = tables.selectFrom("haft_lease").selectAll();
  const rows = await (slots === undefined ? all : all.where("slot", "in", slots)).execute();
  const entries = new Map<string, OwnedEntry>();
  for (const { ticket, owner, place, fence, request } of rows) {
    if (entries.has(ticket)) continue;
    const read = parseJson(request, EVENT_LIMITS) as unknown as LeaseRequest; // as insertEntries wrote it
    entries.set(ticket, { ...read, ticket, owner, place, fence: fence ?? undefined });
  }
  return [...entries.values()];
}

async function insertEntries(transaction: Transaction<Tables>, entries: readonly OwnedEntry[]): Promise<void> {
  const rows = entries.flatMap(({ owner, place, fence, ...request }) =>
    slotsOf(request).map((slot) => ({
      ticket: request.ticket,
      slot,
      owner,
      place,
      fence: fence ?? null,
      request: JSON.stringify(request),
    })),
  );
  for (let from = 0; from < rows.length; from += INSERT_BATCH_SIZE)
    await transaction
      .insertInto("haft_lease")
      .values(rows.slice(from, from + INSERT_BATCH_SIZE))
      .execute();
}
