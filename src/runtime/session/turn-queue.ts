/** The turns of one session, one after the other. */
import { AsyncLocalStorage } from "node:async_hooks";
import { ToolError } from "../../core/error.ts";
import { onAbort } from "../../policy/deadline.ts";

/** The turn that the code running now belongs to: how a handler's own calls are told from those of others. */
const CURRENT = new AsyncLocalStorage<RunningTurn>();

interface RunningTurn {
  readonly queue: TurnQueue;
  /** The turn of another session that a handler of began this one. */
  readonly outer: RunningTurn | undefined;
  /** The queues that code of it waits in. */
  readonly waitsIn: TurnQueue[];
  /** What is under way of it: its own work, and what joined it. */
  works: number;
  over: boolean;
}

/** True in code that a turn called whose calls may not touch the world: what it calls elsewhere would be real. */
export function isInsideSimulation(): boolean {
  let turn = CURRENT.getStore();
  while (turn !== undefined && (turn.over || !turn.queue.isSimulation)) turn = turn.outer;
  return turn !== undefined;
}

interface WaitingTurn {
  start(): void;
}

/** Told when a turn begins and when it is over. */
export interface TurnBounds {
  begin(): void;
  end(): void;
}

export class TurnQueue {
  readonly isSimulation: boolean;
  readonly #bounds: TurnBounds;
  #running: RunningTurn | undefined;
  #waiting: WaitingTurn[] | undefined;
  #isStarting = false;

  /** @param isSimulation none of its turns may touch the world */
  constructor(bounds: TurnBounds, isSimulation: boolean) {
    this.#bounds = bounds;
    this.isSimulation = isSimulation;
  }

  /** True while a turn runs. */
  get busy(): boolean {
    return this.#running !== undefined;
  }

  /**
   * Runs the work of a turn as soon as every earlier turn is over; at once and synchronously when none runs.
   *
   * Work that is asked for by a handler of the running turn joins that turn: waiting for its end would be waiting for
   * itself. So does work whose signal aborts while it waits, since it will start nothing. A turn is over when all of its work is.
   */
  run<T>(work: () => T | Promise<T>, signal?: AbortSignal): T | Promise<T> {
    if (this.#running === undefined) return this.#start(work);
    return this.isInside ? this.#workIn(this.#running, work) : this.#wait(work, signal);
  }

  /** Resolves when no turn runs or waits. A handler of the running turn that awaits it waits for itself. */
  async whenIdle(): Promise<void> {
    while (this.busy) await new Promise<void>((resolve) => this.#enqueue({ start: () => void this.#start(resolve) }));
  }

  /** True in code that the running turn called, also by way of another session's turn. */
  get isInside(): boolean {
    let turn = CURRENT.getStore();
    while (turn !== undefined && (turn.queue !== this || turn.over)) turn = turn.outer;
    return turn !== undefined;
  }

  #start<T>(work: () => T | Promise<T>): T | Promise<T> {
    let outer = CURRENT.getStore();
    while (outer?.over === true) outer = outer.outer;
    const turn = { queue: this, outer, waitsIn: [], works: 0, over: false };
    this.#running = turn;
    this.#bounds.begin();
    return this.#workIn(turn, () => CURRENT.run(turn, work));
  }

  #workIn<T>(turn: RunningTurn, work: () => T | Promise<T>): T | Promise<T> {
    turn.works++;
    let answer: T | Promise<T>;
    try {
      answer = work();
    } catch (thrown: unknown) {
      this.#end(turn);
      throw thrown;
    }
    if (!(answer instanceof Promise)) {
      this.#end(turn);
      return answer;
    }
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

  #wait<T>(work: () => T | Promise<T>, signal: AbortSignal | undefined): Promise<T> {
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
        start: () => {
          forget?.();
          begun();
          settle(() => asCaller(() => this.#start(work)), resolve, reject);
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
            });
    });
  }

  /** Whether the turn that runs here cannot end before another does. */
  #waitsFor(turn: RunningTurn, seen: Set<TurnQueue> = new Set()): boolean {
    if (this.#running === turn) return true;
    if (this.#running === undefined || seen.has(this)) return false;
    seen.add(this);
    return this.#running.waitsIn.some((queue) => queue.#waitsFor(turn, seen));
  }

  #joinRunning<T>(work: () => T | Promise<T>): T | Promise<T> {
    return this.#running === undefined ? this.#start(work) : this.#workIn(this.#running, work);
  }

  #enqueue(waiting: WaitingTurn): void {
    (this.#waiting ??= []).push(waiting);
  }

  /** Some of a turn's work is over. */
  #end(turn: RunningTurn): void {
    if (--turn.works > 0) return;
    turn.over = true;
    this.#bounds.end();
    this.#running = undefined;
    if (this.#isStarting) return; // a turn that was over at once: the loop below, which began it, goes on
    this.#isStarting = true;
    while (this.#running === undefined) {
      const next = this.#waiting?.shift();
      if (next === undefined) break;
      next.start();
    }
    this.#isStarting = false;
  }
}

/** The turn and those that it is part of, as far as they are not over. */
function runningTurns(turn: RunningTurn | undefined): RunningTurn[] {
  const turns: RunningTurn[] = [];
  for (let one = turn; one !== undefined; one = one.outer) if (!one.over) turns.push(one);
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
