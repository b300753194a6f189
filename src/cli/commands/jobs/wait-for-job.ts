/** `haft jobs wait`: waits for a job to end, and prints its result. */
import { ERROR_CODES } from "../../../core/error-codes.ts";
import { systemPorts } from "../../../core/system/system-ports.ts";
import type { StoredJob } from "../../../core/store/job-store.ts";
import type { ToolResult } from "../../../core/result.ts";
import type { Store } from "../../../core/store/store.ts";
import { sleep } from "../../../processes/sleep.ts";
import type { Command, CommandContext } from "../../command.ts";
import { withStore } from "../../open/open-store.ts";
import { printAnswer } from "../../print/print-answer.ts";
import { JobLog } from "./job-log.ts";
import { reloadJob, findJob, abandonedJobError } from "./job-text.ts";

const POLL_MS = 250;

export const waitForJob: Command = {
  name: "jobs wait",
  usage: "<id>",
  summary: "Wait until a job has ended, and print its result.",
  details: [
    "Exits as haft call does: with 0 when the job is done, else with the exit code of",
    "its error. A job whose session no process has open is not waited for: that is",
    "unavailable, exit code 6. Ctrl-C ends the wait, not the job.",
  ],
  args: [1, 1],
  options: ["store", "config", "session"],
  examples: ["haft jobs wait call_1", "haft jobs wait call_1 --json | jq .output"],
  async run(context) {
    return withStore(context, { readOnly: true }, async (store) => {
      const job = await waitForEnd(context, store);
      const result = await findResult(store, job);
      if (result === undefined) return 0; // the log has no result for the job
      printAnswer(context, result);
      return result.error === undefined ? 0 : ERROR_CODES[result.error.code].exit;
    });
  },
};

/** Waits until the job has ended. @throws ToolError `unavailable` if no process runs it */
async function waitForEnd(context: CommandContext, store: Store): Promise<StoredJob> {
  for (let job = await findJob(context, store); ; job = await reloadJob(job, store)) {
    if (job.endedAt !== undefined) return job;
    if (job.openedBy === undefined) throw abandonedJobError(job);
    await sleep(systemPorts.clock, POLL_MS, context.signal);
    context.signal.throwIfAborted();
  }
}

async function findResult(store: Store, job: StoredJob): Promise<ToolResult | undefined> {
  for await (const event of new JobLog(store, job).read()) if (event.type === "call-end") return event.result;
  return undefined;
}
