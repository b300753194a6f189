/** The phases of a call that waited or was retried. Other calls create nothing here. */
import type { CallPhase } from "../../core/call-phase.ts";
import type { ErrorCode } from "../../core/error-codes.ts";
import type { Clock } from "../../core/ports.ts";
import type { Mutable } from "../../core/base/mutable.ts";
import { roundMs } from "../../core/system/system-ports.ts";

/** Shortest wait that is reported, in milliseconds. */
export const REPORTED_WAIT_MS = 1;

/** The part of a call that is used here. */
interface TimedCall {
  readonly clock: Clock;
  readonly startedAt: number;
  /** When its latest attempt began. */
  readonly attemptAt: number;
  /** Whether its events have listeners or are logged. */
  readonly hasObservers: boolean;
  timing: CallTiming | undefined;
}

type Attempt = Mutable<Extract<CallPhase, { phase: "attempt" }>>;

/** The phases of one call so far, in order. */
export class CallTiming {
  readonly #phases: CallPhase[] = [];
  /** When the latest attempt among the phases began, on the monotonic clock. */
  #lastAttemptAt = -Infinity;
  #hasEnded = false;

  add(phase: CallPhase): void {
    this.#phases.push(phase);
  }

  /** Adds the latest attempt and returns it; undefined if it was added before. */
  addAttempt(run: TimedCall): Attempt | undefined {
    if (run.attemptAt <= this.#lastAttemptAt) return undefined;
    this.#lastAttemptAt = run.attemptAt;
    const attempt: Attempt = { phase: "attempt", ...span(run, run.attemptAt) };
    this.#phases.push(attempt);
    return attempt;
  }

  /** Notes how late an abandoned handler ended. */
  noteLateEnd(attempt: Attempt, lateMs: number): void {
    if (!this.#hasEnded) attempt.lateMs = roundMs(lateMs);
  }

  /** Returns the phases; undefined if the call's start and duration say as much. */
  finish(): readonly CallPhase[] | undefined {
    this.#hasEnded = true;
    const [first] = this.#phases;
    if (first === undefined || (this.#phases.length === 1 && first.phase === "attempt")) return undefined;
    for (const phase of this.#phases) Object.freeze(phase);
    return Object.freeze(this.#phases);
  }
}

/** Notes a wait that has ended. */
export function noteWait(run: TimedCall, phase: "approval" | "slot" | "backoff", since: number): void {
  if (run.hasObservers && run.clock.now() - since >= REPORTED_WAIT_MS) timingOf(run).add({ phase, ...span(run, since) });
}

/** Like `noteWait`, for a wait for locks. */
export function noteLockWait(run: TimedCall, since: number, holders: readonly string[]): void {
  if (run.hasObservers && run.clock.now() - since >= REPORTED_WAIT_MS) timingOf(run).add({ phase: "lock", ...span(run, since), holders });
}

/** Notes the end of an attempt, unless it was noted before. */
export function noteAttempt(run: TimedCall, error?: ErrorCode): void {
  if (!run.hasObservers) return;
  const attempt = timingOf(run).addAttempt(run);
  if (attempt !== undefined && error !== undefined) attempt.error = error;
}

/** Notes an abandoned attempt. Call the returned function when its handler has ended. */
export function noteAbandoned(run: TimedCall, error: ErrorCode): ((lateMs: number) => void) | undefined {
  if (!run.hasObservers) return undefined;
  const timing = timingOf(run);
  const attempt = timing.addAttempt(run);
  if (attempt === undefined) return undefined;
  attempt.error = error;
  attempt.abandoned = true;
  return (lateMs) => timing.noteLateEnd(attempt, lateMs);
}

function timingOf(run: TimedCall): CallTiming {
  return (run.timing ??= new CallTiming());
}

function span(run: TimedCall, since: number): { readonly atMs: number; readonly ms: number } {
  return { atMs: roundMs(since - run.startedAt), ms: roundMs(run.clock.now() - since) };
}
