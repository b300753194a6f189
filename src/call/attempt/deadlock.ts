/** Finds deadlocks before they happen: a wait that could not end, because the calls it waits for wait, directly or not, for the waiting call. */
import { deadlocks, isTurnAwaited, listTurnWaits, type TurnWait } from "../../session/turn-waits.ts";
import { CallRun, type CallServices } from "../call-run.ts";
import { BorrowedSlot, LentSlot, lendersOf, type HeldSlot } from "./lent-resources.ts";
import { findSoleCall } from "../context/call-tree.ts";
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
  /** The flight of an equal call that it waits for; without it, it would run by itself. */
  readonly flight: CallRun["awaitedFlight"];
}

/** A call, or handler code that waits for a turn of another session. Undefined for a call that has ended. */
type WaitingCode = CallRun | TurnWait;
type KnownWait = readonly [id: string, waiting: WaitingCode | undefined];

deadlocks.isClosedBy = turnWouldDeadlock;

/**
 * Whether a call that begins to wait for its locks or its slot closes a cycle of waits.
 *
 * A call is assumed to wait for every waiting call that its handler made, except background jobs, and for the turns that its handler waits for. A
 * turn ends when its calls, and the other waits of its code, have ended.
 */
export function wouldDeadlock(run: CallRun): boolean {
  if (run.callerRun === undefined && !mayBeWaitedFor(run)) return false;
  return wouldCloseCycle(run, run.services);
}

/** Like `wouldDeadlock`, for a handler that begins to wait for a turn. */
function turnWouldDeadlock(wait: TurnWait): boolean {
  const caller = findOuterCall(wait);
  if (caller === undefined || !(holdsAnything(caller) || mayTurnBeWaitedFor(wait, caller))) return false;
  return wouldCloseCycle(wait, caller.services);
}

/**
 * Whether anything can wait for the turns of the waiting code, or of the calls that it is nested in. These may be others: a call in a session whose
 * turn runs further out joins that turn, and its handler is no longer part of the turn between.
 */
function mayTurnBeWaitedFor({ turns, queue: awaited }: TurnWait, caller: CallRun): boolean {
  if (turns.some(({ queue }) => isTurnAwaited(queue))) return true;
  for (let outer: CallRun | undefined = caller; outer !== undefined; outer = outer.callerRun) {
    const queue = outer.turn.running?.queue;
    if (queue === awaited || isTurnAwaited(queue)) return true;
  }
  return false;
}

/** Whether anything can wait for this call. A call that is not nested is last in the queue for its first lock: only its turn can be waited for. */
function mayBeWaitedFor({ services, turn, awaitedSlot }: CallRun): boolean {
  if (awaitedSlot !== undefined) return services.nestedWaits.size > 0 || listTurnWaits().size > 0;
  return isTurnAwaited(turn.running?.queue);
}

function holdsAnything(caller: CallRun): boolean {
  for (let outer: CallRun | undefined = caller; outer !== undefined; outer = outer.callerRun) if (outer.holdsAnything) return true;
  return false;
}

/** Calls that wait for equal calls are let go if that opens the cycle. */
function wouldCloseCycle(waiting: WaitingCode, services: CallServices): boolean {
  const waits = collectWaits(waiting, services);
  if (waits === undefined || findEndingCalls(waits).has(idOf(waiting))) return false;
  const flights = [...waits].flatMap(([id, { flight }]) => (flight === undefined || id === idOf(waiting) ? [] : [flight]));
  if (flights.length === 0) return true;
  for (const flight of flights) flight.end();
  return wouldCloseCycle(waiting, services);
}

function idOf(waiting: WaitingCode): string {
  return waiting instanceof CallRun ? waiting.callId : waiting.id;
}

/** The calls and turns that can still end. */
function findEndingCalls(waits: ReadonlyMap<string, Wait>): ReadonlySet<string> {
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
function collectWaits(first: WaitingCode, services: CallServices): ReadonlyMap<string, Wait> | undefined {
  const nesting = {
    waitingByCall: groupByOuterCall(new Set([first, ...services.nestedWaits, ...listTurnWaits()])),
    borrowersByCall: groupBorrowers(services),
  };
  const waits = new Map<string, Wait>();
  const open: KnownWait[] = [[idOf(first), first]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [id, one] = next;
    if (waits.has(id)) continue;
    if (waits.size >= MAX_CALLS) return undefined;
    const all: KnownWait[] =
      one === undefined || one instanceof CallRun ? listWaitedBy([id, one], services, nesting) : listWaitedByTurn(one, services);
    const slots = one instanceof CallRun ? groupSlotHolders(one) : [];
    const flight = one instanceof CallRun && one.awaitedFlight?.hasEnded === false ? one.awaitedFlight : undefined;
    if (flight?.leader instanceof CallRun) all.push([flight.leader.callId, flight.leader]);
    waits.set(id, { all: all.map(([callId]) => callId), any: slots.map((group) => group.map(({ callId }) => callId)), flight });
    for (const waited of all) open.push(waited);
    for (const other of slots.flat()) open.push([other.callId, other]);
  }
  return waits;
}

/** The calls and turns that depend on each call, by its id. */
interface Nesting {
  /** The waiting calls and turns that are nested in it, except for background jobs and what is nested in these. */
  readonly waitingByCall: ReadonlyMap<string, readonly WaitingCode[]>;
  /** The calls that its locks are lent to, waiting or not. */
  readonly borrowersByCall: ReadonlyMap<string, readonly CallRun[]>;
}

/** The calls and turns that a call waits for, except for slots. */
function listWaitedBy(
  [id, one]: readonly [id: string, run: CallRun | undefined],
  { running }: CallServices,
  { waitingByCall, borrowersByCall }: Nesting,
): KnownWait[] {
  const owners = one?.ticket?.granted === false ? one.ticket.waitingFor(MAX_OWNERS).filter((owner) => owner !== id) : [];
  const all: KnownWait[] = (waitingByCall.get(id) ?? []).map((other) => [idOf(other), other]);
  for (const owner of owners) {
    all.push([owner, running.get(owner)]);
    // They may hold the owner's locks longer than the owner runs, whether they wait or their code does.
    for (const borrower of borrowersByCall.get(owner) ?? []) all.push([borrower.callId, borrower]);
  }
  return all;
}

/** The calls of the turns that run in this queue, and the waits of the turns' own code. */
function listWaitedByTurn({ queue }: TurnWait, { running }: CallServices): KnownWait[] {
  const all: KnownWait[] = [];
  for (const run of running.all()) if (queue.isRunning(run.turn.running) && !hasLeftTurn(run)) all.push([run.callId, run]);
  for (const wait of listTurnWaits()) if (wait.turns.some((turn) => queue.isRunning(turn))) all.push([wait.id, wait]);
  return all;
}

/** Whether the call, or one around it in the same turn, has become a background job, which its turn does not wait for. */
function hasLeftTurn(run: CallRun): boolean {
  let outer: CallRun | undefined = run;
  for (; outer !== undefined && outer.turn.running === run.turn.running; outer = outer.callerRun)
    if (outer.detachedTurn !== undefined) return true;
  return false;
}

/** The waiting calls and turns, grouped by each call that they are nested in. A background job is not waited for by the calls around it. */
function groupByOuterCall(waiting: ReadonlySet<WaitingCode>): Nesting["waitingByCall"] {
  const waitingByCall = new Map<string, WaitingCode[]>();
  for (const one of waiting) {
    let inner = one instanceof CallRun ? one : undefined;
    for (let outer = findOuterCall(one); outer !== undefined && inner?.job === undefined; outer = outer.callerRun) {
      addTo(waitingByCall, outer.callId, one);
      inner = outer;
    }
  }
  return waitingByCall;
}

function groupBorrowers({ running }: CallServices): Nesting["borrowersByCall"] {
  const borrowersByCall = new Map<string, CallRun[]>();
  for (const run of running.all()) for (const lender of lendersOf(run.ticket)) addTo(borrowersByCall, lender, run);
  return borrowersByCall;
}

function findOuterCall(waiting: WaitingCode): CallRun | undefined {
  if (waiting instanceof CallRun) return waiting.callerRun;
  const caller = waiting.findWaitingCall?.(findSoleCall);
  return caller instanceof CallRun ? caller : undefined;
}

/** A slot whose release does not depend on the calls here: of an abandoned handler, another runtime or process, or a call that got it just now. */
const HELD_ELSEWHERE: readonly CallRun[] = [];

/** The calls that use a slot of the awaited limit, grouped by slot: a lent slot is released when the last of them has ended. */
function groupSlotHolders({ awaitedSlot, services, plan }: CallRun): readonly (readonly CallRun[])[] {
  if (awaitedSlot === undefined) return [];
  const groups = new Map<object, CallRun[]>();
  for (const run of services.running.all())
    for (const slot of run.slots ?? []) {
      const shared = findSharedSlot(slot, awaitedSlot);
      if (shared === undefined) continue;
      const key = slot === awaitedSlot ? run : shared; // not lent: each call has its own slot of the limit
      addTo(groups, key, run);
    }
  const count = plan?.slotCounts[plan.limits.findIndex((limit) => limit === awaitedSlot)] ?? 0;
  return groups.size < count ? [...groups.values(), HELD_ELSEWHERE] : [...groups.values()];
}

/** The object that all users of a slot of the awaited limit share; the slot itself if it was not lent. Undefined for slots of other limits. */
function findSharedSlot(slot: HeldSlot, awaited: object): object | undefined {
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
