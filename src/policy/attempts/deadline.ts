/** One wait on the outside world that ends on time: by itself, by its deadline, or by cancellation. */
import type { ToolError } from "../../core/error.ts";
import type { Clock, Expiring, Timer } from "../../core/ports.ts";

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
  /** Moves its deadline, a time on the clock, where the outcome lets it; `Infinity` = none. */
  endAt(endsAt: number): void;
}

/** The outcome of a wait. Each of `value`, `thrown` and `ended` may throw, which rejects the wait, or return a promise, which the wait then follows. */
export interface WaitOutcome<T, R> {
  /** The work fulfilled. */
  value(value: T): R | Promise<R>;
  /** The work rejected. */
  thrown(thrown: unknown): R | Promise<R>;
  /** The work was given up: its time was up, or it was cancelled. */
  ended(error: ToolError): R | Promise<R>;
  /** Makes the error when the deadline passes. */
  late(): ToolError;
  /** Takes note that the deadline is another; false, or left out, where it stays as it is. */
  moveTo?(endsAt: number): boolean;
  /** Used after `ended`: called once when the work settles after all. Of the wait, only this is kept until then. */
  whenLate?(): LateEnd | undefined;
}

export interface LateEnd {
  settled(outcome: "returned" | "threw"): void;
}

/** A promise and the functions that settle it, as `Promise.withResolvers` makes them. */
export interface Settling<R> {
  readonly promise: Promise<R>;
  readonly resolve: (value: R | PromiseLike<R>) => void;
  readonly reject: (reason: unknown) => void;
}

export interface WaitTimes<R> {
  /** On the clock of `now()`; `Infinity` = no deadline. */
  readonly endsAt: number;
  /** The time of the clock. */
  readonly now: number;
  /** Settles with the wait, unless it was settled before. @default a new one */
  readonly ending?: Settling<R>;
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
 * Leaves no timer behind. The end of the work after the wait can no longer be seen, except by
 * `whenLate`: a late rejection is not an unhandled one.
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
  follow(work, wait);
  if (target.cancelled !== undefined) wait.interrupt(target.cancelled);
  else if (!wait.over && times.endsAt !== Infinity) wait.setTimer(times.endsAt, times.now, target.clock);
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
    queueMicrotask(() => wait.rejected(thrown));
  }
}

/** The wait of one `settleWithin`; ends once, and then holds on to nothing: work that never settles keeps it for good. */
class Wait<T, R> implements Interrupt, Expiring {
  #target: Interruptible | undefined;
  /** Undefined once it is over. */
  #outcome: WaitOutcome<T, R> | undefined;
  #ending: Settling<R> | undefined;
  #timer: Timer | undefined = undefined;
  #late: LateEnd | undefined = undefined;

  constructor(target: Interruptible, outcome: WaitOutcome<T, R>, ending: Settling<R>) {
    this.#target = target;
    this.#outcome = outcome;
    this.#ending = ending;
  }

  get over(): boolean {
    return this.#outcome === undefined;
  }

  endAt(endsAt: number): void {
    const clock = this.#target?.clock;
    if (clock === undefined || this.#outcome?.moveTo?.(endsAt) !== true) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (endsAt !== Infinity) this.setTimer(endsAt, clock.now(), clock);
  }

  setTimer(endsAt: number, now: number, clock: Clock): void {
    this.#timer = clock.expiry === undefined ? timerOf(this, Math.max(0, endsAt - now), clock) : clock.expiry(this, endsAt);
  }

  /** Its deadline has come. */
  expire(): void {
    if (this.#outcome !== undefined) this.interrupt(this.#outcome.late());
  }

  fulfilled(value: T): void {
    const outcome = this.#outcome;
    if (outcome === undefined) return this.#late?.settled("returned");
    const ending = this.#end();
    try {
      settle(ending, outcome.value(value));
    } catch (error: unknown) {
      ending?.reject(error);
    }
  }

  rejected(thrown: unknown): void {
    const outcome = this.#outcome;
    if (outcome === undefined) return this.#late?.settled("threw");
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
    this.#late = outcome.whenLate?.();
  }

  #end(): Settling<R> | undefined {
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

/** On a clock that has no timers for objects. */
function timerOf(target: Expiring, delayMs: number, clock: Clock): Timer {
  return { cancel: clock.timer(() => target.expire(), delayMs) };
}

/** A promise is followed rather than taken over: until it settles, the wait can still be settled otherwise. */
function settle<R>(ending: Settling<R> | undefined, end: R | Promise<R>): void {
  if (end instanceof Promise) void end.then(ending?.resolve, ending?.reject);
  else ending?.resolve(end);
}

export type Waited<T> = { readonly value: T } | { readonly thrown: unknown } | { readonly ended: ToolError };

export interface WaitOptions {
  /** On the clock of `now()`; `Infinity` = no deadline. */
  readonly endsAt: number;
  readonly late: () => ToolError;
}

/** `settleWithin` for callers that prefer to inspect the outcome. Never rejects. */
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
  const signal = event.target; // Node.js tells the current target to the first listener alone
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
