/** Undoes the effects of the calls of a failed batch, if their tools have an `undo`. */
import { ToolError, describeThrown } from "../../core/error.ts";
import { withoutSafetyChecks } from "../../core/safety-checks.ts";
import { waitFor } from "../../policy/attempts/deadline.ts";
import type { CallRun } from "../call-run.ts";

/** Longest time that one `undo` may take, in milliseconds. */
const UNDO_TIMEOUT_MS = 30_000;

/** The latest attempt of each undoable call: its number among all attempts of the runtime, and whether its handler has answered. */
const latest = new WeakMap<CallRun, { readonly number: number; hasAnswered: boolean }>();

export function noteUndoableAttempt(run: CallRun, number: number): void {
  latest.set(run, { number, hasAnswered: false });
}

/** Notes that the handler has answered, even if a hook rejects the answer or it is too late. */
export function markAnswered(run: CallRun): void {
  const attempt = latest.get(run);
  if (attempt !== undefined) attempt.hasAnswered = true;
}

/**
 * Runs `effects.undo` of every call whose handler succeeded, one at a time, latest first; also if a hook rejected its answer, or the call was
 * cancelled before it had its result.
 *
 * An `undo` that fails or takes too long is logged, and the others still run. Never rejects.
 */
export async function undoCalls(runs: readonly CallRun[]): Promise<void> {
  for (const run of runs.toSorted((one, other) => numberOf(other) - numberOf(one))) {
    const succeeded = run.result?.status === "ok" || run.result?.status === "partial" || hasSucceeded(run);
    if (run.simulated && run.effects?.writesWorld !== true) continue; // the branch is dropped with its changes
    if (succeeded && run.result?.origin === "live" && run.plan?.tool.effects?.undo !== undefined) await undoCall(run);
  }
}

/** Whether its handler answered without reporting a failure. */
function hasSucceeded(run: CallRun): boolean {
  return latest.get(run)?.hasAnswered === true && run.answer.error?.code !== "execution_failed";
}

function numberOf(run: CallRun): number {
  return latest.get(run)?.number ?? 0;
}

async function undoCall(run: CallRun): Promise<void> {
  const controller = new AbortController();
  // The handler's own answer, neither truncated nor changed by hooks.
  const { callId, toolName } = run;
  const { output } = run.answer;
  const input = withoutSafetyChecks(run.input ?? {}, run.safetyChecks);
  const context = { callId, toolName, data: run.options.data, input, output, signal: controller.signal };
  const undoing = new Promise<void>((resolve) => {
    resolve(run.plan?.tool.effects?.undo?.(context));
  });
  // A separate wait: the call may have been cancelled just as it succeeded, which must not end the undo.
  const waited = await waitFor({ clock: run.clock, wait: undefined }, undoing, {
    endsAt: run.clock.now() + UNDO_TIMEOUT_MS,
    timeoutError: () => new ToolError("timeout", `no answer within ${UNDO_TIMEOUT_MS} ms`),
  });
  if ("value" in waited) return;
  const reason = "thrown" in waited ? describeThrown(waited.thrown) : waited.ended.message;
  if ("ended" in waited) controller.abort(waited.ended);
  run.services.ports.log.warn(`The effects of ${run.toolName} (${run.callId}) were not undone: ${reason}`);
}
