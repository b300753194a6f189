/** Waits on the outside world that end on time: when the work settles, at a deadline, or by cancellation. */
import type { ToolError } from "../../core/error.ts";
import type { Clock, Expiring, Timer } from "../../core/ports.ts";

/** Something that waits for one thing at a time and can be cancelled. */
export interface Interruptible {
  readonly clock: Clock;
  /** The current wait. */
  wait: Interrupt | undefined;
  /** The reason of the cancellation; every later wait ends with it at once. */
  readonly cancelled?: ToolError | undefined;
}

export interface Interrupt {
  /** Ends the wait with this error, unless it has ended. */
  interrupt(error: ToolError): void;
  /** Moves the deadline, a time on the clock, if `acceptDeadline` of the outcome accepts it; `Infinity` = none. */
  moveDeadline(endsAt: number): void;
}

/** How a wait ends. Each of `value`, `thrown` and `ended` may throw, which rejects the wait, or return a promise, which the wait then follows. */
export interface WaitOutcome<T, R> {
  /** The work fulfilled. */
  value(value: T): R | Promise<R>;
  /** The work rejected. */
  thrown(thrown: unknown): R | Promise<R>;
  /** The wait ended before the work: by its deadline or by cancellation. */
  ended(error: ToolError): R | Promise<R>;
  /** Creates the error when the deadline passes. */
  timeoutError(): ToolError;
  /** Called with a new deadline; returning false, or leaving this out, keeps the old one. */
  acceptDeadline?(endsAt: number): boolean;
  /** Called after `ended`; the returned object is notified once when the work settles after all. It is all that is kept of the wait until then. */
  createLateListener?(): LateListener | undefined;
}

export interface LateListener {
  onSettled(outcome: "returned" | "threw"): void;
}

/** A promise and the functions that settle it, as `Promise.withResolvers` makes them. */
export interface PromiseResolvers<R> {
  readonly promise: Promise<R>;
  readonly resolve: (value: R | PromiseLike<R>) => void;
  readonly reject: (reason: unknown) => void;
}

export interface WaitTimes<R> {
  /** The deadline on the clock of `now()`; `Infinity` = none. */
  readonly endsAt: number;
  /** The current time of the clock. */
  readonly now: number;
  /** The promise to settle with the wait, unless it was settled before. @default a new one */
  readonly ending?: PromiseResolvers<R>;
}

/** True for a thenable, as `await` defines it. Throws if reading `then` throws. */
export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return (
    ((typeof value === "object" && value !== null) || typeof value === "function") && "then" in value && typeof value.then === "function"
  );
}

/**
 * Waits for `work`, at most until `endsAt` or until `target.wait` is interrupted, whichever is first.
 *
 * Leaves no timer behind. If the work settles after the wait, only `createLateListener` is notified; a late rejection is not an unhandled one.
 */
export function settleWithin<T, R>(
  target: Interruptible,
  work: PromiseLike<T>,
  outcome: WaitOutcome<T, R>,
  times: WaitTimes<R>,
): Promise<R> {
  const ending = times.ending ?? Promise.withResolvers<R>();
  const wait = new Wait(target, outcome, ending);
  target.wait = wait;
  subscribe(work, wait);
  if (target.cancelled !== undefined) wait.interrupt(target.cancelled);
  else if (!wait.isEnded && times.endsAt !== Infinity) wait.setTimer(times.endsAt, times.now, target.clock);
  return ending.promise;
}

/** Subscribes as `await` does: a promise that was tampered with cannot throw here, nor call back synchronously or twice. */
function subscribe<T, R>(work: PromiseLike<T>, wait: Wait<T, R>): void {
  try {
    void Promise.prototype.then.call(
      Promise.resolve(work),
      (value) => wait.fulfilled(value as T), // `call` loses the type of the promise
      (thrown: unknown) => wait.rejected(thrown),
    );
  } catch (thrown: unknown) {
    queueMicrotask(() => wait.rejected(thrown));
  }
}

/** The wait of one `settleWithin`. Drops its references when it ends, since work that never settles keeps the wait in memory for good. */
class Wait<T, R> implements Interrupt, Expiring {
  #target: Interruptible | undefined;
  /** undefined once the wait has ended. */
  #outcome: WaitOutcome<T, R> | undefined;
  #ending: PromiseResolvers<R> | undefined;
  #timer: Timer | undefined = undefined;
  #lateListener: LateListener | undefined = undefined;

  constructor(target: Interruptible, outcome: WaitOutcome<T, R>, ending: PromiseResolvers<R>) {
    this.#target = target;
    this.#outcome = outcome;
    this.#ending = ending;
  }

  get isEnded(): boolean {
    return this.#outcome === undefined;
  }

  moveDeadline(endsAt: number): void {
    const clock = this.#target?.clock;
    if (clock === undefined || this.#outcome?.acceptDeadline?.(endsAt) !== true) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (endsAt !== Infinity) this.setTimer(endsAt, clock.now(), clock);
  }

  setTimer(endsAt: number, now: number, clock: Clock): void {
    this.#timer = clock.expiry === undefined ? startTimer(this, Math.max(0, endsAt - now), clock) : clock.expiry(this, endsAt);
  }

  /** Called at the deadline, by a timer: an error of a program's own locks or slots that are asked for the reason must not escape. */
  expire(): void {
    if (this.#outcome === undefined) return;
    let error: ToolError;
    try {
      error = this.#outcome.timeoutError();
    } catch (thrown: unknown) {
      return this.rejected(thrown);
    }
    this.interrupt(error);
  }

  fulfilled(value: T): void {
    const outcome = this.#outcome;
    if (outcome === undefined) return this.#lateListener?.onSettled("returned");
    const ending = this.#end();
    try {
      settle(ending, outcome.value(value));
    } catch (error: unknown) {
      ending?.reject(error);
    }
  }

  rejected(thrown: unknown): void {
    const outcome = this.#outcome;
    if (outcome === undefined) return this.#lateListener?.onSettled("threw");
    const ending = this.#end();
    try {
      settle(ending, outcome.thrown(thrown));
    } catch (error: unknown) {
      ending?.reject(error);
    }
  }

  interrupt(error: ToolError): void {
    const outcome = this.#outcome;
    if (outcome === undefined) return;
    const ending = this.#end();
    try {
      settle(ending, outcome.ended(error));
    } catch (failure: unknown) {
      ending?.reject(failure);
    }
    this.#lateListener = outcome.createLateListener?.();
  }

  #end(): PromiseResolvers<R> | undefined {
    const ending = this.#ending;
    if (this.#target !== undefined) this.#target.wait = undefined;
    this.#timer?.cancel();
    this.#target = undefined;
    this.#outcome = undefined;
    this.#ending = undefined;
    this.#timer = undefined;
    return ending;
  }
}

/** Makes a timer on a clock without `expiry`. */
function startTimer(target: Expiring, delayMs: number, clock: Clock): Timer {
  return { cancel: clock.timer(() => target.expire(), delayMs) };
}

/** Settles `ending`. A promise is subscribed to, not passed to `resolve`, so that `ending` can still be settled otherwise until then. */
function settle<R>(ending: PromiseResolvers<R> | undefined, end: R | Promise<R>): void {
  if (end instanceof Promise) void end.then(ending?.resolve, ending?.reject);
  else ending?.resolve(end);
}

export type Waited<T> = { readonly value: T } | { readonly thrown: unknown } | { readonly ended: ToolError };

export interface WaitOptions {
  /** The deadline on the clock of `now()`; `Infinity` = none. */
  readonly endsAt: number;
  readonly timeoutError: () => ToolError;
}

/** `settleWithin` for callers that inspect the outcome themselves. Never rejects. */
export function waitFor<T>(target: Interruptible, work: PromiseLike<T>, options: WaitOptions): Promise<Waited<T>> {
  const outcome: WaitOutcome<T, Waited<T>> = {
    value: (value) => ({ value }),
    thrown: (thrown) => ({ thrown }),
    ended: (ended) => ({ ended }),
    timeoutError: options.timeoutError,
  };
  return settleWithin(target, work, outcome, { endsAt: options.endsAt, now: options.endsAt === Infinity ? 0 : target.clock.now() });
}

/** Starts work that may throw synchronously, which then rejects the promise. */
export function startWork<T>(work: () => T | PromiseLike<T>): Promise<T> {
  return new Promise((resolve) => resolve(work()));
}
