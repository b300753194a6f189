/** `haft jobs logs`: the output of a job so far, and with `--follow` its further output. */
import { ERROR_CODES } from "../../../core/error-codes.ts";
import type { SessionEvent } from "../../../core/event.ts";
import { systemPorts } from "../../../core/system/system-ports.ts";
import type { JobKey, StoredJob } from "../../../core/store/job-store.ts";
import type { Store } from "../../../core/store/store.ts";
import { sleep } from "../../../processes/sleep.ts";
import type { Command, CommandContext } from "../../command.ts";
import { waitForDrain } from "../../terminal/wait-for-drain.ts";
import { withStore } from "../../open/open-store.ts";
import { safeText } from "../../terminal/terminal-text.ts";
import { JobLog } from "./job-log.ts";
import { STATE_STYLES, reloadJob, findJob, abandonedJobError } from "./job-text.ts";

const POLL_MS = 250;

type Output = SessionEvent & { readonly type: "job-output" };

export const jobLogs: Command = {
  name: "jobs logs",
  usage: "<id>",
  summary: "Print what a job has written.",
  details: [
    "Prints what the log of its session has: the first 65,536 characters and every",
    "question. With --follow it continues until the job has ended, also for a job",
    "that another process runs; Ctrl-C ends it. How the job ended is printed on",
    "standard error. With --json one object for each piece: position, text, asks.",
  ],
  args: [1, 1],
  options: ["store", "config", "session", "follow"],
  examples: ["haft jobs logs call_1", "haft jobs logs call_1 -f"],
  async run(context) {
    return withStore(context, { readOnly: true }, async (store) => {
      const job = await findJob(context, store);
      const { options, signal } = context;
      try {
        return options.follow ? await followLog(context, store, job) : await printLog(context, store, job);
      } catch (thrown: unknown) {
        if (options.follow && signal.aborted) return ERROR_CODES.cancelled.exit; // Ctrl-C is how a user ends --follow
        throw thrown;
      }
    });
  },
};

async function printLog(context: CommandContext, store: Store, job: StoredJob): Promise<number> {
  const printer = new OutputPrinter(context);
  for await (const event of new JobLog(store, job).read()) if (event.type === "job-output") await printer.print(event);
  printer.endLine();
  return 0;
}

/** Prints output until the job has ended or no process runs it. Reads the log once more after the job's row says so, to miss nothing. */
async function followLog(context: CommandContext, store: Store, key: JobKey): Promise<number> {
  const { signal, err } = context;
  const printer = new OutputPrinter(context);
  const log = new JobLog(store, key);
  for (;;) {
    const job = await reloadJob(key, store);
    for await (const event of log.read()) if (event.type === "job-output") await printer.print(event);
    if (job.endedAt !== undefined || job.openedBy === undefined) {
      printer.endLine();
      if (job.endedAt === undefined) throw abandonedJobError(job);
      err.print(err.paint(STATE_STYLES[job.state], `the job has ended: ${job.state}`));
      return 0;
    }
    await sleep(systemPorts.clock, POLL_MS, signal);
    signal.throwIfAborted();
  }
}

class OutputPrinter {
  readonly #context: CommandContext;
  #endsLine = true;

  constructor(context: CommandContext) {
    this.#context = context;
  }

  async print({ position, text, asks }: Output): Promise<void> {
    const { out, options, signal } = this.#context;
    signal.throwIfAborted();
    await waitForDrain(this.#context);
    if (options.json) return out.writeJson({ position, text, ...(asks === undefined ? {} : { asks }) });
    const shown = asks === true ? `? ${text}\n` : text;
    out.write(out.isTerminal ? safeText(shown) : shown);
    this.#endsLine = shown === "" ? this.#endsLine : shown.endsWith("\n");
  }

  /** Ends the last line on a terminal if the output does not. */
  endLine(): void {
    const { out, options } = this.#context;
    if (!this.#endsLine && !options.json && out.isTerminal) out.write("\n");
  }
}
