/** Waits until the records of a call that is about to run are durable. */
import { ToolError } from "../../core/error.ts";
import { mayRecoverLater } from "../../core/store/store-refusal.ts";
import { waitFor } from "../../policy/attempts/deadline.ts";
import type { AdmittedCall } from "../call-run.ts";

/** How long a job waits before it tries a failing store again, in milliseconds. */
const RETRY_MS = 1_000;
const RETRY_DUE = new ToolError("timeout", "The store is asked again.");

export interface DurableWaitErrors {
  /** Makes the error of a call whose deadline passed. */
  readonly late: () => ToolError;
  /** Makes the error of a call whose store cannot write. */
  readonly failed: (error: ToolError) => ToolError;
}

/**
 * Returns undefined if nothing waits to be written; else resolves to the error that keeps the call from running, if any. A job was accepted already,
 * and its caller does not call again: it waits for a failing store, for as long as its session is open here.
 */
export function untilDurable(run: AdmittedCall, outcome: DurableWaitErrors): Promise<ToolError | undefined> | undefined {
  const durable = run.turn.session.eventLog?.whenDurable();
  return durable === undefined ? undefined : waitUntilDurable(run, durable, outcome);
}

async function waitUntilDurable(
  run: AdmittedCall,
  first: Promise<void>,
  { late: timeoutError, failed }: DurableWaitErrors,
): Promise<ToolError | undefined> {
  const { session } = run.turn;
  for (let durable: Promise<void> | undefined = first; durable !== undefined; durable = session.eventLog?.whenDurable()) {
    const waited = await waitFor(run, durable, { endsAt: run.deadlineAt, timeoutError });
    if ("value" in waited) return undefined;
    if ("ended" in waited) return waited.ended;
    const error = ToolError.fromUnknown(waited.thrown, "store_failed");
    if (run.job === undefined || !mayRecoverLater(error) || session.broken !== undefined) return failed(error);
    const now = run.clock.now();
    if (now >= run.deadlineAt) return timeoutError(); // needed for a store that fails at once, faster than the deadline's timer
    const endsAt = Math.min(now + RETRY_MS, run.deadlineAt);
    const paused = await waitFor(run, new Promise<never>(() => {}), { endsAt, timeoutError: () => RETRY_DUE });
    if ("ended" in paused && paused.ended !== RETRY_DUE) return paused.ended;
  }
  return undefined;
}
