/** Waits for work that an engine handed over as a job, and asks for its end when nobody waits any more. */
import type { ToolContext } from "../core/context.ts";
import { Job } from "../core/job.ts";

/** The answer itself, or what the job answers in the end. */
export async function followJob(answer: PromiseLike<unknown> | Job, context: ToolContext): Promise<unknown> {
  const job = answer instanceof Job ? answer : await answer;
  if (!(job instanceof Job)) return job;
  const { signal } = context;
  const stop = (): void => void job.cancel();
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await job.result;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
