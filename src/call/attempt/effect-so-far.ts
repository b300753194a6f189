/** Keeps what is known of a call's effect over its attempts. */
import { ToolError, hintsOf } from "../../core/error.ts";
import type { Outcome } from "../../core/error-codes.ts";
import type { AdmittedCall } from "../call-run.ts";

/** How little is known: the higher, the less. */
const DOUBT: Readonly<Record<Outcome, number>> = { not_started: 0, failed: 1, unknown: 2 };

/**
 * The end of a further attempt. Where an earlier one may have had the effect, the call may have had it, even if the last never began: its
 * error then has the outcome of the earlier one.
 */
export function sinceEarlier(run: AdmittedCall, earlier: ToolError, last: ToolError): ToolError {
  if (run.effects.writes.length === 0 || !run.isReal || DOUBT[earlier.outcome] <= DOUBT[last.outcome]) return last;
  const { code, message, retryable, details, retryAfterMs } = last;
  return new ToolError(code, message, {
    retryable,
    details,
    outcome: earlier.outcome,
    cause: last,
    ...hintsOf(last),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}
