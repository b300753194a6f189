/** Begins the call's session at its engine, before the engine's first call in it. */
import { ToolError, describeThrown } from "../../core/error.ts";
import { waitFor } from "../../policy/attempts/deadline.ts";
import type { AdmittedCall } from "../call-run.ts";
import { startTimeoutError } from "./not-started-errors.ts";

/** Longest time that an engine may take to begin a session, in milliseconds. */
const TIMEOUT_MS = 30_000;

export async function openEngineSession(run: AdmittedCall): Promise<AdmittedCall | ToolError> {
  const { engine } = run.route;
  if (run.sessionForEngine.closed && run.sessionForEngine !== run.turn.session)
    return new ToolError("unavailable", `${run.toolName} was not started: the session whose engine it shares is closed.`);
  const opening = run.sessionForEngine.engines.open(engine);
  if (opening === undefined) return run;
  const waited = await waitFor(run, opening.done, {
    endsAt: Math.min(run.clock.now() + TIMEOUT_MS, run.deadlineAt),
    timeoutError: () => startTimeoutError(run, "its engine did not begin the session in time."),
  });
  if ("value" in waited) return run;
  if ("ended" in waited) {
    opening.release(waited.ended);
    return waited.ended;
  }
  return new ToolError("unavailable", `The engine of ${run.toolName} could not begin the session: ${describeThrown(waited.thrown)}`, {
    cause: waited.thrown,
  });
}
