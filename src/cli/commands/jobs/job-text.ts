/** Formats jobs as text, and finds the job that a command line names. */
import { ToolError } from "../../../core/error.ts";
import type { JobState } from "../../../core/jobs/job-status.ts";
import type { JobKey, StoredJob } from "../../../core/store/job-store.ts";
import type { Store } from "../../../core/store/store.ts";
import { systemPorts } from "../../../core/system/system-ports.ts";
import { findStoredJob } from "../../../runtime/stored-jobs.ts";
import type { CommandContext } from "../../command.ts";
import { quoteForShell } from "../../../core/base/quote-for-shell.ts";
import { safeName, type Style } from "../../terminal/terminal-text.ts";

export const STATE_STYLES: Readonly<Record<JobState, Style>> = {
  queued: "dim",
  running: "cyan",
  waiting: "yellow",
  done: "green",
  error: "red",
  cancelled: "dim",
  parked: "red",
};

/** Finds the job of the first argument, in the session of `--session` if given. @throws ToolError `not_found`, `ambiguous` */
export async function findJob({ args: [id = ""], options }: CommandContext, store: Store): Promise<StoredJob> {
  try {
    return await findStoredJob(store, { id, sessionId: options.session }, systemPorts.clock.wallTime());
  } catch (thrown: unknown) {
    const error = ToolError.fromUnknown(thrown);
    if (error.code !== "ambiguous") throw error;
    throw new ToolError(error.code, error.message, { ...error.toJSON(), operatorHint: "Name its session with --session.", cause: error });
  }
}

/** Returns the current row of a job, by its full key: another session may have started a job of the same id. @throws ToolError `not_found` */
export function reloadJob({ id, sessionId }: JobKey, store: Store): Promise<StoredJob> {
  return findStoredJob(store, { id, sessionId }, systemPorts.clock.wallTime());
}

/** Makes the error for a job that has not ended and whose session no process has open. */
export function abandonedJobError({ id, sessionId, state }: StoredJob): ToolError {
  return new ToolError("unavailable", `The job ${safeName(id)} is ${state}, but no process runs it: none has its session open.`, {
    operatorHint: `haft sessions resume ${quoteForShell(sessionId)} continues or ends it; haft jobs cancel ${quoteForShell(id)} ends it.`,
  });
}
