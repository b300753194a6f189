/** Everything the runtime takes from the outside world, so that a test can hold all of it still. */

/** Where time comes from. The system's is used where a runtime is given none. */
export interface Clock {
  /** Monotonic milliseconds from an arbitrary origin; may be fractional. For durations, deadlines and waits. */
  now(): number;
  /** Milliseconds since the epoch. For timestamps only. */
  wallTime(): number;
  /**
   * Milliseconds of processor time that this thread has used at `now`, a time of `now()`; may be a few milliseconds old. It distinguishes
   * work that takes long from a process that had no processor. Called for each call. @default it is taken for work
   */
  processorTime?(now: number): number;
  /** Calls `fire` once after at least `delayMs`, any finite length; the returned function cancels it. Does not keep the process alive when `background`. */
  timer(fire: () => void, delayMs: number, options?: { readonly background?: boolean }): () => void;
  /** As `timer`, for an object that expires once `now()` has come to `at`: it costs no function. @default `timer` is called */
  expiry?(target: Expiring, at: number): Timer;
  /** Keeps the process alive until `release` has been called as often: called while a caller waits for a result. @default the process may end */
  hold?(): void;
  release?(): void;
}

/** An object that has a deadline. */
export interface Expiring {
  /** Called once when its deadline has come. */
  expire(): void;
}

/** A timer that was set. */
export interface Timer {
  cancel(): void;
}

/** Where randomness comes from. */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
}

/** Where ids come from. */
export interface Ids {
  /** A new id, unique in the process and unguessable across processes, beginning with `prefix` and `_`. */
  next(prefix: string): string;
}

/** Where messages for the operator go. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
}

/** The fields of a log message besides its text. */
export type LogFields = Readonly<Record<string, unknown>>;

/** The outside dependencies of a runtime: time, randomness, ids and a log. Those that `RuntimeOptions.ports` leaves out are the system's. */
export interface Ports {
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: Ids;
  readonly log: Log;
}
