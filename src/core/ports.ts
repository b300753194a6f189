/** Everything the runtime takes from the outside world, so that a test can hold all of it still. */

export interface Clock {
  /** Monotonic milliseconds from an arbitrary origin; may be fractional. For durations, deadlines and waits. */
  now(): number;
  /** Milliseconds since the epoch. For timestamps only. */
  wallTime(): number;
  /** Calls `fire` once after at least `delayMs`, any finite length; the returned function cancels it. Does not keep the process alive when `background`. */
  timer(fire: () => void, delayMs: number, options?: { readonly background?: boolean }): () => void;
  /** Keeps the process alive until `release` has been called as often: called while somebody waits for a result. @default the process may end */
  hold?(): void;
  release?(): void;
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

/** What a message of a log says beside its words. */
export type LogFields = Readonly<Record<string, unknown>>;

/** What a runtime takes from outside: time, randomness, ids and a log. */
export interface Ports {
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: Ids;
  readonly log: Log;
}
