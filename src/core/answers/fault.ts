/** Faults that are injected into calls on purpose, as data. */

/**
 * The types of faults. Faults that fail or end without an answer do not call the tool, except `crash_after_commit`; the others, and
 * `schema_violation`, do call a real tool, so its effect happens.
 *
 * `network_error`: fails before the tool is called. `unparseable_result`: succeeds with garbled text. `schema_violation`: fails with the message.
 * `empty_result`: succeeds with an empty answer. `latency`: answers later. `timeout`: does not answer in time. `rate_limited`: 429 with Retry-After.
 * `partial_result`: answers with a part of the answer. `crash_before_commit`: crashes before the effect, `crash_after_commit` after it; the error
 * does not tell which.
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
/** A fault type: one of `FAULT_TYPES`. */
export type FaultType = (typeof FAULT_TYPES)[number];

/** One type of fault: how likely it is, and which calls it may hit. */
export interface FaultRule {
  /** One of `FAULT_TYPES`; for a search also a name of your own, which fails as `Simulated error: <type>`. */
  readonly type: string;
  /** The probability that the fault hits a call, from 0 to 1. Each rule is drawn separately; if several hit, one of them is drawn. */
  readonly probability: number;
  /** Patterns for qualified names. @default every tool */
  readonly tools?: string | readonly string[];
  /** The message of the error. @default that of a real error of the type; for a type of your own `Simulated error: <type>` */
  readonly message?: string;
  /** Whether the error is retryable. @default as the real error */
  readonly retryable?: boolean;
  /** How many attempts of a call are hit, starting with the first. Integer ≥ 1. @default all of them */
  readonly attempts?: number;
  /** For `latency`: how long the answer is delayed, in milliseconds, or the range of the delay. @default [100, 1_000] */
  readonly delayMs?: number | readonly [least: number, most: number];
  /** For `rate_limited`, in milliseconds. @default 1_000 */
  readonly retryAfterMs?: number;
}

/**
 * Which calls fail on purpose, and how.
 *
 * Injected faults do not count for circuits, whatever answers the call.
 */
export interface FaultPlan {
  /**
   * The same seed hits the same calls, whatever the timing and the order of different calls. A call is identified by its session, its tool, its input
   * as it was sent, and how many equal calls its session made before. A session is identified by the id that the program gave it, or else by how many
   * were created without one; a branch by the session it comes from. @default 0
   */
  readonly seed?: number | string;
  /** The rules. If several hit a call, one of them applies. */
  readonly rules: readonly FaultRule[];
}
