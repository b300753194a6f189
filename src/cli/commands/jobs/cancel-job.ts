/** `haft jobs cancel`: cancels a job, in whichever process it runs. */
import { systemPorts } from "../../../core/system/system-ports.ts";
import type { JobKey, StoredJob } from "../../../core/store/job-store.ts";
import type { Store } from "../../../core/store/store.ts";
import { sleep } from "../../../processes/sleep.ts";
import { cancelStoredJob } from "../../../runtime/stored-jobs.ts";
import type { Command, CommandContext } from "../../command.ts";
import { withStore } from "../../open/open-store.ts";
import { safeName } from "../../terminal/terminal-text.ts";
import { reloadJob, findJob } from "./job-text.ts";

/** How long to wait for the process that runs the job, in milliseconds. */
const MAX_CANCEL_WAIT_MS = 5_000;
const POLL_MS = 100;
const REASON = "a person cancelled the job with haft jobs cancel";

export const cancelJob: Command = {
  name: "jobs cancel",
  usage: "<id>",
  summary: "Cancel a job, whichever process runs it.",
  details: [
    "Where no process has its session open, its end is recorded at once. Otherwise",
    "the process that has it open ends it within two seconds, and the command waits",
    "for that. A job that has ended stays as it is. With --json its id, session and",
    "state.",
  ],
  args: [1, 1],
  options: ["store", "config", "session"],
  examples: ["haft jobs cancel call_1", "haft jobs cancel call_1 --session travel"],
  async run(context) {
    await withStore(context, { readOnly: false }, (store) => cancel(context, store));
    return 0;
  },
};

async function cancel(context: CommandContext, store: Store): Promise<void> {
  const { out, options } = context;
  const { id, sessionId } = await findJob(context, store);
  const at = systemPorts.clock.wallTime();
  const outcome = await cancelStoredJob(store, { id, sessionId }, { reason: REASON, at });
  const job =
    outcome === "asked" ? await waitForCancellation(context, store, { id, sessionId }) : await reloadJob({ id, sessionId }, store);
  const { state, endedAt, openedBy } = job;
  if (options.json) return out.writeJson({ id, sessionId, state });
  const name = safeName(id);
  if (outcome === "over") out.print(`the job ${name} had ended before: ${state}`);
  else if (endedAt === undefined)
    out.print(`the job ${name} is to be cancelled; ${safeName(openedBy ?? "no process")} has not ended it yet`);
  else out.print(state === "cancelled" ? `cancelled the job ${name}` : `the job ${name} ended before it could be cancelled: ${state}`);
}

/** Returns the job once it has ended, or as it is after `MAX_CANCEL_WAIT_MS`. */
async function waitForCancellation(context: CommandContext, store: Store, key: JobKey): Promise<StoredJob> {
  const { clock } = systemPorts;
  const endsAt = clock.now() + MAX_CANCEL_WAIT_MS;
  for (;;) {
    const job = await reloadJob(key, store);
    if (job.endedAt !== undefined || clock.now() >= endsAt) return job;
    await sleep(clock, POLL_MS, context.signal);
    context.signal.throwIfAborted();
  }
}
