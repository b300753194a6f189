/** The turns of one session: one after the other, but for those that may run beside one another. */
import { AsyncLocalStorage } from "node:async_hooks";
import { ToolError } from "../core/error.ts";
import { onAbort } from "../policy/deadline.ts";

/** The turn that the code running now belongs to: how a handler's own calls are told from those of others. */
const CURRENT = new AsyncLocalStorage<Place>();

/** A call of a turn, as far as the calls that its handler makes need it. */
export interface TurnCall {
  readonly callId: string;
  /** The turn that it is part of. */
  readonly turn: object;
  /** Why its message was voided, or its batch rolled back. */
  readonly takenBack: string | undefined;
}

/** Where the handler of one call runs. */
class CallPlace {
  readonly turn: RunningTurn;
  readonly call: TurnCall;

  constructor(turn: RunningTurn, call: TurnCall) {
    this.turn = turn;
    this.call = call;
  }
}

/** Where code runs that a turn called: in the handler of one of its calls, or beside them. */
type Place = RunningTurn | CallPlace;

export interface RunningTurn {
  readonly queue: TurnQueue;
  /** The place in a turn of another session where this one was begun. */
  readonly outer: Place | undefined;
  /** The queues that code of it waits in. */
  readonly waitsIn: TurnQueue[];
  /** What is under way of it: its own work, and what joined it. */
  works: number;
  over: boolean;
  /** Data that its runner keeps with it. */
  held: object | undefined;
}

export interface TurnOptions {
  /** Aborts the wait for the turn. */
  readonly signal?: AbortSignal | undefined;
  /** Runs beside other turns that are concurrent as well; the others it waits for, and they for it. @default false */
  readonly concurrent?: boolean;
}

/**
 * The work of a turn, called with the turn that it is part of (undefined for work that was cancelled while it waited), and with the call
 * whose handler asks for it, which may be of a turn that is over.
 */
type Work<T> = (turn: RunningTurn | undefined, caller: TurnCall | undefined) => T | Promise<T>;

/** Whether there ever was a turn whose calls may not touch the world: where not, nobody need ask who called. */
export const simulations = { haveBegun: false };

/** True in code that a turn called whose calls may not touch the world: what it calls elsewhere would be real. */
export function isInsideSimulation(): boolean {
  let turn = turnOf(CURRENT.getStore());
  while (turn !== undefined && (turn.over || !turn.queue.isSimulation)) turn = turnOf(turn.outer);
  return turn !== undefined;
}

/** Runs the handler of a call: the calls that it makes in the same session are found to be made in this one. */
export function withinCall<T>(turn: RunningTurn, call: TurnCall, work: () => T): T {
  return CURRENT.run(new CallPlace(turn, call), work);
}

function turnOf(place: Place | undefined): RunningTurn | undefined {
  return place instanceof CallPlace ? place.turn : place;
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

/** The turns of a queue that run: mostly one, for which no set is made. */
class RunningTurns {
  #sole: RunningTurn | undefined = undefined;
  /** Made when a second one begins, and kept until none runs. */
  #several: Set<RunningTurn> | undefined = undefined;

  get any(): boolean {
    return this.#sole !== undefined || this.#several !== undefined;
  }

  get first(): RunningTurn | undefined {
    return this.#sole ?? this.#several?.values().next().value;
  }

  add(turn: RunningTurn): void {
    if (!this.any) this.#sole = turn;
    else this.#several = (this.#several ?? new Set(this.all())).add(turn);
    if (this.#several !== undefined) this.#sole = undefined;
  }

  remove(turn: RunningTurn): void {
    if (this.#sole === turn) this.#sole = undefined;
    else if (this.#several?.delete(turn) === true && this.#several.size === 0) this.#several = undefined;
  }

  all(): Iterable<RunningTurn> {
    return this.#several ?? (this.#sole === undefined ? [] : [this.#sole]);
  }
}

export class TurnQueue {
  readonly isSimulation: boolean;
  readonly #bounds: TurnBounds;
  /** Several only while all of them are concurrent. */
  readonly #running = new RunningTurns();
  #areConcurrent = false;
  #waiting: WaitingTurn[] | undefined;
  #isStarting = false;

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
   * Runs the work of a turn as soon as every earlier turn is over that it cannot run beside; at once and synchronously when there is
   * none.
   *
   * Work that is asked for by a handler of a running turn joins that turn: waiting for its end would be waiting for itself. So does
   * work whose signal aborts while it waits, since it will start nothing. A turn is over when all of its work is.
   */
  run<T>(work: Work<T>, { signal, concurrent = false }: TurnOptions = NO_OPTIONS): T | Promise<T> {
    if (!this.busy) return this.#start(work, concurrent);
    const own = this.#own;
    if (own !== undefined) return own instanceof CallPlace ? this.#workIn(own.turn, work, own.call) : this.#workIn(own, work);
    const isNext = this.#waiting === undefined || this.#waiting.length === 0;
    return isNext && this.#mayStart(concurrent) ? this.#start(work, concurrent) : this.#wait(work, signal, concurrent);
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
    for (let turn = turnOf(place); turn !== undefined && (turn.queue !== this || turn.over); turn = turnOf(place)) place = turn.outer;
    return place;
  }

  #mayStart(concurrent: boolean): boolean {
    return !this.busy || (concurrent && this.#areConcurrent);
  }

  #start<T>(work: Work<T>, concurrent: boolean): T | Promise<T> {
    const current = CURRENT.getStore();
    let outer = current;
    for (let one = turnOf(outer); one?.over === true; one = turnOf(outer)) outer = one.outer;
    // A handler that goes on after its turn is not part of the new turn, but may be that of a call which was taken back.
    const caller = current instanceof CallPlace && current.turn.queue === this ? current.call : undefined;
    const turn: RunningTurn = { queue: this, outer, waitsIn: [], works: 0, over: false, held: undefined };
    if (!this.busy) this.#bounds.turnsBegin();
    this.#running.add(turn);
    this.#areConcurrent = concurrent;
    // What follows its work runs within it too: each promise made outside would keep a context of its own while it waits.
    return CURRENT.run(turn, () => this.#workIn(turn, work, caller));
  }

  #workIn<T>(turn: RunningTurn, work: Work<T>, caller?: TurnCall): T | Promise<T> {
    turn.works++;
    let answer: T | Promise<T>;
    try {
      answer = work(turn, caller);
    } catch (thrown: unknown) {
      this.#end(turn);
      throw thrown;
    }
    if (!(answer instanceof Promise)) {
      this.#end(turn);
      return answer;
    }
    return this.#endAfter(turn, answer);
  }

  #endAfter<T>(turn: RunningTurn, answer: Promise<T>): Promise<T> {
    // Not finally(), which makes two more promises on the way of every turn.
    return answer.then(
      (value) => {
        this.#end(turn);
        return value;
      },
      (thrown: unknown) => {
        this.#end(turn);
        throw thrown;
      },
    );
  }

  #wait<T>(work: Work<T>, signal: AbortSignal | undefined, concurrent: boolean): Promise<T> {
    // What the caller keeps in its own asynchronous context is not the context of the turn that ends before this one.
    const asCaller = AsyncLocalStorage.snapshot();
    const callers = runningTurns(CURRENT.getStore());
    if (callers.some((caller) => this.#waitsFor(caller))) return Promise.reject(waitsForItself());
    for (const caller of callers) caller.waitsIn.push(this);
    const begun = (): void => {
      for (const { waitsIn } of callers) waitsIn.splice(waitsIn.indexOf(this), 1);
    };
    return new Promise((resolve, reject) => {
      const waiting: WaitingTurn = {
        concurrent,
        start: () => {
          forget?.();
          begun();
          settle(() => asCaller(() => this.#start(work, concurrent)), resolve, reject);
        },
      };
      this.#enqueue(waiting);
      const forget =
        signal === undefined
          ? undefined
          : onAbort(signal, () => {
              this.#waiting = this.#waiting?.filter((other) => other !== waiting);
              begun();
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
    this.#running.remove(turn);
    if (!this.busy) this.#bounds.turnsEnded();
    this.#startWaiting();
  }

  /** Begins what waits, in the order it came, as far as it may run now. */
  #startWaiting(): void {
    if (this.#isStarting) return; // a turn that was over at once: the loop below, which began it, goes on
    this.#isStarting = true;
    for (let next = this.#waiting?.[0]; next !== undefined && this.#mayStart(next.concurrent); next = this.#waiting?.[0]) {
      this.#waiting?.shift();
      next.start();
    }
    this.#isStarting = false;
  }
}

/** The turn and those that it is part of, as far as they are not over. */
function runningTurns(place: Place | undefined): RunningTurn[] {
  const turns: RunningTurn[] = [];
  for (let one = turnOf(place); one !== undefined; one = turnOf(one.outer)) if (!one.over) turns.push(one);
  return turns;
}

function waitsForItself(): ToolError {
  return new ToolError("resource_busy", "The session's turn waits for the turn of the handler that makes this call: neither could end.", {
    retryable: false,
    hint: "Make the call when the handler has ended.",
  });
}

function settle<T>(work: () => T | Promise<T>, resolve: (value: T | Promise<T>) => void, reject: (reason: unknown) => void): void {
  try {
    resolve(work());
  } catch (thrown: unknown) {
    reject(thrown);
  }
}
