/** Finds deadlocks before they happen: a wait that could not end, because the calls it waits for wait, directly or not, for the waiting call. */
import { deadlocks, isTurnAwaited, turnWaits, type TurnWait } from "../../session/turn-waits.ts";
import { CallRun, type CallParts } from "../call-run.ts";
import { BorrowedSlot, LentSlot, LentTicket, nestedLines, type HeldSlot } from "./lent-hold.ts";
import { soleOf } from "../context/call-tree.ts";
import { addTo } from "../../core/base/add-to.ts";

/** Maximum number of owners checked per wait, and of calls in all. A larger cycle is not found; it ends at a deadline. */
const MAX_OWNERS = 1_000;
const MAX_CALLS = 10_000;

/** The wait of a call, or of a turn that is waited for, by its id. A call that has ended still counts if it lent locks or slots. */
interface Wait {
  /** All of these must end. */
  readonly all: readonly string[];
  /** And, if there are any groups, all of at least one group. */
  readonly any: readonly (readonly string[])[];
}

/** A call, or handler code that waits for a turn of another session. Undefined for a call that has ended. */
type Waiting = CallRun | TurnWait;
type Known = readonly [id: string, waiting: Waiting | undefined];

deadlocks.closedBy = turnWouldDeadlock;

/**
 * Whether a call that begins to wait for its locks or its slot closes a cycle of waits.
 *
 * A call is assumed to wait for every waiting call that its handler made, except background jobs, and for the turns that its handler waits for. A
 * turn ends when its calls, and the other waits of its code, have ended.
 */
export function wouldDeadlock(run: CallRun): boolean {
  if (run.madeBy === undefined && !mayBeWaitedFor(run)) return false;
  return closesCycle(run, run.parts);
}

/** Like `wouldDeadlock`, for a handler that begins to wait for a turn. */
function turnWouldDeadlock(wait: TurnWait): boolean {
  const caller = outerCall(wait);
  if (caller === undefined || (!holdsAnything(caller) && !wait.turns.some(({ queue }) => isTurnAwaited(queue)))) return false;
  return closesCycle(wait, caller.parts);
}

/** Whether anything can wait for this call. A call that is not nested is last in the queue for its first lock: only its turn can be waited for. */
function mayBeWaitedFor({ parts, turn, awaitedSlot }: CallRun): boolean {
  if (awaitedSlot !== undefined) return parts.nestedWaits.size > 0 || turnWaits().size > 0;
  return isTurnAwaited(turn.running?.queue);
}

function holdsAnything(caller: CallRun): boolean {
  for (let around: CallRun | undefined = caller; around !== undefined; around = around.madeBy) if (around.holdsAnything) return true;
  return false;
}

function closesCycle(waiting: Waiting, parts: CallParts): boolean {
  const waits = waitsFrom(waiting, parts);
  return waits !== undefined && !endingCalls(waits).has(idOf(waiting));
}

function idOf(waiting: Waiting): string {
  return waiting instanceof CallRun ? waiting.callId : waiting.id;
}

/** The calls and turns that can still end. */
function endingCalls(waits: ReadonlyMap<string, Wait>): ReadonlySet<string> {
  const ending = new Set<string>();
  const ends = (id: string): boolean => ending.has(id);
  const lastFirst = [...waits].toReversed(); // last first: a wait is found before the waits it depends on
  for (let before = -1; before < ending.size;) {
    before = ending.size;
    for (const [id, { all, any }] of lastFirst)
      if (!ending.has(id) && all.every(ends) && (any.length === 0 || any.some((group) => group.every(ends)))) ending.add(id);
  }
  return ending;
}

/** Every wait that this one depends on; undefined if there are too many. */
function waitsFrom(first: Waiting, parts: CallParts): ReadonlyMap<string, Wait> | undefined {
  const inside = waitingInside(new Set([first, ...parts.nestedWaits, ...turnWaits()]));
  const waits = new Map<string, Wait>();
  const open: Known[] = [[idOf(first), first]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [id, one] = next;
    if (waits.has(id)) continue;
    if (waits.size >= MAX_CALLS) return undefined;
    const all = one === undefined || one instanceof CallRun ? waitedBy([id, one], parts, inside) : waitedByTurn(one, parts);
    const slots = one instanceof CallRun ? holdersOf(one) : [];
    waits.set(id, { all: all.map(([callId]) => callId), any: slots.map((group) => group.map(({ callId }) => callId)) });
    for (const waited of all) open.push(waited);
    for (const other of slots.flat()) open.push([other.callId, other]);
  }
  return waits;
}

type Inside = ReadonlyMap<string, readonly Waiting[]>;

/** The calls and turns that a call waits for, except for slots. */
function waitedBy([id, one]: readonly [id: string, run: CallRun | undefined], { running }: CallParts, inside: Inside): readonly Known[] {
  const below = (inside.get(id) ?? []).filter((other) => !isJob(other) || one === undefined);
  const owners = one?.ticket?.granted === false ? one.ticket.waitingFor(MAX_OWNERS).filter((owner) => owner !== id) : [];
  const all: Known[] = below.map((other) => [idOf(other), other]);
  for (const owner of owners) {
    const holding = running.get(owner);
    all.push([owner, holding]);
    // Background jobs that borrowed the owner's locks may hold them longer than the owner runs.
    for (const other of inside.get(owner) ?? []) if (isJob(other) && borrows(other, holding)) all.push([other.callId, other]);
  }
  return all;
}

function isJob(waiting: Waiting): waiting is CallRun {
  return waiting instanceof CallRun && waiting.job !== undefined;
}

/** The calls of the turns that run in this queue, and the waits of the turns' own code. */
function waitedByTurn({ queue }: TurnWait, { running }: CallParts): readonly Known[] {
  const all: Known[] = [];
  for (const run of running.all()) if (run.turn.running?.queue === queue && run.beside === undefined) all.push([run.callId, run]);
  for (const wait of turnWaits()) if (wait.turns.some((turn) => turn.queue === queue && !turn.over)) all.push([wait.id, wait]);
  return all;
}

function borrows({ ticket }: CallRun, lender: CallRun | undefined): boolean {
  return lender?.ticket instanceof LentTicket && nestedLines(ticket)?.includes(lender.ticket.inside) === true;
}

/** The waiting calls and turns, grouped by each call that they are nested in. */
function waitingInside(waiting: ReadonlySet<Waiting>): Inside {
  const inside = new Map<string, Waiting[]>();
  for (const one of waiting)
    for (let around = outerCall(one); around !== undefined; around = around.madeBy) {
      addTo(inside, around.callId, one);
      if (!(one instanceof CallRun) && around.job !== undefined) break; // a background job is not waited for
    }
  return inside;
}

function outerCall(waiting: Waiting): CallRun | undefined {
  if (waiting instanceof CallRun) return waiting.madeBy;
  const caller = waiting.callAround?.(soleOf);
  return caller instanceof CallRun ? caller : undefined;
}

/** A slot whose release does not depend on the calls here: of an abandoned handler, another runtime or process, or a call that got it just now. */
const HELD_ELSEWHERE: readonly CallRun[] = [];

/** The calls that use a slot of the awaited limit, grouped by slot: a lent slot is released when the last of them has ended. */
function holdersOf({ awaitedSlot, parts, plan }: CallRun): readonly (readonly CallRun[])[] {
  if (awaitedSlot === undefined) return [];
  const groups = new Map<object, CallRun[]>();
  for (const run of parts.running.all())
    for (const slot of run.slots ?? []) {
      const shared = sharedIn(slot, awaitedSlot);
      if (shared === undefined) continue;
      const key = slot === awaitedSlot ? run : shared; // not lent: each call has its own slot of the limit
      addTo(groups, key, run);
    }
  const count = plan?.slotCounts[plan.limits.findIndex((limit) => limit === awaitedSlot)] ?? 0;
  return groups.size < count ? [...groups.values(), HELD_ELSEWHERE] : [...groups.values()];
}

/** The object that all users of a slot of the awaited limit share; the slot itself if it was not lent. Undefined for slots of other limits. */
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
