/** `haft jobs`: the background jobs of a store, in any process. */
import type { GroupBody } from "../command.ts";
import { cancelJob } from "./jobs/cancel-job.ts";
import { jobLogs } from "./jobs/job-logs.ts";
import { listJobs } from "./jobs/list-jobs.ts";
import { showJob } from "./jobs/show-job.ts";
import { waitForJob } from "./jobs/wait-for-job.ts";

export const jobsCommand: GroupBody = {
  details: [
    "A job is a call that runs in the background. Its session is kept in the store",
    "that --store names, or that the configuration names in a [store] table. Jobs of",
    "all sessions are shown, whether or not a process has them open.",
  ],
  commands: [listJobs, showJob, waitForJob, cancelJob, jobLogs],
};
