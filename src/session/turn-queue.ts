/** The turns of one session: they run one after the other, except those that may run concurrently. */
import { Fifo } from "../core/collections/fifo.ts";
import { AsyncLocalStorage } from "node:async_hooks";
import { onAbort } from "../core/base/on-abort.ts";
import { runInContext } from "./run-in-context.ts";
import { SmallSet } from "./small-set.ts";
import { removeTurnWait, deadlocks, createTurnWait, addTurnWait, turnDeadlockError } from "./turn-waits.ts";

/** The place of the current code: it distinguishes the calls of a handler from other calls. */
const CURRENT_PLACE = new AsyncLocalStorage<Place>();

/** A call of a turn, as far as calls made by its handler need it. */
export interface TurnCall {
  readonly callId: string;
  /** The turn that the call is part of. */
  readonly turn: object;
  /** Why the call's message was voided, or its batch rolled back; undefined if neither happened. */
  readonly revokedReason: string | undefined;
  /** The call or turn with which the call can still be taken back: itself while its batch or message is incomplete. */
  readonly takenBackWith: object | undefined;
  /** The separate turn for the calls of its handler once the call has left its turn (see `TurnQueue.createDetachedTurn`). */
  readonly detachedTurn: RunningTurn | undefined;
}

/** The place of code in the handler of a call. */
class HandlerPlace {
  readonly turn: RunningTurn;
  readonly call: TurnCall;

  constructor(turn: RunningTurn, call: TurnCall) {
    this.turn = turn;
    this.call = call;
  }
}

/** The place of code called by a turn: in the handler of one of its calls, or outside of any. */
type Place = RunningTurn | HandlerPlace;

export interface RunningTurn {
  readonly queue: TurnQueue;
  /** The place, in a turn of another session, where this turn was started. */
  readonly outer: Place | undefined;
  /** The queues in which code of this turn waits. */
  readonly waitsIn: TurnQueue[];
  /** How many pieces of work of the turn are running: its own, and those that joined it. */
  workCount: number;
  hasEnded: boolean;
  /** Data of the turn's runner. */
  runnerData: object | undefined;
  /** The work that joined; created for the first piece. */
  joinedWork: Set<JoinedWork> | undefined;
  /** The separate turn of a call that has left this turn; the latest, if several have. */
  lastDetachedTurn: RunningTurn | undefined;
}

/** Work requested by a call of a turn. It is part of that turn until the call leaves it; then it moves along. */
interface JoinedWork {
  turn: RunningTurn;
  /** Undefined if the turn has only one call. */
  readonly call: TurnCall | undefined;
}

export interface TurnOptions {
  /** Aborting stops waiting for the turn. */
  readonly signal?: AbortSignal | undefined;
  /** Whether the turn runs concurrently with other concurrent turns; it and non-concurrent turns wait for each other. @default false */
  readonly concurrent?: boolean;
}

/**
 * The work of a turn. Called with its turn (undefined if cancelled while waiting) and the call whose handler requested it, whose turn may be over.
 */
type Work<T> = (turn: RunningTurn | undefined, caller: TurnCall | undefined) => T | Promise<T>;

/** Whether any session was ever a simulation without allowed side effects: if not, the caller need not be determined. */
export const simulations = { inUse: false };

/** Whether any code has ever run in a place: if not, the caller need not be determined. */
export const places = { inUse: false };

/** Whether the current code was called by a simulated turn, even if that turn is over: its calls to other sessions would be real. */
export function isInsideSimulation(): boolean {
  let turn = turnOf(CURRENT_PLACE.getStore());
  while (turn !== undefined && !turn.queue.isSimulation) turn = turnOf(turn.outer);
  return turn !== undefined;
}

/** Runs the handler of a call, so that calls it makes in the same session are attributed to this call. */
export function runAsHandler<T>(turn: RunningTurn, call: TurnCall, work: () => T): T {
  places.inUse = true;
  return runInContext(CURRENT_PLACE, new HandlerPlace(turn, call), work);
}

/** Returns the place of the current code: the call whose handler it is in, if known, and the data of its turn's runner. */
export function currentPlace(): { readonly call: TurnCall | undefined; readonly runnerData: object | undefined } {
  const place = CURRENT_PLACE.getStore();
  return { call: place instanceof HandlerPlace ? place.call : undefined, runnerData: turnOf(place)?.runnerData };
}

/**
 * Returns the call whose handler the current code is in, in any session; undefined outside of handlers.
 *
 * @param findSoleCall returns the only call of a turn whose calls are not distinguished, from its runner's data
 * @param from the place of other code than the current
 */
export function findCurrentCall<Sole>(
  findSoleCall: (runnerData: object | undefined) => Sole,
  from = CURRENT_PLACE.getStore(),
): TurnCall | Sole | undefined {
  for (let place: Place | undefined = from; place !== undefined; place = turnOf(place)?.outer) {
    const call = place instanceof HandlerPlace ? place.call : findSoleCall(place.runnerData);
    if (call !== undefined) return call;
  }
  return undefined;
}

/** Creates a place for the handler of a call outside any session's turn. */
export function createPlaceOutsideTurns(runnerData: object): RunningTurn {
  return createTurn({ queue: NO_QUEUE, outer: CURRENT_PLACE.getStore(), workCount: 1, runnerData });
}

function createTurn(fields: Pick<RunningTurn, "queue" | "outer" | "workCount" | "runnerData">): RunningTurn {
  const { queue, outer, workCount, runnerData } = fields;
  return { queue, outer, waitsIn: [], workCount, hasEnded: false, runnerData, joinedWork: undefined, lastDetachedTurn: undefined };
}

function turnOf(place: Place | undefined): RunningTurn | undefined {
  return place instanceof HandlerPlace ? place.turn : place;
}

const NO_OPTIONS: TurnOptions = Object.freeze({});

interface WaitingTurn {
  readonly concurrent: boolean;
  start(): void;
}

/** Called when the first turn starts, and when the last one has ended. */
export interface TurnBounds {
  onTurnsStart(): void;
  onTurnsEnd(): void;
}

export class TurnQueue {
  readonly isSimulation: boolean;
  readonly #bounds: TurnBounds;
  /** The running turns; several only while all of them are concurrent. */
  readonly #running = new SmallSet<RunningTurn>();
  #areConcurrent = false;
  #waiting: Fifo<WaitingTurn> | undefined;
  #isStarting = false;
  /** How many separate turns run (see `createDetachedTurn`). */
  #detachedCount = 0;

  /** @param isSimulation whether its turns have no side effects */
  constructor(bounds: TurnBounds, isSimulation: boolean) {
    this.#bounds = bounds;
    this.isSimulation = isSimulation;
    if (isSimulation) simulations.inUse = true;
  }

  /** Whether a turn is running. */
  get busy(): boolean {
    return this.#running.hasAny;
  }

  /**
   * Runs the work of a turn once all earlier turns that it cannot overlap are over; immediately and synchronously if there are none.
   *
   * Work requested by a handler of a running turn joins that turn: waiting for the turn's end would be a deadlock. Work whose signal aborts while it
   * waits joins too, as it will start nothing. A turn is over when all of its work is.
   */
  run<T>(work: Work<T>, { signal, concurrent = false }: TurnOptions = NO_OPTIONS): T | Promise<T> {
    if (!this.busy && this.#detachedCount === 0) return this.#start(work, concurrent);
    const own = this.#ownPlace;
    if (own !== undefined) return own instanceof HandlerPlace ? this.#join(own.turn, work, own.call) : this.#join(own, work);
    const isNext = this.#waiting === undefined || this.#waiting.length === 0;
    return isNext && this.#mayStart(concurrent) ? this.#start(work, concurrent) : this.#wait(work, signal, concurrent);
  }

  /**
   * Creates a separate turn for a call that outlives its own: calls of its handler in this session join it, and no other turn waits for it.
   *
   * @param from the turn that the call has left while it ran
   * @param isOfCall whether work requested by a call of that turn belongs to the leaving call, and moves with it
   */
  createDetachedTurn(runnerData: object, from?: RunningTurn, isOfCall?: (call: TurnCall | undefined) => boolean): RunningTurn {
    const turn = createTurn({ queue: this, outer: undefined, workCount: 1, runnerData });
    this.#detachedCount++;
    if (from === undefined) return turn;
    from.lastDetachedTurn = turn;
    for (const work of from.joinedWork ?? []) if (isOfCall?.(work.call) === true) moveWork(work, turn);
    return turn;
  }

  endDetachedTurn(turn: RunningTurn): void {
    this.#end(turn);
  }

  /** Whether turns that wait here wait for this one; not for the separate turn of a call that has left its turn. */
  isRunning(turn: object | undefined): boolean {
    return this.#running.has(turn);
  }

  /** Resolves when no turn runs or waits. Awaiting it in a handler of the running turn is a deadlock. */
  async whenIdle(): Promise<void> {
    while (this.busy)
      await new Promise<void>((resolve) => this.#enqueue({ concurrent: false, start: () => void this.#start(() => resolve(), false) }));
  }

  /** Whether a running turn called the current code, directly or through another session's turn. */
  get isInside(): boolean {
    return this.#ownPlace !== undefined;
  }

  /** The place of the current code in a running turn of this queue, if any. */
  get #ownPlace(): Place | undefined {
    let place = CURRENT_PLACE.getStore();
    for (
      let turn = turnOf(place);
      turn !== undefined && (turn.queue !== this || turn.hasEnded || detachedTurnOf(place) !== undefined);
      turn = turnOf(place)
    ) {
      const detached = place === undefined ? undefined : this.#findDetachedPlace(place, turn);
      if (detached !== undefined) return detached;
      place = turn.outer;
    }
    return place;
  }

  /** Returns where the code of a call continues that has left its turn, which is over. */
  #findDetachedPlace(place: Place, turn: RunningTurn): Place | undefined {
    const call = place instanceof HandlerPlace ? place.call : undefined;
    const detached = call?.detachedTurn ?? turn.lastDetachedTurn;
    if (detached === undefined || detached.queue !== this || detached.hasEnded) return undefined;
    return call === undefined ? detached : new HandlerPlace(detached, call);
  }

  #mayStart(concurrent: boolean): boolean {
    return !this.busy || (concurrent && this.#areConcurrent);
  }

  #start<T>(work: Work<T>, concurrent: boolean): T | Promise<T> {
    const current = CURRENT_PLACE.getStore();
    let outer = current;
    for (let one = turnOf(outer); one?.hasEnded === true; one = turnOf(outer)) outer = one.outer;
    // Code of a handler that continues after its turn is not part of the new turn, but its call may have been taken back.
    const caller = current instanceof HandlerPlace && current.turn.queue === this ? current.call : undefined;
    const turn = createTurn({ queue: this, outer, workCount: 0, runnerData: undefined });
    if (!this.busy) this.#bounds.onTurnsStart();
    this.#running.add(turn);
    this.#areConcurrent = concurrent;
    // The steps after the work run in its context too: a promise created outside would keep its own context while it waits.
    places.inUse = true;
    return runInContext(CURRENT_PLACE, turn, () => this.#runWork(turn, work, caller));
  }

  #runWork<T>(turn: RunningTurn, work: Work<T>, caller?: TurnCall, joinedWork?: JoinedWork): T | Promise<T> {
    turn.workCount++;
    let answer: T | Promise<T> | undefined;
    try {
      answer = work(turn, caller);
      return answer instanceof Promise ? this.#endAfter(turn, answer, joinedWork) : answer;
    } finally {
      if (!(answer instanceof Promise)) this.#end(releaseJoinedWork(turn, joinedWork));
    }
  }

  /** Like `#runWork`, for work that may move to another turn together with the call that requested it. */
  #join<T>(turn: RunningTurn, work: Work<T>, call?: TurnCall): T | Promise<T> {
    const joinedWork: JoinedWork = { turn, call };
    (turn.joinedWork ??= new Set()).add(joinedWork);
    return this.#runWork(turn, work, call, joinedWork);
  }

  #endAfter<T>(turn: RunningTurn, answer: Promise<T>, joinedWork: JoinedWork | undefined): Promise<T> {
    // Not `finally()`, which would create two more promises for every turn.
    return answer.then(
      (value) => {
        this.#end(releaseJoinedWork(turn, joinedWork));
        return value;
      },
      (thrown: unknown) => {
        this.#end(releaseJoinedWork(turn, joinedWork));
        throw thrown;
      },
    );
  }

  #wait<T>(work: Work<T>, signal: AbortSignal | undefined, concurrent: boolean): Promise<T> {
    // Keeps the caller's asynchronous context instead of that of the turn that ends before this one.
    const asCaller = AsyncLocalStorage.snapshot();
    const place = CURRENT_PLACE.getStore();
    const callers = runningTurns(place);
    const wait = createTurnWait({
      queue: this,
      findWaitingCall: place === undefined ? undefined : (findSoleCall) => findCurrentCall(findSoleCall, place),
      turns: callers,
    });
    if (callers.some((caller) => this.#waitsFor(caller)) || deadlocks.isClosedBy(wait)) return Promise.reject(turnDeadlockError());
    addTurnWait(wait);
    return new Promise((resolve, reject) => {
      const waiting: WaitingTurn = {
        concurrent,
        start: () => {
          forget?.();
          removeTurnWait(wait);
          settleWith(() => asCaller(() => this.#start(work, concurrent)), resolve, reject);
        },
      };
      this.#enqueue(waiting);
      const forget =
        signal === undefined
          ? undefined
          : onAbort(signal, () => {
              this.#waiting?.remove(waiting);
              removeTurnWait(wait);
              settleWith(() => asCaller(() => this.#joinRunning(work)), resolve, reject);
              this.#startWaiting(); // turns queued behind it may have waited only for it
            });
    });
  }

  /** Whether the running turns here cannot all end before another turn does. */
  #waitsFor(turn: RunningTurn, seen: Set<TurnQueue> = new Set()): boolean {
    if (turn.queue === this && !turn.hasEnded) return true;
    if (seen.has(this)) return false;
    seen.add(this);
    for (const { waitsIn } of this.#running.all()) if (waitsIn.some((queue) => queue.#waitsFor(turn, seen))) return true;
    return false;
  }

  #joinRunning<T>(work: Work<T>): T | Promise<T> {
    const running = this.#running.first;
    return running === undefined ? this.#start(work, false) : this.#runWork(running, () => work(undefined, undefined));
  }

  #enqueue(waiting: WaitingTurn): void {
    (this.#waiting ??= new Fifo()).push(waiting);
  }

  /** Records that one piece of work of a turn has ended. */
  #end(turn: RunningTurn): void {
    if (--turn.workCount > 0) return;
    turn.hasEnded = true;
    if (!this.#running.remove(turn)) this.#detachedCount--;
    else if (!this.busy) this.#bounds.onTurnsEnd();
    this.#startWaiting();
  }

  /** Starts waiting turns in order, as far as they may run now. */
  #startWaiting(): void {
    if (this.#isStarting) return; // a turn that ended at once: the loop below, which started it, continues
    this.#isStarting = true;
    for (let next = this.#waiting?.first; next !== undefined && this.#mayStart(next.concurrent); next = this.#waiting?.first) {
      this.#waiting?.shift();
      next.start();
    }
    this.#isStarting = false;
  }
}

const NO_QUEUE = new TurnQueue({ onTurnsStart() {}, onTurnsEnd() {} }, false);

/** Returns the separate turn of the code's call if that call has left its turn. */
function detachedTurnOf(place: Place | undefined): RunningTurn | undefined {
  const detached = place instanceof HandlerPlace ? place.call.detachedTurn : undefined;
  return detached?.hasEnded === false && detached !== turnOf(place) ? detached : undefined;
}

/** Returns the turn that a piece of work is part of when it ends. */
function releaseJoinedWork(turn: RunningTurn, joinedWork: JoinedWork | undefined): RunningTurn {
  joinedWork?.turn.joinedWork?.delete(joinedWork);
  return joinedWork?.turn ?? turn;
}

function moveWork(work: JoinedWork, turn: RunningTurn): void {
  work.turn.joinedWork?.delete(work);
  work.turn.workCount--;
  work.turn = turn;
  turn.workCount++;
  (turn.joinedWork ??= new Set()).add(work);
}

/** Returns the turn of the code and its outer turns that are not over. */
function runningTurns(place: Place | undefined): RunningTurn[] {
  const turns: RunningTurn[] = [];
  for (let one = detachedTurnOf(place) ?? turnOf(place); one !== undefined; one = turnOf(one.outer)) if (!one.hasEnded) turns.push(one);
  return turns;
}

function settleWith<T>(work: () => T | Promise<T>, resolve: (value: T | Promise<T>) => void, reject: (reason: unknown) => void): void {
  try {
    resolve(work());
  } catch (thrown: unknown) {
    reject(thrown);
  }
}
