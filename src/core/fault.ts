/** Failures that are put into calls on purpose, as data. */

/**
 * The faults of a call. Those that fail or end without an answer call no tool, except `crash_after_commit`; the others, and
 * `schema_violation`, ask a tool that is real, so that what it does is done.
 *
 * `network_error`: fails before anybody is asked. `unparseable_result`: succeeds with a text that is garbled. `schema_violation`: fails
 * with the message. `empty_result`: succeeds with nothing in it. `latency`: answers later. `timeout`: does not answer before its
 * time is up. `rate_limited`: 429 with Retry-After. `partial_result`: answers with a part of the answer. `crash_before_commit`: breaks
 * off before anything is done, `crash_after_commit` after all of it is done, and neither tells which.
 */
export const FAULT_TYPES = [
  "network_error",
  "unparseable_result",
  "schema_violation",
  "empty_result",
  "latency",
  "timeout",
  "rate_limited",
  "partial_result",
  "crash_before_commit",
  "crash_after_commit",
] as const;
/** The name of a fault that can be put into calls. */
export type FaultType = (typeof FAULT_TYPES)[number];

/** One kind of failure: how likely it is, and which calls it may hit. */
export interface FaultRule {
  /** One of `FAULT_TYPES`; of a search also a name of your own, which fails as `Simulated error: <type>`. */
  readonly type: string;
  /** How likely it hits a call, from 0 to 1. Each rule is drawn by itself; where several hit, one of them is drawn. */
  readonly probability: number;
  /** Patterns over qualified names. @default every tool */
  readonly tools?: string | readonly string[];
  /** The message of the error. @default that of a real error of the type, such as that the service asks to slow down; of a type of your own `Simulated error: <type>` */
  readonly message?: string;
  /** Whether its error says that trying again may help. @default as the real error */
  readonly retryable?: boolean;
  /** How many attempts of the call it hits, from the first on. Integer ≥ 1. @default all of them */
  readonly attempts?: number;
  /** Of `latency`: how long the answer waits, in milliseconds, or between which two. @default [100, 1_000] */
  readonly delayMs?: number | readonly [least: number, most: number];
  /** Of `rate_limited`, in milliseconds. @default 1_000 */
  readonly retryAfterMs?: number;
}

/**
 * Which calls fail on purpose, and how.
 *
 * They count for no circuit, whatever answers the call: they are injected on purpose.
 */
export interface FaultPlan {
  /**
   * The same seed hits the same calls, whatever the timing and the order of different calls. A call is known by its session, its tool, its
   * input as it was sent, and how many equal calls its session made before. A session is known by the id that the program gave it, or else
   * by how many were begun without one; a branch by the session it comes from. @default 0
   */
  readonly seed?: number | string;
  /** Where several hit a call, it meets one of them. */
  readonly rules: readonly FaultRule[];
}
