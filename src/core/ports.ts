/** Everything that the runtime takes from its environment, so that tests can control all of it. */

/** A source of time. A runtime without one uses the system's. */
export interface Clock {
  /** Monotonic milliseconds from an arbitrary origin; may be fractional. For durations, deadlines and waits. */
  now(): number;
  /** Milliseconds since the epoch. For timestamps only. */
  wallTime(): number;
  /**
   * Returns the processor time of this thread at `now` (a value of `now()`), in milliseconds; may be a few milliseconds old. It distinguishes work
   * that takes long from a process that was not scheduled. Called for each call. @default all elapsed time counts as work
   */
  processorTime?(now: number): number;
  /** Calls `fire` once after at least `delayMs`, any finite length; the returned function cancels it. With `background`, lets the process exit. */
  timer(fire: () => void, delayMs: number, options?: { readonly background?: boolean }): () => void;
  /** Like `timer`, for an object that expires when `now()` reaches `at`, without allocating a function. @default `timer` is used */
  expiry?(target: Expiring, at: number): Timer;
  /** Keeps the process alive until `release` has been called as often; called while a caller waits for a result. @default the process may end */
  hold?(): void;
  release?(): void;
  /**
   * The clock for waits on servers and programs of toolsets: to open, list and close them, and within their engines. For a clock that skips time,
   * which they do not. @default this clock
   */
  readonly real?: Clock;
}

/** An object with a deadline. */
export interface Expiring {
  /** Called once, when the deadline is reached. */
  expire(): void;
}

/** A timer that can be cancelled. */
export interface Timer {
  cancel(): void;
}

/** A source of randomness. */
export interface Random {
  /** Returns a number in [0, 1). */
  next(): number;
}

/** A source of ids. */
export interface Ids {
  /** Returns a new id that begins with `prefix` and `_`, unique in the process and unguessable from other processes. */
  next(prefix: string): string;
}

/** A log for the operator. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
}

/** Structured fields of a log message. */
export type LogFields = Readonly<Record<string, unknown>>;

/** The environment of a runtime: time, randomness, ids and a log. Ports that `RuntimeOptions.ports` leaves out are the system's. */
export interface Ports {
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: Ids;
  readonly log: Log;
}
