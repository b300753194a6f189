/** Waits for the jobs of a session that a worker has taken. */
import { ToolError } from "../../core/error.ts";
import { onAbort } from "../../core/base/on-abort.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { RuntimeSession } from "../../runtime/runtime-session.ts";

export interface JobsWait extends Pick<Runtime, "jobs"> {
  /** Its abort ends the wait. */
  readonly signal: AbortSignal;
}

/**
 * Resolves to true when no job of the session is left and the ends of its jobs are durable, and to false when the signal aborts.
 *
 * @throws ToolError `conflict` if another process has taken the session over; `store_failed`; as a rejection
 */
export async function waitUntilEndsAreDurable(session: RuntimeSession, { jobs: all, signal }: JobsWait): Promise<boolean> {
  try {
    for (let { jobs } = session; jobs.length > 0; jobs = session.jobs) await Promise.all(jobs.map(({ id }) => all.wait(id, { signal })));
    return true;
  } catch (thrown: unknown) {
    if (signal.aborted && ToolError.fromUnknown(thrown).code === "cancelled") return false;
    throw thrown;
  }
}

/**
 * Resolves to true when no job of the session is left, and to false when the signal aborts. For a session that is closed next: `close` writes the
 * ends of the jobs in the same transaction as the end of its claim, and rejects if they are lost.
 */
export async function waitUntilNoJobRuns(session: RuntimeSession, signal: AbortSignal): Promise<boolean> {
  const over = Promise.withResolvers<void>();
  let running = new Set(session.jobs.map(({ id }) => id));
  const look = (): void => {
    if (running.size === 0) running = new Set(session.jobs.map(({ id }) => id)); // jobs that began meanwhile
    if (running.size === 0 || signal.aborted) over.resolve();
  };
  const stop = session.onJob(({ id, endedAt }) => {
    if (endedAt !== undefined) running.delete(id);
    look();
  });
  const forget = onAbort(signal, look);
  look();
  await over.promise;
  forget();
  stop();
  return running.size === 0;
}
