/** The errors of a call that was not started, because something it waited for was late or failed. */
import { ToolError, pickHints } from "../../core/error.ts";
import type { CallRun } from "../call-run.ts";

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
