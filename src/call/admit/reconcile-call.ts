/** Finds out what happened to a call that a crash interrupted, before it could be run twice. */
import type { Effects } from "../../core/resources/effects.ts";
import { ToolError, describeThrown } from "../../core/error.ts";
import { withoutSafetyChecks } from "../../core/safety-checks.ts";
import { startWork, waitFor } from "../../policy/attempts/deadline.ts";
import { announceWriteEnd } from "../cache/announce-write.ts";
import type { AdmittedCall } from "../call-run.ts";
import type { ResumedCall } from "./earlier-calls.ts";

type Reconcile = NonNullable<Effects["reconcile"]>;

/** Longest time that one `reconcile` may take, in milliseconds. */
const TIMEOUT_MS = 30_000;

/** Calls the tool's `reconcile` for an interrupted call that may not be repeated. Without an answer, the outcome is unknown. */
export function reconcileCall(run: AdmittedCall, resumed: ResumedCall): AdmittedCall | ToolError | Promise<AdmittedCall | ToolError> {
  announceWriteEnd(run);
  if (run.effects.repeatable && (!resumed.hasNestedIntent || mayRepeatNestedCalls(run))) {
    resumed.isInterrupted = false;
    if (resumed.hasIntent) resumed.mayHaveRun = true;
    return run;
  }
  const { reconcile } = run.plan.tool.effects ?? {};
  return reconcile === undefined ? outcomeUnknownError(run.toolName) : callReconcile(run, resumed, reconcile);
}

/** Whether the handler may be run again although calls that it made may not: it gets their recorded results, or its tool allows it. */
export function mayRepeatNestedCalls({ plan, effects }: AdmittedCall): boolean {
  return plan.tool.composite === true || (effects.writes.length > 0 && effects.repeatable);
}

async function callReconcile(run: AdmittedCall, resumed: ResumedCall, reconcile: Reconcile): Promise<AdmittedCall | ToolError> {
  const controller = new AbortController();
  const { callId, toolName, idempotencyKey } = run;
  const input = withoutSafetyChecks(run.input, run.safetyChecks);
  const context = { callId, toolName, idempotencyKey, data: run.options.data, input, signal: controller.signal };
  const reconciling = startWork(() => reconcile(context));
  const waited = await waitFor(run, reconciling, {
    endsAt: Math.min(run.clock.now() + TIMEOUT_MS, run.deadlineAt),
    timeoutError: () => new ToolError("timeout", "Its reconcile() did not answer in time."),
  });
  if ("ended" in waited) {
    controller.abort(waited.ended);
    return outcomeUnknownError(run.toolName, waited.ended.message);
  }
  if ("thrown" in waited) return outcomeUnknownError(run.toolName, `Its reconcile() failed: ${describeThrown(waited.thrown)}`);
  const { value } = waited;
  // Only true and false count as answers: anything else taken for false would run the call twice.
  if (value?.happened === true) {
    run.answer.raw = value.output;
    resumed.isAnswered = true;
    resumed.redoChanges();
  } else if (value?.happened !== false) return outcomeUnknownError(run.toolName);
  resumed.isInterrupted = false;
  return run;
}

/** The error of a call that may have had its effect, about which nothing more is known. */
export function outcomeUnknownError(toolName: string, reason?: string): ToolError {
  const why = reason === undefined ? "" : ` ${reason}`;
  return new ToolError("outcome_unknown", `The process ended while ${toolName} ran; it is not known whether it took effect.${why}`, {
    hint: "Check before calling it again.",
  });
}
