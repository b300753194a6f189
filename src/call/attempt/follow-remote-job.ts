/** Waits for work that an engine returned as a remote job, and cancels it when no call waits any more. */
import type { ToolContext } from "../../core/context.ts";
import { RemoteJob } from "../../core/jobs/remote-job.ts";
import { onAbort } from "../../core/base/on-abort.ts";

/**
 * Resolves to the answer itself, or to the result of the job.
 *
 * @param onJob called with the id of a job, unless the attempt was abandoned before
 */
export async function followRemoteJob(
  answer: PromiseLike<unknown> | RemoteJob,
  context: ToolContext,
  onJob: (id: string) => void,
): Promise<unknown> {
  const job = answer instanceof RemoteJob ? answer : await answer;
  if (!(job instanceof RemoteJob)) return job;
  const { signal } = context;
  if (!signal.aborted) onJob(job.id);
  const forget = onAbort(signal, () => void job.cancel());
  try {
    return await job.result;
  } finally {
    forget();
  }
}
