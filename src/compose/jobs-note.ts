/** The note for a model about the jobs that run in the background. */
import type { JobStatus } from "../core/jobs/job-status.ts";
import type { OfferedName } from "../core/result.ts";

const MAX_JOBS_LISTED = 20;

/** Returns the list of background jobs for the beginning of a turn; empty if none runs. */
export function jobsNote(jobs: readonly JobStatus[], offeredName: OfferedName): readonly string[] {
  if (jobs.length === 0) return [];
  const lines = jobs.slice(0, MAX_JOBS_LISTED).map(({ id, toolName, state }) => `- ${id} (${offeredName(toolName)}): ${state}`);
  const more = jobs.length > MAX_JOBS_LISTED ? [`and ${jobs.length - MAX_JOBS_LISTED} more`] : [];
  return [["Running in the background:", ...lines, ...more].join("\n")];
}
