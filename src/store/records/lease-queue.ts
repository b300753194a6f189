/** Decides which lease requests can be granted. Uses the same tree as the locks of one process, filled in the order of the queue. */
import { pushAll } from "../../core/collections/push-all.ts";
import { createHash } from "node:crypto";
import type { LeaseRequest } from "../../core/store/lease-store.ts";
import { ResourceTree, type Claim } from "../../core/resources/resource-tree.ts";
import { addTo } from "../../core/base/add-to.ts";

/** A lease request in the queue. */
export interface LeaseQueueEntry extends LeaseRequest {
  /** Place in the queue: the earlier of two conflicting requests has the lower one. */
  readonly place: number;
  readonly fence: number | undefined;
}

/** Number of rows shared by the roots of all keys, to bound the table. Roots in one row wait only for each other's transactions. */
const SLOTS = 1_024;
/** Maximum number of blocking calls that are named. */
const MAX_NAMED = 20;

/** The slots (rows) of a request's keys, distinct and ascending. Transactions that lock them in this order cannot deadlock. */
export function slotsOf({ reads, writes, limit }: LeaseRequest): readonly number[] {
  const names = limit === undefined ? [...reads, ...writes].map(rootOf) : [`limit ${limit.name}`];
  return [...new Set([...new Set(names)].map(slotOf))].toSorted((one, other) => one - other);
}

function rootOf(key: string): string {
  const end = key.indexOf("/");
  return end < 0 ? key : key.slice(0, end);
}

function slotOf(name: string): number {
  return createHash("sha256").update(name).digest().readUInt32BE(0) % SLOTS;
}

/** The queue of lease requests, with the requests that block each. */
export class LeaseQueue {
  readonly entries: readonly LeaseQueueEntry[];
  readonly #tree = new ResourceTree();
  readonly #claims = new Map<string, Claim>();
  readonly #byClaim = new Map<Claim, LeaseQueueEntry>();
  readonly #byLimit = new Map<string, LeaseQueueEntry[]>();

  constructor(entries: readonly LeaseQueueEntry[]) {
    this.entries = entries.toSorted(compareEntries);
    for (const [sequence, entry] of this.entries.entries()) this.#enter(entry, sequence);
  }

  /** Whether no request blocks it. */
  isUnblocked(entry: LeaseQueueEntry): boolean {
    if (entry.limit === undefined) return this.#claims.get(entry.ticket)?.blockedHolds === 0;
    return this.#entriesBefore(entry).length < entry.limit.most;
  }

  /** The requests that block it, in the order of the queue. */
  blockers(entry: LeaseQueueEntry, most: number = MAX_NAMED): readonly LeaseQueueEntry[] {
    if (entry.fence !== undefined || this.isUnblocked(entry)) return [];
    if (entry.limit !== undefined) return this.#entriesBefore(entry).slice(0, most);
    const claim = this.#claims.get(entry.ticket);
    const found = claim === undefined ? [] : this.#tree.blockersOf(claim, most);
    return found.flatMap((other) => this.#byClaim.get(other) ?? []);
  }

  /** Whether a request waits, directly or indirectly, for the call that it was made in. Searches the whole queue. */
  isInCycle(entry: LeaseQueueEntry): boolean {
    const waiting = Map.groupBy(
      this.entries.filter(({ fence }) => fence === undefined),
      ({ within }) => within,
    );
    const seen = new Set<string>();
    const open = this.blockers(entry, Infinity).map(({ within }) => within);
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (next === entry.within) return true;
      if (seen.has(next)) continue;
      seen.add(next);
      for (const other of waiting.get(next) ?? [])
        pushAll(
          open,
          this.blockers(other, Infinity).map(({ within }) => within),
        );
    }
    return false;
  }

  #enter(entry: LeaseQueueEntry, sequence: number): void {
    const { limit } = entry;
    if (limit !== undefined) {
      const name = limitName(limit);
      addTo(this.#byLimit, name, entry);
      return;
    }
    const { callId: owner, reads, writes, commutative } = entry;
    const claim: Claim = { owner, reads, writes, commutative, sequence, onUnblocked() {}, blockedHolds: 0, firstHold: undefined };
    this.#claims.set(entry.ticket, claim);
    this.#byClaim.set(claim, entry);
    this.#tree.add(claim);
  }

  #entriesBefore(entry: LeaseQueueEntry): readonly LeaseQueueEntry[] {
    const line = entry.limit === undefined ? [] : (this.#byLimit.get(limitName(entry.limit)) ?? []);
    return line.slice(0, line.indexOf(entry));
  }
}

/** The same name with a different maximum is a separate limit. */
function limitName({ name, most }: { readonly name: string; readonly most: number }): string {
  return `${most} ${name}`;
}

/** Orders requests that hold a lease or overtake before those that wait. */
function compareEntries(one: LeaseQueueEntry, other: LeaseQueueEntry): number {
  return rank(one) - rank(other) || one.place - other.place;
}

function rank({ fence, overtakes }: LeaseQueueEntry): number {
  return fence !== undefined || overtakes ? 0 : 1;
}
