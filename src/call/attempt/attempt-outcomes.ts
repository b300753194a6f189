/** Keeps what is known about a call's effect over its attempts. */
import { ToolError, pickHints, type ToolErrorOptions } from "../../core/error.ts";
import { isJsonObject } from "../../core/base/json.ts";
import type { Outcome } from "../../core/error-codes.ts";
import type { ResumedCall } from "../admit/earlier-calls.ts";
import { attachesToRemoteJob } from "./attach-remote-job.ts";
import { isAdmitted, type AdmittedCall, type CallRun } from "../call-run.ts";

/** How uncertain an outcome is: higher is less certain. */
const UNCERTAINTY: Readonly<Record<Outcome, number>> = { not_started: 0, failed: 1, unknown: 2 };

/** The error of a further attempt. If an earlier one may have had the effect, the error gets its outcome, even if the last attempt never began. */
export function withLeastCertainOutcome(run: AdmittedCall, earlier: ToolError, last: ToolError): ToolError {
  return withOutcomeAtLeast(run, earlier.outcome, last);
}

/** The error of a call that ended between two attempts, for example while it waited for locks: its outcome is that of the earlier attempts. */
export function withEarlierOutcome(earlier: ToolError, last: ToolError): ToolError {
  return withOutcome(last, earlier.outcome);
}

/**
 * Notes whether a call from before a crash may have been run. A repeatable call has no intent in its log, so it may have been run, unless it was a
 * job that had not been started. Work that continues elsewhere is still the same run.
 */
export function markPossibleEarlierRun(run: AdmittedCall, resumed: ResumedCall): void {
  if (run.effects.repeatable && !run.isAnswered && resumed.job?.starts !== 0 && !attachesToRemoteJob(run)) resumed.mayHaveRun = true;
}

/**
 * The error of a call from before a crash that was run again, or that is refused now, for example because its tool was removed: the earlier run may
 * have had the effect.
 */
export function withOutcomeSinceCrash(run: CallRun, last: ToolError): ToolError {
  const { resumed } = run;
  if (resumed === undefined) return last;
  const isRefusal = last === run.refusal; // its outcome is from the log
  const mayHaveBegun = resumed.mayHaveBegun && !isRefusal && last.outcome === "not_started";
  if (!isAdmitted(run)) return mayHaveBegun && mayHaveWritten(run) ? withOutcome(last, "unknown") : last;
  if (mayHaveBegun) markPossibleEarlierRun(run, resumed);
  return resumed.mayHaveRun ? withOutcomeAtLeast(run, "unknown", last) : last;
}

/** Whether a call that was not admitted may have written, without an intent in its log: its tool is unknown, or its writes may be repeated. */
function mayHaveWritten({ plan, call: { input } }: CallRun): boolean {
  const effects = plan?.effectsOf(isJsonObject(input) ? input : {});
  return effects === undefined || (effects.repeatable && effects.writes.length > 0);
}

/** The error of a call whose handler has begun, and whose own calls may have had an effect: the call was not without one. */
export function withNestedOutcome(run: CallRun, last: ToolError): ToolError {
  if (run.hasNestedEffect !== true || last.outcome !== "not_started" || !isAdmitted(run)) return last;
  return asAnswerOf(run, last, withOutcome(last, "unknown"));
}

/** The error of a call that is not tried again because its tool has used up its retry budget: its `operatorHint` gives this reason. */
export function outOfRetries(run: AdmittedCall, last: ToolError): ToolError {
  return notTriedAgain(
    run,
    last,
    "has used up its retry budget, which is ten retries or a tenth of its recent calls. Make the call again later.",
  );
}

/** The error of a call that is not tried again because the circuit of its tool opened during the wait: its `operatorHint` gives this reason. */
export function stoppedByCircuit(run: AdmittedCall, last: ToolError, retryAfterMs: number | undefined): ToolError {
  const wait = retryAfterMs === undefined ? "" : ` Make the call again in ${Math.ceil(retryAfterMs)} ms.`;
  return notTriedAgain(run, last, `has failed repeatedly, so its circuit opened.${wait}`);
}

function notTriedAgain(run: AdmittedCall, last: ToolError, why: string): ToolError {
  const reason = `It was not tried again after attempt ${run.attempts} of ${run.plan.settings.maxAttempts}: ${run.toolName} ${why}`;
  const operatorHint = last.operatorHint === undefined ? reason : `${last.operatorHint} ${reason}`;
  return asAnswerOf(run, last, copyError(last, { operatorHint }));
}

function withOutcomeAtLeast(run: AdmittedCall, outcome: Outcome, last: ToolError): ToolError {
  if (run.effects.writes.length === 0 || !run.isReal || UNCERTAINTY[outcome] <= UNCERTAINTY[last.outcome]) return last;
  return asAnswerOf(run, last, withOutcome(last, outcome));
}

/** Returns the error, which still counts as the engine's answer if the earlier one did. */
function asAnswerOf(run: AdmittedCall, last: ToolError, error: ToolError): ToolError {
  if (run.answer.engineError === last) run.answer.engineError = error;
  return error;
}

function withOutcome(error: ToolError, outcome: Outcome): ToolError {
  return copyError(error, { outcome });
}

function copyError(error: ToolError, change: Pick<ToolErrorOptions, "outcome" | "operatorHint">): ToolError {
  const { code, message, retryable, details, outcome, retryAfterMs } = error;
  return new ToolError(code, message, {
    retryable,
    details,
    outcome,
    cause: error,
    ...pickHints(error),
    ...change,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}
