/** One wait on the outside world that ends on time: by itself, by its deadline, or by cancellation. */
import type { ToolError } from "../core/error.ts";
import type { Clock } from "../core/ports.ts";

/** Something that waits for one thing at a time and can be cancelled. */
export interface Interruptible {
  readonly clock: Clock;
  /** The wait that is under way. */
  wait: Interrupt | undefined;
  /** Why it was cancelled; what every wait from then on ends with, at once. */
  readonly cancelled?: ToolError | undefined;
}

export interface Interrupt {
  /** Ends the wait with this error, unless it is over. */
  interrupt(error: ToolError): void;
}

/** What a wait comes to. Each of `value`, `thrown` and `ended` may throw, which rejects the wait. */
export interface WaitOutcome<T, R> {
  /** The work fulfilled. */
  value(value: T): R;
  /** The work rejected. */
  thrown(thrown: unknown): R;
  /** The work was given up: its time was up, or it was cancelled. */
  ended(error: ToolError): R;
  /** Makes the error when the deadline passes. */
  late(): ToolError;
  /** Asked for after `ended`: called once when the work settles after all. Of the wait, only this is kept until then. */
  whenLate?(): LateEnd | undefined;
}

export interface LateEnd {
  settled(outcome: "returned" | "threw"): void;
}

export interface WaitTimes {
  /** On the clock of `now()`; `Infinity` = no deadline. */
  readonly endsAt: number;
  /** What the clock says now. */
  readonly now: number;
}

/** True for what `await` waits for. Throws where looking at `then` does. */
export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return (
    ((typeof value === "object" && value !== null) || typeof value === "function") && "then" in value && typeof value.then === "function"
  );
}

/**
 * Waits for `work`, at most until `endsAt` or until `target.wait` is interrupted, whichever is first.
 *
 * Leaves no timer behind. What the work does after the wait is over can no longer be seen, except by
 * `whenLate`: a late rejection is not an unhandled one.
 */
export function settleWithin<T, R>(target: Interruptible, work: PromiseLike<T>, outcome: WaitOutcome<T, R>, times: WaitTimes): Promise<R> {
  const ending = Promise.withResolvers<R>();
  const wait = new Wait(target, outcome, ending);
  target.wait = wait;
  follow(work, wait);
  if (target.cancelled !== undefined) wait.interrupt(target.cancelled);
  else if (!wait.over && times.endsAt !== Infinity) wait.endIn(Math.max(0, times.endsAt - times.now), target.clock);
  return ending.promise;
}

/** As `await` does it: a promise that was tampered with neither throws here nor calls back at once or twice. */
function follow<T, R>(work: PromiseLike<T>, wait: Wait<T, R>): void {
  try {
    void Promise.prototype.then.call(
      Promise.resolve(work),
      (value) => wait.fulfilled(value as T), // `call` loses the type of the promise
      (thrown: unknown) => wait.rejected(thrown),
    );
  } catch (thrown: unknown) {
    wait.rejected(thrown);
  }
}

/** The wait of one `settleWithin`; ends once, and then holds on to nothing: work that never settles keeps it for good. */
class Wait<T, R> implements Interrupt {
  #target: Interruptible | undefined;
  /** Undefined once it is over. */
  #outcome: WaitOutcome<T, R> | undefined;
  #ending: PromiseWithResolvers<R> | undefined;
  #cancelTimer: (() => void) | undefined = undefined;
  #late: LateEnd | undefined = undefined;

  constructor(target: Interruptible, outcome: WaitOutcome<T, R>, ending: PromiseWithResolvers<R>) {
    this.#target = target;
    this.#outcome = outcome;
    this.#ending = ending;
  }

  get over(): boolean {
    return this.#outcome === undefined;
  }

  endIn(delayMs: number, clock: Clock): void {
    this.#cancelTimer = clock.timer(() => this.#expire(), delayMs);
  }

  fulfilled(value: T): void {
    const outcome = this.#outcome;
    if (outcome === undefined) return this.#late?.settled("returned");
    const ending = this.#end();
    try {
      ending?.resolve(outcome.value(value));
    } catch (error: unknown) {
      ending?.reject(error);
    }
  }

  rejected(thrown: unknown): void {
    const outcome = this.#outcome;
    if (outcome === undefined) return this.#late?.settled("threw");
    const ending = this.#end();
    try {
      ending?.resolve(outcome.thrown(thrown));
    } catch (error: unknown) {
      ending?.reject(error);
    }
  }

  interrupt(error: ToolError): void {
    const outcome = this.#outcome;
    if (outcome === undefined) return;
    const ending = this.#end();
    try {
      ending?.resolve(outcome.ended(error));
    } catch (failure: unknown) {
      ending?.reject(failure);
    }
    this.#late = outcome.whenLate?.();
  }

  #expire(): void {
    if (this.#outcome !== undefined) this.interrupt(this.#outcome.late());
  }

  #end(): PromiseWithResolvers<R> | undefined {
    const ending = this.#ending;
    if (this.#target !== undefined) this.#target.wait = undefined;
    this.#cancelTimer?.();
    this.#target = undefined;
    this.#outcome = undefined;
    this.#ending = undefined;
    this.#cancelTimer = undefined;
    return ending;
  }
}

export type Waited<T> = { readonly value: T } | { readonly thrown: unknown } | { readonly ended: ToolError };

export interface WaitOptions {
  /** On the clock of `now()`; `Infinity` = no deadline. */
  readonly endsAt: number;
  readonly late: () => ToolError;
}

/** `settleWithin` for those who rather look at what it came to. Never rejects. */
export function waitFor<T>(target: Interruptible, work: PromiseLike<T>, options: WaitOptions): Promise<Waited<T>> {
  const outcome: WaitOutcome<T, Waited<T>> = {
    value: (value) => ({ value }),
    thrown: (thrown) => ({ thrown }),
    ended: (ended) => ({ ended }),
    late: options.late,
  };
  return settleWithin(target, work, outcome, { endsAt: options.endsAt, now: options.endsAt === Infinity ? 0 : target.clock.now() });
}

/** Calls `listener` once when `signal` aborts; many listeners of one signal share a single event listener. */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) {
    listener();
    return () => {};
  }
  let listeners = LISTENERS.get(signal);
  if (listeners === undefined) {
    listeners = new Set();
    LISTENERS.set(signal, listeners);
    signal.addEventListener("abort", notifyAll);
  }
  listeners.add(listener);
  return () => forget(signal, listener);
}

const LISTENERS = new WeakMap<EventTarget, Set<() => void>>();

function notifyAll(event: Event): void {
  const signal = event.currentTarget;
  if (signal === null) return;
  const listeners = LISTENERS.get(signal);
  LISTENERS.delete(signal);
  signal.removeEventListener("abort", notifyAll);
  for (const listener of listeners ?? []) listener();
}

function forget(signal: AbortSignal, listener: () => void): void {
  const listeners = LISTENERS.get(signal);
  if (listeners === undefined || !listeners.delete(listener) || listeners.size > 0) return;
  LISTENERS.delete(signal);
  signal.removeEventListener("abort", notifyAll);
}
