/** Writes down what is about to be done, where doing it twice would be wrong, before it is done. */
import { ToolError, hintsOf } from "../core/error.ts";
import type { AdmittedCall } from "./call-run.ts";
import { untilKept } from "./until-kept.ts";

/**
 * Records the intent of a call that writes and may not be repeated, once it has everything else it needs to run, and waits until a
 * crash cannot lose it. After a crash, such a call without an intent was never started.
 *
 * A store that cannot write ends the call as `store_failed`: it was not started. A job waits for it.
 */
export function recordIntent(run: AdmittedCall): ToolError | undefined | Promise<ToolError | undefined> {
  const { session } = run.turn;
  const { eventLog } = session;
  if (eventLog === undefined || run.attempts > 0 || !run.isLogged || run.effects.repeatable || !run.route.rules.isConsequential)
    return undefined;
  run.record({
    ...run.eventBase,
    type: "call-intent",
    toolName: run.toolName,
    input: run.input,
    idempotencyKey: run.idempotencyKey,
  });
  if (session.broken !== undefined) return notStarted(run, session.broken);
  if (eventLog.options.durability === "async") return undefined;
  return untilKept(run, { late: () => intentNotWritten(run), failed: (error) => notStarted(run, error) });
}

function notStarted(run: AdmittedCall, error: ToolError): ToolError {
  return new ToolError(error.code, `${run.toolName} was not started: ${error.message}`, {
    outcome: "not_started",
    retryable: error.retryable,
    cause: error,
    ...hintsOf(error),
  });
}

function intentNotWritten({ toolName }: AdmittedCall): ToolError {
  return new ToolError("timeout", `${toolName} was not started: the store had not written its intent before the call's deadline.`, {
    retryable: false,
    outcome: "not_started",
  });
}
