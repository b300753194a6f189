/** The wait for the jobs of a session that a worker has taken. */
import { ToolError } from "../../core/error.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { RuntimeSession } from "../../runtime/runtime-session.ts";

export interface JobsWait extends Pick<Runtime, "jobs"> {
  /** Ends the wait. */
  readonly signal: AbortSignal;
}

/**
 * Resolves to true when no job of the session is left and their ends are durable, and to false when the signal aborts.
 *
 * @throws ToolError `conflict` where another process has taken the session over; `store_failed`. By rejecting
 */
export async function untilJobsEnd(session: RuntimeSession, { jobs: all, signal }: JobsWait): Promise<boolean> {
  try {
    for (let { jobs } = session; jobs.length > 0; jobs = session.jobs) await Promise.all(jobs.map(({ id }) => all.wait(id, { signal })));
    return true;
  } catch (thrown: unknown) {
    if (signal.aborted && ToolError.fromUnknown(thrown).code === "cancelled") return false;
    throw thrown;
  }
}
