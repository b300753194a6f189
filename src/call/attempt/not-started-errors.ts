/** The errors of a call that was not started, because something it waited for was late or failed. */
import { ToolError, pickHints } from "../../core/error.ts";
import type { AdmittedCall, CallRun } from "../call-run.ts";

type Named = Pick<CallRun, "toolName">;

/** @param reason a sentence that follows "… was not started: " */
export function startTimeoutError({ toolName }: Named, reason: string): ToolError {
  return new ToolError("timeout", `${toolName} was not started: ${reason}`, { retryable: false, outcome: "not_started" });
}

/** Like `startTimeoutError`, with the code, hints and cause of the error that keeps the call from starting. */
export function notStartedError({ toolName }: Named, error: ToolError, reason: string = error.message): ToolError {
  return new ToolError(error.code, `${toolName} was not started: ${reason}`, {
    outcome: "not_started",
    retryable: error.retryable,
    cause: error,
    ...pickHints(error),
  });
}

/** The error of an attempt that was due after the call's deadline. */
export function deadlinePassedError(run: AdmittedCall): ToolError {
  const started = run.attempts === 0 ? "was not started" : "was not tried again";
  return new ToolError("timeout", `${run.toolName} ${started}: the call's deadline of ${run.plan.settings.deadlineMs} ms had passed.`, {
    retryable: false,
    outcome: run.attempts === 0 ? "not_started" : "unknown",
  });
}

/** The error while the circuit is open for another `waitMs`. @param causes its latest failures */
export function circuitOpenError({ toolName }: Named, waitMs: number, causes: readonly string[] = []): ToolError {
  return new ToolError("circuit_open", `${toolName} has failed repeatedly: calls are refused for another ${Math.ceil(waitMs)} ms.`, {
    retryAfterMs: Math.ceil(waitMs),
    retryable: false,
    hint: "Use another tool, or try again later.",
    ...(causes.length === 0 ? {} : { details: [`The latest failures: ${causes.join(", ")}.`] }),
  });
}
