/** Whether a wait could never end, because those who are waited for wait in the end for the one that waits. */
import type { CallRun } from "./call-run.ts";
import { BorrowedSlot, LentSlot, LentTicket, nestedLines, type HeldSlot } from "./lent-hold.ts";

/** Most owners looked at of each wait, and most calls in all; a circle that is larger ends with a deadline. */
const MAX_OWNERS = 1_000;
const MAX_CALLS = 10_000;

/** A call, by its id: one that has ended may still have lent what it held. */
interface Wait {
  /** It continues when all of these do. */
  readonly all: readonly string[];
  /** And, where there are any, all of one of these groups. */
  readonly any: readonly (readonly string[])[];
}

/**
 * True where a call that begins to wait for its locks or its slot closes a circle.
 *
 * A call is taken to wait for every call that its handler made and that waits itself, but for background jobs.
 */
export function waitsForItself(run: CallRun): boolean {
  const { nestedWaits } = run.parts;
  if (run.madeBy === undefined && nestedWaits.size === 0) return false; // those that wait hold nothing that is waited for
  const waits = waitsFrom(run, waitingInside([run, ...nestedWaits]));
  return waits !== undefined && !endingCalls(waits).has(run.callId);
}

/** Those that can still end. */
function endingCalls(waits: ReadonlyMap<string, Wait>): ReadonlySet<string> {
  const ending = new Set<string>();
  const ends = (id: string): boolean => !waits.has(id) || ending.has(id);
  const lastFirst = [...waits].toReversed(); // those that are waited for were found after those that wait
  for (let before = -1; before < ending.size;) {
    before = ending.size;
    for (const [id, { all, any }] of lastFirst)
      if (!ending.has(id) && all.every(ends) && (any.length === 0 || any.some((group) => group.every(ends)))) ending.add(id);
  }
  return ending;
}

/** Every wait that this one depends on; undefined where there are too many. */
function waitsFrom(run: CallRun, inside: ReadonlyMap<string, readonly CallRun[]>): ReadonlyMap<string, Wait> | undefined {
  const waits = new Map<string, Wait>();
  const open: (readonly [id: string, run: CallRun | undefined])[] = [[run.callId, run]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [id, one] = next;
    if (waits.has(id)) continue;
    if (waits.size >= MAX_CALLS) return undefined;
    const below = (inside.get(id) ?? []).filter((other) => other.job === undefined || one === undefined);
    const owners = one?.ticket?.granted === false ? one.ticket.waitingFor(MAX_OWNERS).filter((owner) => owner !== id) : [];
    const slots = one === undefined ? [] : holdersOf(one);
    const all: (readonly [id: string, run: CallRun | undefined])[] = below.map((other) => [other.callId, other]);
    for (const owner of owners) {
      const holding = run.parts.running.get(owner);
      all.push([owner, holding]);
      // Its locks may be held longer than it runs, by background jobs that they were lent to.
      for (const other of inside.get(owner) ?? []) if (other.job !== undefined && borrows(other, holding)) all.push([other.callId, other]);
    }
    waits.set(id, { all: all.map(([callId]) => callId), any: slots.map((group) => group.map(({ callId }) => callId)) });
    for (const waited of all) open.push(waited);
    for (const other of slots.flat()) open.push([other.callId, other]);
  }
  return waits;
}

function borrows({ ticket }: CallRun, lender: CallRun | undefined): boolean {
  return lender?.ticket instanceof LentTicket && nestedLines(ticket)?.includes(lender.ticket.inside) === true;
}

/** The calls that wait, by each call that they were made inside of. */
function waitingInside(waiting: readonly CallRun[]): ReadonlyMap<string, readonly CallRun[]> {
  const inside = new Map<string, CallRun[]>();
  for (const run of waiting)
    for (let around = run.madeBy; around !== undefined; around = around.madeBy) {
      const known = inside.get(around.callId);
      if (known === undefined) inside.set(around.callId, [run]);
      else known.push(run);
    }
  return inside;
}

/** The calls that use a slot of those that this one waits for, by slot: one that was lent is given back when the last of them has ended. */
function holdersOf({ awaitedSlot, parts }: CallRun): readonly (readonly CallRun[])[] {
  if (awaitedSlot === undefined) return [];
  const groups = new Map<object, CallRun[]>();
  for (const run of parts.running.all())
    for (const slot of run.slots ?? []) {
      const shared = sharedIn(slot, awaitedSlot);
      if (shared === undefined) continue;
      const key = slot === awaitedSlot ? run : shared; // not lent: each call has a slot of the limit
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [run]);
      else group.push(run);
    }
  return [...groups.values()];
}

/** Of a slot of the awaited ones: the object that all have who share it; the slot itself where it was not lent. Undefined for other slots. */
function sharedIn(slot: HeldSlot, awaited: object): object | undefined {
  let one = slot;
  let shared: HeldSlot | undefined;
  for (;;) {
    if (one instanceof LentSlot) {
      shared = one;
      one = one.slot;
    } else if (one instanceof BorrowedSlot) {
      if (one.lender === awaited) return awaited;
      one = one.lender;
    } else return one === awaited ? (shared ?? slot) : undefined;
  }
}
