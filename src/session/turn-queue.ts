/** The turns of one session: one after the other, except those that may run at the same time. */
import { AsyncLocalStorage } from "node:async_hooks";
import { onAbort } from "../policy/attempts/deadline.ts";
import { runInContext } from "./run-in-context.ts";
import { SmallSet } from "./small-set.ts";
import { endTurnWait, deadlocks, newTurnWait, noteTurnWait, turnDeadlock } from "./turn-waits.ts";

/** The turn that the code running now belongs to: how a handler's own calls are distinguished from those of others. */
const CURRENT = new AsyncLocalStorage<Place>();

/** A call of a turn, as far as the calls that its handler makes need it. */
export interface TurnCall {
  readonly callId: string;
  /** The turn that it is part of. */
  readonly turn: object;
  /** Why its message was voided, or its batch rolled back. */
  readonly takenBack: string | undefined;
  /** Nothing takes it back any more, as its batch or message is over. */
  readonly isSettled: boolean;
  /** The place of its own calls once it has left its turn. */
  readonly beside: RunningTurn | undefined;
}

/** Where the handler of one call runs. */
class HandlerPlace {
  readonly turn: RunningTurn;
  readonly call: TurnCall;

  constructor(turn: RunningTurn, call: TurnCall) {
    this.turn = turn;
    this.call = call;
  }
}

/** Where code runs that a turn called: in the handler of one of its calls, or outside of them. */
type Place = RunningTurn | HandlerPlace;

export interface RunningTurn {
  readonly queue: TurnQueue;
  /** The place in a turn of another session where this one was begun. */
  readonly outer: Place | undefined;
  /** The queues that code of it waits in. */
  readonly waitsIn: TurnQueue[];
  /** The number of its works under way: its own, and those that joined it. */
  works: number;
  over: boolean;
  /** Data that its runner keeps with it. */
  held: object | undefined;
  /** Those of them that joined it; made when the first one does. */
  joined: Set<JoinedWork> | undefined;
  /** Where a call of it continues that has left it; the latest, where several have. */
  continuesIn: RunningTurn | undefined;
}

/** Work that a call of a turn asked for. It is part of the turn until that call leaves it, and goes with it. */
interface JoinedWork {
  turn: RunningTurn;
  /** Undefined where the turn has one call only. */
  readonly call: TurnCall | undefined;
}

export interface TurnOptions {
  /** Aborts the wait for the turn. */
  readonly signal?: AbortSignal | undefined;
  /** Runs at the same time as other turns that are concurrent as well; the others it waits for, and they for it. @default false */
  readonly concurrent?: boolean;
}

/**
 * The work of a turn, called with the turn that it is part of (undefined for work that was cancelled while it waited), and with the call
 * whose handler asks for it, which may be of a turn that is over.
 */
type Work<T> = (turn: RunningTurn | undefined, caller: TurnCall | undefined) => T | Promise<T>;

/** Whether there ever was a turn whose calls may have no effects: where not, the caller need not be known. */
export const simulations = { haveBegun: false };

/** Whether code ever ran in a place: where not, the caller need not be known. */
export const places = { haveBegun: false };

/** True in code that a turn called whose calls may not touch the world, also once that turn is over: what it calls elsewhere would be real. */
export function isInsideSimulation(): boolean {
  let turn = turnOf(CURRENT.getStore());
  while (turn !== undefined && !turn.queue.isSimulation) turn = turnOf(turn.outer);
  return turn !== undefined;
}

/** Runs the handler of a call: the calls that it makes in the same session are found to be made in this one. */
export function withinCall<T>(turn: RunningTurn, call: TurnCall, work: () => T): T {
  places.haveBegun = true;
  return runInContext(CURRENT, new HandlerPlace(turn, call), work);
}

/** The place of the code running now: the call that it is the handler of, where that is known, and what the runner of its turn keeps with it. */
export function currentPlace(): { readonly call: TurnCall | undefined; readonly held: object | undefined } {
  const place = CURRENT.getStore();
  return { call: place instanceof HandlerPlace ? place.call : undefined, held: turnOf(place)?.held };
}

/**
 * The call whose handler the code running now belongs to, in whichever session; undefined outside of handlers.
 *
 * @param soleOf the only call of a turn whose calls are not distinguished, by the data of its runner
 * @param from other code than that running now
 */
export function callAround<Sole>(soleOf: (held: object | undefined) => Sole, from = CURRENT.getStore()): TurnCall | Sole | undefined {
  for (let place: Place | undefined = from; place !== undefined; place = turnOf(place)?.outer) {
    const call = place instanceof HandlerPlace ? place.call : soleOf(place.held);
    if (call !== undefined) return call;
  }
  return undefined;
}

/** A place for the handler of a call that belongs to no session's turn. */
export function placeOfNoTurn(held: object): RunningTurn {
  return newTurn({ queue: NO_QUEUE, outer: CURRENT.getStore(), works: 1, held });
}

function newTurn(fields: Pick<RunningTurn, "queue" | "outer" | "works" | "held">): RunningTurn {
  const { queue, outer, works, held } = fields;
  return { queue, outer, waitsIn: [], works, over: false, held, joined: undefined, continuesIn: undefined };
}

function turnOf(place: Place | undefined): RunningTurn | undefined {
  return place instanceof HandlerPlace ? place.turn : place;
}

const NO_OPTIONS: TurnOptions = Object.freeze({});

interface WaitingTurn {
  readonly concurrent: boolean;
  start(): void;
}

/** Called when a turn begins while none runs, and when none runs any more. */
export interface TurnBounds {
  turnsBegin(): void;
  turnsEnded(): void;
}

export class TurnQueue {
  readonly isSimulation: boolean;
  readonly #bounds: TurnBounds;
  /** Several only while all of them are concurrent. */
  readonly #running = new SmallSet<RunningTurn>();
  #areConcurrent = false;
  #waiting: WaitingTurn[] | undefined;
  #isStarting = false;
  /** How many turns run at the same time as others. */
  #besides = 0;

  /** @param isSimulation none of its turns may touch the world */
  constructor(bounds: TurnBounds, isSimulation: boolean) {
    this.#bounds = bounds;
    this.isSimulation = isSimulation;
    if (isSimulation) simulations.haveBegun = true;
  }

  /** True while a turn runs. */
  get busy(): boolean {
    return this.#running.any;
  }

  /**
   * Runs the work of a turn as soon as every earlier turn is over that it cannot overlap; at once and synchronously when there is
   * none.
   *
   * Work that is asked for by a handler of a running turn joins that turn: waiting for its end would be waiting for itself. So does
   * work whose signal aborts while it waits, since it will start nothing. A turn is over when all of its work is.
   */
  run<T>(work: Work<T>, { signal, concurrent = false }: TurnOptions = NO_OPTIONS): T | Promise<T> {
    if (!this.busy && this.#besides === 0) return this.#start(work, concurrent);
    const own = this.#own;
    if (own !== undefined) return own instanceof HandlerPlace ? this.#join(own.turn, work, own.call) : this.#join(own, work);
    const isNext = this.#waiting === undefined || this.#waiting.length === 0;
    return isNext && this.#mayStart(concurrent) ? this.#start(work, concurrent) : this.#wait(work, signal, concurrent);
  }

  /**
   * A turn outside of all others, for a call that outlives its own: what its handler calls in the session joins it, and no other turn waits
   * for it. `endBeside` ends it.
   *
   * @param from the turn that the call has left while it ran
   * @param isOfCall whether work that this call of that turn asked for goes with it
   */
  beside(held: object, from?: RunningTurn, isOfCall?: (call: TurnCall | undefined) => boolean): RunningTurn {
    const turn = newTurn({ queue: this, outer: undefined, works: 1, held });
    this.#besides++;
    if (from === undefined) return turn;
    from.continuesIn = turn;
    for (const work of from.joined ?? []) if (isOfCall?.(work.call) === true) move(work, turn);
    return turn;
  }

  endBeside(turn: RunningTurn): void {
    this.#end(turn);
  }

  /** Resolves when no turn runs or waits. A handler of the running turn that awaits it waits for itself. */
  async whenIdle(): Promise<void> {
    while (this.busy)
      await new Promise<void>((resolve) => this.#enqueue({ concurrent: false, start: () => void this.#start(() => resolve(), false) }));
  }

  /** True in code that a running turn called, also by way of another session's turn. */
  get isInside(): boolean {
    return this.#own !== undefined;
  }

  /** The place in a running turn of this queue that called the code running now. */
  get #own(): Place | undefined {
    let place = CURRENT.getStore();
    for (let turn = turnOf(place); turn !== undefined && (turn.queue !== this || turn.over || hasLeft(place)); turn = turnOf(place)) {
      const beside = place === undefined ? undefined : this.#besideOf(place, turn);
      if (beside !== undefined) return beside;
      place = turn.outer;
    }
    return place;
  }

  /** Where code continues whose call has left its turn, which is over. */
  #besideOf(place: Place, turn: RunningTurn): Place | undefined {
    const call = place instanceof HandlerPlace ? place.call : undefined;
    const beside = call?.beside ?? turn.continuesIn;
    if (beside === undefined || beside.queue !== this || beside.over) return undefined;
    return call === undefined ? beside : new HandlerPlace(beside, call);
  }

  #mayStart(concurrent: boolean): boolean {
    return !this.busy || (concurrent && this.#areConcurrent);
  }

  #start<T>(work: Work<T>, concurrent: boolean): T | Promise<T> {
    const current = CURRENT.getStore();
    let outer = current;
    for (let one = turnOf(outer); one?.over === true; one = turnOf(outer)) outer = one.outer;
    // A handler that continues after its turn is not part of the new turn, but may be that of a call which was taken back.
    const caller = current instanceof HandlerPlace && current.turn.queue === this ? current.call : undefined;
    const turn = newTurn({ queue: this, outer, works: 0, held: undefined });
    if (!this.busy) this.#bounds.turnsBegin();
    this.#running.add(turn);
    this.#areConcurrent = concurrent;
    // The steps after its work run within it too: each promise made outside would keep a context of its own while it waits.
    places.haveBegun = true;
    return runInContext(CURRENT, turn, () => this.#workIn(turn, work, caller));
  }

  #workIn<T>(turn: RunningTurn, work: Work<T>, caller?: TurnCall, joined?: JoinedWork): T | Promise<T> {
    turn.works++;
    let answer: T | Promise<T>;
    try {
      answer = work(turn, caller);
    } catch (thrown: unknown) {
      this.#end(leaving(turn, joined));
      throw thrown;
    }
    if (!(answer instanceof Promise)) {
      this.#end(leaving(turn, joined));
      return answer;
    }
    return this.#endAfter(turn, answer, joined);
  }

  /** As `#workIn`, for work that may move to another turn with the call that asked for it. */
  #join<T>(turn: RunningTurn, work: Work<T>, call?: TurnCall): T | Promise<T> {
    const joined: JoinedWork = { turn, call };
    (turn.joined ??= new Set()).add(joined);
    return this.#workIn(turn, work, call, joined);
  }

  #endAfter<T>(turn: RunningTurn, answer: Promise<T>, joined?: JoinedWork): Promise<T> {
    // Not finally(), which makes two more promises on the way of every turn.
    return answer.then(
      (value) => {
        this.#end(leaving(turn, joined));
        return value;
      },
      (thrown: unknown) => {
        this.#end(leaving(turn, joined));
        throw thrown;
      },
    );
  }

  #wait<T>(work: Work<T>, signal: AbortSignal | undefined, concurrent: boolean): Promise<T> {
    // Keeps the caller's own asynchronous context, which is not that of the turn that ends before this one.
    const asCaller = AsyncLocalStorage.snapshot();
    const place = CURRENT.getStore();
    const callers = runningTurns(place);
    const wait = newTurnWait({
      queue: this,
      callAround: place === undefined ? undefined : (soleOf) => callAround(soleOf, place),
      turns: callers,
    });
    if (callers.some((caller) => this.#waitsFor(caller)) || deadlocks.closedBy(wait)) return Promise.reject(turnDeadlock());
    noteTurnWait(wait);
    return new Promise((resolve, reject) => {
      const waiting: WaitingTurn = {
        concurrent,
        start: () => {
          forget?.();
          endTurnWait(wait);
          settle(() => asCaller(() => this.#start(work, concurrent)), resolve, reject);
        },
      };
      this.#enqueue(waiting);
      const forget =
        signal === undefined
          ? undefined
          : onAbort(signal, () => {
              this.#waiting = this.#waiting?.filter((other) => other !== waiting);
              endTurnWait(wait);
              settle(() => asCaller(() => this.#joinRunning(work)), resolve, reject);
              this.#startWaiting(); // those behind it may have waited for it alone
            });
    });
  }

  /** Whether the turns that run here cannot all end before another does. */
  #waitsFor(turn: RunningTurn, seen: Set<TurnQueue> = new Set()): boolean {
    if (turn.queue === this && !turn.over) return true;
    if (seen.has(this)) return false;
    seen.add(this);
    for (const { waitsIn } of this.#running.all()) if (waitsIn.some((queue) => queue.#waitsFor(turn, seen))) return true;
    return false;
  }

  #joinRunning<T>(work: Work<T>): T | Promise<T> {
    const running = this.#running.first;
    return running === undefined ? this.#start(work, false) : this.#workIn(running, () => work(undefined, undefined));
  }

  #enqueue(waiting: WaitingTurn): void {
    (this.#waiting ??= []).push(waiting);
  }

  /** Some of a turn's work is over. */
  #end(turn: RunningTurn): void {
    if (--turn.works > 0) return;
    turn.over = true;
    if (!this.#running.remove(turn)) {
      this.#besides--;
      return;
    }
    if (!this.busy) this.#bounds.turnsEnded();
    this.#startWaiting();
  }

  /** Begins what waits, in the order it came, as far as it may run now. */
  #startWaiting(): void {
    if (this.#isStarting) return; // a turn that was over at once: the loop below, which began it, continues
    this.#isStarting = true;
    for (let next = this.#waiting?.[0]; next !== undefined && this.#mayStart(next.concurrent); next = this.#waiting?.[0]) {
      this.#waiting?.shift();
      next.start();
    }
    this.#isStarting = false;
  }
}

const NO_QUEUE = new TurnQueue({ turnsBegin() {}, turnsEnded() {} }, false);

/** Whether the code is that of a call which continues after its turn. */
function hasLeft(place: Place | undefined): boolean {
  return place instanceof HandlerPlace && place.call.beside?.over === false && place.call.beside !== place.turn;
}

/** The turn that some work is part of when it ends. */
function leaving(turn: RunningTurn, joined: JoinedWork | undefined): RunningTurn {
  joined?.turn.joined?.delete(joined);
  return joined?.turn ?? turn;
}

function move(work: JoinedWork, turn: RunningTurn): void {
  work.turn.joined?.delete(work);
  work.turn.works--;
  work.turn = turn;
  turn.works++;
  (turn.joined ??= new Set()).add(work);
}

/** The turn and those that it is part of, as far as they are not over. */
function runningTurns(place: Place | undefined): RunningTurn[] {
  const turns: RunningTurn[] = [];
  for (let one = turnOf(place); one !== undefined; one = turnOf(one.outer)) if (!one.over) turns.push(one);
  return turns;
}

function settle<T>(work: () => T | Promise<T>, resolve: (value: T | Promise<T>) => void, reject: (reason: unknown) => void): void {
  try {
    resolve(work());
  } catch (thrown: unknown) {
    reject(thrown);
  }
}
