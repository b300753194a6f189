/** Finds the locks and slots of the callers of a nested call, and borrows them for it. */
import { isSameOrInside, type LockKeys } from "../../core/resources/effects.ts";
import { ToolError } from "../../core/error.ts";
import type { LockRequest, LockTicket, Locks } from "../../core/resources/locks.ts";
import type { SlotLimit } from "../../core/resources/slots.ts";
import { isAdmitted, lockKeysOf, type AdmittedCall, type CallRun } from "../call-run.ts";
import { isScopedSessionKey } from "../admit/resolve-effects.ts";
import {
  LeasedTicket,
  LentSlot,
  LentTicket,
  NestedTicket,
  lendersOf,
  limitOf,
  nestedQueues,
  type HeldSlot,
  type RequestedShare,
} from "./lent-resources.ts";

/** An outer call that holds locks or waits for them. */
interface Holder {
  readonly run: AdmittedCall;
  readonly ticket: LockTicket;
  readonly keys: LockKeys;
}

interface Access {
  readonly mode: "reads" | "writes";
  readonly key: string;
  readonly commutative: boolean;
}

type Share = { readonly [Mode in Access["mode"]]: string[] };

/**
 * Requests the locks of a nested call.
 *
 * Each key is lent by the nearest caller that holds it in the same mode or a stronger one; other keys are requested from the locks themselves.
 * Returns an error if a caller holds a key in a weaker mode: the caller waits for this call, so this call would wait for itself.
 */
export function borrowLocks(run: AdmittedCall): LockTicket | ToolError {
  const { locks } = run.services;
  const { reads, writes, commutative } = lockKeysOf(run);
  const holders = listOuterHolders(run);
  if (holders.length === 0) return locks.request({ owner: run.callId, reads, writes, commutative });
  const shares = new Map<Holder | undefined, Share>();
  const wanted: readonly Access[] = [
    ...writes.map((key) => ({ mode: "writes", key, commutative }) as const),
    ...reads.map((key) => ({ mode: "reads", key, commutative: false }) as const),
  ];
  for (const access of wanted) {
    const nearest = holders.find((holder) => lends(holder, access) || excludes(holder.keys, access));
    if (nearest !== undefined && !lends(nearest, access)) return weakLockError(run, nearest.run, access);
    const share = shares.get(nearest) ?? { reads: [], writes: [] };
    shares.set(nearest, share);
    share[access.mode].push(access.key);
  }
  return requestShares(shares, { run, holders, request: { owner: run.callId, reads, writes, commutative } });
}

/** Requests each share. If a request throws, the earlier ones are released: a lent lock that is not released would be held for good. */
function requestShares(shares: ReadonlyMap<Holder | undefined, Share>, { run, holders, request }: Borrower): LockTicket {
  const requested: ReturnType<typeof borrowFrom>[] = [];
  try {
    for (const [lender, share] of shares) requested.push(borrowFrom(lender, { run, holders, request: { ...request, ...share } }));
    return new NestedTicket(requested);
  } catch (thrown: unknown) {
    for (const { ticket } of requested) ticket.release();
    throw thrown;
  }
}

/**
 * Adds a lease to the locks of a call of a shared toolset.
 *
 * Keys that a caller's lease holds are covered by it; no other process uses session keys.
 */
export function addLease(run: AdmittedCall, ticket: LockTicket, leases: Locks): LockTicket {
  const { reads, writes, commutative } = lockKeysOf(run);
  const holders = run.callerRun === undefined ? [] : listOuterHolders(run).filter((holder) => holder.run.plan.isShared);
  const lent = new Set<LockTicket>();
  const isOwn = (mode: Access["mode"], key: string): boolean => {
    if (isScopedSessionKey(key)) return false;
    const lender = holders.find((holder) => lends(holder, { mode, key, commutative: mode === "writes" && commutative }));
    if (lender !== undefined) lent.add(lender.ticket);
    return lender === undefined;
  };
  const own = { reads: reads.filter((key) => isOwn("reads", key)), writes: writes.filter((key) => isOwn("writes", key)) };
  const isCovered = own.reads.length + own.writes.length === 0;
  if (isCovered && lent.size === 0) return ticket;
  const within = holders.at(-1)?.run.callId ?? run.callId;
  const request = { owner: run.callId, ...own, commutative, overtakes: holders.length > 0, within };
  return new LeasedTicket(ticket, isCovered ? undefined : () => leases.request(request), [...lent]);
}

interface Borrower {
  readonly run: AdmittedCall;
  readonly holders: readonly Holder[];
  readonly request: LockRequest;
}

function borrowFrom(lender: Holder | undefined, { run, holders, request }: Borrower): RequestedShare {
  const ticket = lender === undefined ? undefined : toLentTicket(lender);
  const locks = ticket?.nestedLocks ?? run.services.locks;
  const overtakes = holders.some((holder) => queuesOf(holder).includes(locks));
  const lenders = lender === undefined ? [] : [lender.run.callId, ...lendersOf(lender.ticket)];
  return { queue: locks, ticket: (ticket ?? locks).request({ ...request, overtakes }), lenders };
}

function toLentTicket({ run, ticket }: Holder): LentTicket {
  const lent = ticket instanceof LentTicket ? ticket : new LentTicket(ticket);
  run.ticket = lent;
  return lent;
}

/** The lock queues in which an outer call waits. */
function queuesOf({ run, ticket }: Holder): readonly Locks[] {
  return nestedQueues(ticket) ?? [run.services.locks];
}

/** The outer calls with locks, nearest first. */
function listOuterHolders(run: CallRun): readonly Holder[] {
  const holders: Holder[] = [];
  for (let outer = run.callerRun; outer !== undefined; outer = outer.callerRun) {
    const { ticket } = outer;
    if (ticket !== undefined && outer.services.locks === run.services.locks && isAdmitted(outer))
      holders.push({ run: outer, ticket, keys: lockKeysOf(outer) });
  }
  return holders;
}

function lends({ ticket, keys }: Holder, { mode, key, commutative }: Access): boolean {
  if (!ticket.granted) return false;
  if ((!keys.commutative || commutative) && keys.writes.some((held) => isSameOrInside(key, held))) return true;
  return mode === "reads" && keys.reads.some((held) => isSameOrInside(key, held));
}

function excludes(keys: LockKeys, { mode, key, commutative }: Access): boolean {
  const overlaps = (held: string): boolean => isSameOrInside(key, held) || isSameOrInside(held, key);
  if (!(keys.commutative && commutative) && keys.writes.some(overlaps)) return true;
  return mode === "writes" && keys.reads.some(overlaps);
}

function weakLockError(run: AdmittedCall, outer: AdmittedCall, { mode, key }: Access): ToolError {
  const declare = run.effects.undeclared
    ? `Declare the effects of ${run.toolName}: without them it writes all of its toolset.`
    : `Declare that ${outer.toolName} ${mode} it as well.`;
  return new ToolError(
    "resource_busy",
    `${run.toolName} ${mode} ${key}, which ${outer.toolName} holds: that call made this one, and ends after it.`,
    { retryable: false, outcome: "not_started", hint: "Make this call on its own.", operatorHint: declare },
  );
}

/** Returns the slot of this limit that the nearest caller with one lends. */
export function findSlotLender(run: CallRun, limit: SlotLimit): LentSlot | undefined {
  for (let outer = run.callerRun; outer !== undefined; outer = outer.callerRun) {
    const { slots } = outer;
    const at = slots?.findIndex((slot) => limitOf(slot) === limit) ?? -1;
    const slot = slots?.[at];
    if (slots === undefined || slot === undefined) continue;
    const lent = slot instanceof LentSlot ? slot : new LentSlot(slot);
    outer.slots = slots.with(at, lent);
    return lent;
  }
  return undefined;
}

/** Like `findSlotLender`, for the slots of background jobs. */
export function findJobSlotLender(run: CallRun): LentSlot | undefined {
  for (let outer = run.callerRun; outer !== undefined; outer = outer.callerRun) {
    const slot: HeldSlot | undefined = outer.jobSlot;
    if (slot === undefined || outer.services.jobs !== run.services.jobs) continue;
    const lent = slot instanceof LentSlot ? slot : new LentSlot(slot);
    outer.jobSlot = lent;
    return lent;
  }
  return undefined;
}
