/** The background jobs of a runtime, as programs list and control them. */
import { quoteValue } from "../../core/base/wording.ts";
import { COUNT, MILLISECONDS, SIZE, checkNumber } from "../../core/base/number-bounds.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import { copyJson } from "../../core/base/json.ts";
import { findNearNames } from "../../core/base/near-names.ts";
import { formatCancelReason } from "../../core/cancel-reason.ts";
import { ToolError } from "../../core/error.ts";
import { checkString } from "../../core/check-argument.ts";
import {
  checkJobStates,
  type EndedJob,
  type JobOutput,
  type JobState,
  type JobStatus,
  type ReadJobOptions,
} from "../../core/jobs/job-status.ts";
import type { ListStoredJobsOptions, StoredJob } from "../../core/store/job-store.ts";
import { checkSender, type SentBy } from "../../core/sender.ts";
import { onAbort } from "../../core/base/on-abort.ts";
import type { CallServices } from "../call-run.ts";
import type { CallJob } from "./job.ts";
import { isRunningInCall } from "../context/call-tree.ts";
import { promote } from "./run-in-background.ts";

/** Identifies a job of a store. `sessionId` distinguishes jobs with the same id. */
export interface StoredJobName {
  readonly id: string;
  readonly sessionId?: string | undefined;
}

/** `ended`: its end is recorded; `asked`: the process that runs it will end it within seconds; `over`: it had ended before. */
export type CancelOutcome = "ended" | "asked" | "over";

/** Access to the jobs of the runtime's store. @internal */
export interface StoredJobs {
  list(options: ListStoredJobsOptions): Promise<readonly StoredJob[]>;
  cancel(name: StoredJobName, reason: string): Promise<CancelOutcome>;
}

/** Which jobs are listed. */
export interface ListJobsOptions {
  readonly sessionId?: string;
  /** Only jobs in one of these states. @default all */
  readonly states?: readonly JobState[];
}

/** How long to wait for a job. */
export interface WaitForJobOptions {
  /** Longest wait, in milliseconds. @default no limit */
  readonly timeoutMs?: number;
  /** Ends the wait, not the job. */
  readonly signal?: AbortSignal;
  /** Also resolve when the job asks something. @default false */
  readonly untilAsked?: boolean;
}

const READ_OPTIONS: OptionNames<ReadJobOptions> = { from: true, tail: true, maxChars: true };
const WAIT_OPTIONS: OptionNames<WaitForJobOptions> = { timeoutMs: true, signal: "AbortSignal", untilAsked: true };
const STORED_HINT =
  "jobs.listStored({ id }) also finds jobs that ended in an earlier process; their results are in the history of their sessions.";
const STORED_NAME: OptionNames<StoredJobName> = { id: true, sessionId: "string" };
const LIST_OPTIONS: OptionNames<ListJobsOptions> = { sessionId: "string", states: true };

/** Lists and controls jobs. A job is available from its start and, when it has ended, for as long as the runtime's `jobs` options say. */
export class Jobs {
  readonly #services: Pick<CallServices, "jobs" | "running" | "ports">;
  readonly #stored: StoredJobs | undefined;

  /** @internal */
  constructor(services: Pick<CallServices, "jobs" | "running" | "ports">, stored?: StoredJobs) {
    this.#services = services;
    this.#stored = stored;
  }

  /** Jobs that have not ended, the oldest first, then those that have. @throws ToolError `invalid_argument` */
  list(options: ListJobsOptions = {}): readonly JobStatus[] {
    checkKnownKeys(options, LIST_OPTIONS, "jobs.list()");
    const { sessionId, states } = options;
    checkJobStates(states, "jobs.list()");
    return this.#services.jobs
      .all()
      .map((job) => job.status)
      .filter((job) => (sessionId === undefined || job.sessionId === sessionId) && (states === undefined || states.includes(job.state)));
  }

  /** How many jobs wait to start because the maximum runs, and how many may wait: one more ends with `resource_busy`. */
  get queue(): { readonly length: number; readonly limit: number } {
    return this.#services.jobs.queue;
  }

  /** False if this runtime starts no jobs (`maxRunning` is 0). */
  get runHere(): boolean {
    return this.#services.jobs.runHere;
  }

  /** Undefined for a job that does not exist or is no longer kept. */
  get(id: string): JobStatus | undefined {
    checkString(id, "jobs.get()", "the id of a job");
    return this.#services.jobs.get(id)?.status;
  }

  /**
   * Resolves when the job has ended (in a stored session, when its end is durable), or to its current status when the time is up; the job then
   * continues. If a handler waits for a job that needs a lock or slot of the handler's own call, this is not detected: only `timeoutMs` or the
   * deadline of either call ends that wait.
   *
   * @throws ToolError `not_found`, naming the existing jobs; `cancelled` when the signal aborts; `invalid_argument`, also inside the job itself;
   * `store_failed` or `conflict` if its end could not be recorded; as a rejection
   */
  async wait(id: string, options: WaitForJobOptions = {}): Promise<EndedJob | JobStatus> {
    checkKnownKeys(options, WAIT_OPTIONS, "jobs.wait()");
    const { timeoutMs, signal, untilAsked = false } = options;
    checkNumber(timeoutMs, "timeoutMs of jobs.wait()", MILLISECONDS);
    const job = this.#find(id);
    if (!job.hasEnded && isRunningInCall(id)) throw selfWaitError(id);
    if (untilAsked && job.isAsking) return job.status;
    const { clock } = this.#services.ports;
    const stopped = Promise.withResolvers<"late" | { readonly aborted: string }>();
    const paused = Promise.withResolvers<void>();
    const removeListener = job.onPause(paused.resolve, untilAsked); // so that expired waits do not accumulate in a job that runs for days
    const stopTimer = timeoutMs === undefined ? undefined : clock.timer(() => stopped.resolve("late"), timeoutMs);
    const forget = signal === undefined ? undefined : onAbort(signal, () => stopped.resolve({ aborted: formatCancelReason(signal) }));
    clock.hold?.(); // a job that waits for input does not keep the process alive, but a caller that waits for the job does
    try {
      const outcome = await Promise.race([waitForJobEnd(job, paused.promise), stopped.promise]);
      if (typeof outcome === "object")
        throw new ToolError("cancelled", `The wait for the job ${JSON.stringify(id)} was cancelled: ${outcome.aborted}.`);
      return outcome === "late" ? job.status : (job.end ?? job.status);
    } finally {
      removeListener();
      stopTimer?.();
      forget?.();
      clock.release?.();
    }
  }

  /** @throws ToolError `not_found`; `invalid_argument` */
  read(id: string, options: ReadJobOptions = {}): JobOutput {
    checkKnownKeys(options, READ_OPTIONS, "jobs.read()");
    checkNumber(options.from, "from of jobs.read()", SIZE);
    checkNumber(options.tail, "tail of jobs.read()", COUNT);
    checkNumber(options.maxChars, "maxChars of jobs.read()", COUNT);
    return this.#find(id).read(options);
  }

  /**
   * Sends JSON to a stateful job: as the answer to its current question, else to its next one.
   *
   * @throws ToolError `not_found`; `invalid_argument` for a job that has ended or takes no input; `resource_busy` if 100 inputs wait; `not_json`,
   * `too_large`
   */
  send(id: string, input: unknown, options: SentBy = {}): void {
    checkSender(options, "jobs.send()");
    this.#find(id).send(copyJson(input).value, options.principal);
  }

  /** Cancels a job: its result is `cancelled`. False if it has ended already. @throws ToolError `not_found` */
  cancel(id: string, reason: string = "the job was cancelled"): boolean {
    return this.#find(id).cancel(reason);
  }

  /**
   * Lists the jobs of every session in the runtime's store, whether the session is open here, in another process or nowhere; the newest first.
   *
   * @throws ToolError `invalid_argument`, also without a store; `store_failed`; as a rejection
   */
  async listStored(options: ListStoredJobsOptions = {}): Promise<readonly StoredJob[]> {
    return this.#store("listStored").list(options);
  }

  /**
   * Cancels a job of a session that is not open here. If no process has the session open, the end is recorded at once. A process that has it open
   * ends the job within two seconds, and a process that resumes it does not run the job again.
   *
   * @throws ToolError `not_found`, naming existing jobs; `ambiguous` if several sessions have a job with this id; `store_failed`; `invalid_argument`
   * without a store; as a rejection
   */
  async cancelStored(name: StoredJobName, reason: string = "the job was cancelled"): Promise<CancelOutcome> {
    checkKnownKeys(name, STORED_NAME, "jobs.cancelStored()");
    checkString(name.id, "jobs.cancelStored({ id })", "the id of a job");
    const stored = this.#store("cancelStored");
    const here = this.#services.jobs.get(name.id);
    if (here !== undefined && (name.sessionId ?? here.sessionId) === here.sessionId) return here.cancel(reason) ? "asked" : "over";
    return stored.cancel(name, reason);
  }

  #store(method: string): StoredJobs {
    if (this.#stored !== undefined) return this.#stored;
    throw new ToolError("invalid_argument", `jobs.${method}() needs a store, and the runtime has none.`, {
      hint: "Give one: createRuntime({ store: sqliteStore({ path }) }).",
    });
  }

  /**
   * Moves a running call of a session to the background: its caller gets `pending` at once. False for a call that has ended, is a job already or
   * belongs to no session, and while too many jobs run.
   */
  promote(callId: string): boolean {
    checkString(callId, "jobs.promote()", "the id of a call");
    const run = this.#services.running.get(callId);
    return run !== undefined && promote(run);
  }

  #find(id: string): CallJob {
    if (typeof id !== "string") throw new ToolError("invalid_argument", `The id of a job is ${quoteValue(id)}; it must be a string.`);
    const job = this.#services.jobs.get(id);
    if (job !== undefined) return job;
    const ids = this.#services.jobs.all().map((one) => one.id);
    throw new ToolError("not_found", `There is no job ${JSON.stringify(id)}, or it ended too long ago.`, {
      hint:
        ids.length === 0
          ? "No job is running or has ended recently."
          : `Known jobs: ${[...new Set([...findNearNames(id, ids), ...ids])].slice(0, 5).join(", ")}.`,
      ...(this.#stored === undefined ? {} : { operatorHint: STORED_HINT }),
    });
  }
}

/** Resolves when the job has ended and its end is durable, or when it asks something. */
async function waitForJobEnd(job: CallJob, paused: Promise<void>): Promise<void> {
  await paused;
  if (job.hasEnded) await job.whenEndDurable();
}

function selfWaitError(id: string): ToolError {
  return new ToolError("invalid_argument", `The handler of the job ${JSON.stringify(id)} waited for that job, so it could never end.`, {
    hint: "Wait for it elsewhere, or return its result.",
  });
}
