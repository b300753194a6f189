/** Keeps what is known of a call's effect over its attempts. */
import { ToolError, hintsOf } from "../../core/error.ts";
import type { Outcome } from "../../core/error-codes.ts";
import type { ResumedCall } from "../admit/earlier-calls.ts";
import { continuesElsewhere } from "./attach-to-work.ts";
import { isAdmitted, type AdmittedCall, type CallRun } from "../call-run.ts";

/** How little is known: the higher, the less. */
const DOUBT: Readonly<Record<Outcome, number>> = { not_started: 0, failed: 1, unknown: 2 };

/**
 * The end of a further attempt. Where an earlier one may have had the effect, the call may have had it, even if the last never began: its
 * error then has the outcome of the earlier one.
 */
export function sinceEarlier(run: AdmittedCall, earlier: ToolError, last: ToolError): ToolError {
  return atLeast(run, earlier.outcome, last);
}

/** The end of a call that came while none of its attempts ran, as while the next one waited for locks: its effect is what they have left. */
export function endedBetween(earlier: ToolError, last: ToolError): ToolError {
  return withOutcome(last, earlier.outcome);
}

/**
 * Of a call from before a crash that is run again. One that may be repeated has no intent in its log: it may have been run, unless it was a job that
 * had not been started. What continues elsewhere is the same work.
 */
export function noteEarlierRun(run: AdmittedCall, resumed: ResumedCall): void {
  if (run.effects.repeatable && !run.isAnswered && resumed.job?.starts !== 0 && !continuesElsewhere(run)) resumed.mayHaveRun = true;
}

/** The end of a call that was run again after a crash: what ran before it may have had the effect. */
export function sinceCrash(run: CallRun, last: ToolError): ToolError {
  return run.resumed?.mayHaveRun === true && isAdmitted(run) ? atLeast(run, "unknown", last) : last;
}

function atLeast(run: AdmittedCall, outcome: Outcome, last: ToolError): ToolError {
  if (run.effects.writes.length === 0 || !run.isReal || DOUBT[outcome] <= DOUBT[last.outcome]) return last;
  const error = withOutcome(last, outcome);
  if (run.answer.engineError === last) run.answer.engineError = error; // it is the engine's answer all the same
  return error;
}

function withOutcome(error: ToolError, outcome: Outcome): ToolError {
  const { code, message, retryable, details, retryAfterMs } = error;
  return new ToolError(code, message, {
    retryable,
    details,
    outcome,
    cause: error,
    ...hintsOf(error),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}
