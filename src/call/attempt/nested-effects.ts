/** Notes which calls had an effect through the calls of their handlers: to run such a handler again would repeat it. */
import type { ToolError } from "../../core/error.ts";
import { mayRepeatNestedCalls } from "../admit/reconcile-call.ts";
import { isAdmitted, type AdmittedCall, type CallRun } from "../call-run.ts";

/** Notes, for the calls around this one, that it has ended, and whether it may have had an effect that must not be repeated. */
export function noteNestedEffect(run: CallRun, error: ToolError | undefined): void {
  const hadEffect = error?.outcome !== "not_started" && mayHaveEffect(run) && (run.attempts > 0 || run.isAnswered);
  for (let outer = run.callerRun; outer !== undefined; outer = outer.callerRun) {
    outer.openNested = (outer.openNested ?? 1) - 1;
    if (hadEffect) outer.hasNestedEffect = true;
  }
}

/**
 * Whether another attempt of a call might repeat an effect of its handler's calls: one that they had, or may still have. A tool that declares its
 * writes as idempotent says that its handler may be run again. A composite tool gets the recorded results of its calls.
 */
export function mightRepeatNestedEffect(run: AdmittedCall): boolean {
  const { services, openNested = 0 } = run;
  if (mayRepeatNestedCalls(run)) return false;
  return (
    run.hasNestedEffect === true || (openNested !== 0 && services.running.all().some((one) => mayHaveEffect(one) && isNestedIn(one, run)))
  );
}

/** Whether a resumed call, which has its result or continues as a job, may have had an effect that must not be repeated, or may still have it. */
export function mayHaveChangedSomething(run: CallRun): boolean {
  if (run.hasNestedEffect === true) return true;
  return (
    mayHaveEffect(run) && (run.result === undefined || run.attempts > 0 || run.isAnswered) && run.result?.error?.outcome !== "not_started"
  );
}

function mayHaveEffect(run: CallRun): boolean {
  return isAdmitted(run) && run.isReal && run.effects.writes.length > 0 && !run.effects.repeatable && run.plan.tool.composite !== true;
}

function isNestedIn(run: CallRun, outer: CallRun): boolean {
  let caller = run.callerRun;
  while (caller !== undefined && caller !== outer) caller = caller.callerRun;
  return caller === outer;
}
