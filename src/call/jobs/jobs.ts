/** The background jobs of a runtime, as programs see and steer them. */
import { quoted } from "../../core/base/wording.ts";
import { COUNT, MILLISECONDS, SIZE, checkNumber } from "../../core/base/number-bounds.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import { copyJson } from "../../core/base/json.ts";
import { nearNames } from "../../core/base/near-names.ts";
import { cancelReason } from "../../core/cancel-reason.ts";
import { ToolError } from "../../core/error.ts";
import { checkText } from "../../core/check-argument.ts";
import {
  checkJobStates,
  type EndedJob,
  type JobOutput,
  type JobState,
  type JobStatus,
  type ReadJobOptions,
} from "../../core/job-status.ts";
import type { ListStoredJobsOptions, StoredJob } from "../../core/job-store.ts";
import { checkSentBy, type SentBy } from "../../core/sent-by.ts";
import { onAbort } from "../../policy/attempts/deadline.ts";
import type { CallParts } from "../call-run.ts";
import type { CallJob } from "./job.ts";
import { isWithin } from "../context/call-tree.ts";
import { promote } from "./run-in-background.ts";

/** Which job of a store is meant: its session tells apart jobs whose ids are the same. */
export interface StoredJobName {
  readonly id: string;
  readonly sessionId?: string | undefined;
}

/** `ended`: its end is recorded; `asked`: the process that runs it ends it within seconds; `over`: it had ended before. */
export type CancelOutcome = "ended" | "asked" | "over";

/** The jobs of a store, as the runtime that has the store reaches them. @internal */
export interface StoredJobs {
  list(options: ListStoredJobsOptions): Promise<readonly StoredJob[]>;
  cancel(name: StoredJobName, reason: string): Promise<CancelOutcome>;
}

/** Which jobs are listed. */
export interface ListJobsOptions {
  readonly sessionId?: string;
  /** Those in one of these states. @default all */
  readonly states?: readonly JobState[];
}

/** How long a job is waited for. */
export interface WaitForJobOptions {
  /** Longest wait, in milliseconds. @default no limit */
  readonly timeoutMs?: number;
  /** Ends the wait, not the job. */
  readonly signal?: AbortSignal;
  /** Resolve as well when the job asks something. @default false */
  readonly untilAsked?: boolean;
}

const READ_OPTIONS: OptionNames<ReadJobOptions> = { from: true, tail: true, maxChars: true };
const WAIT_OPTIONS: OptionNames<WaitForJobOptions> = { timeoutMs: true, signal: "AbortSignal", untilAsked: true };
const STORED_NAME: OptionNames<StoredJobName> = { id: true, sessionId: "string" };
const LIST_OPTIONS: OptionNames<ListJobsOptions> = { sessionId: "string", states: true };

/** A job is here from its beginning, and when it has ended for as long as the runtime's `jobs` options say. */
export class Jobs {
  readonly #parts: Pick<CallParts, "jobs" | "running" | "ports">;

  readonly #stored: StoredJobs | undefined;

  /** @internal */
  constructor(parts: Pick<CallParts, "jobs" | "running" | "ports">, stored?: StoredJobs) {
    this.#parts = parts;
    this.#stored = stored;
  }

  /** Those that run, the oldest first, then those that have ended. @throws ToolError `invalid_argument` */
  list(options: ListJobsOptions = {}): readonly JobStatus[] {
    checkKnownKeys(options, LIST_OPTIONS, "jobs.list()");
    const { sessionId, states } = options;
    checkJobStates(states, "jobs.list()");
    return this.#parts.jobs
      .all()
      .map((job) => job.status)
      .filter((job) => (sessionId === undefined || job.sessionId === sessionId) && (states === undefined || states.includes(job.state)));
  }

  /** How many wait to be started because as many run as may, and how many may wait: one more ends with `resource_busy`. */
  get queue(): { readonly length: number; readonly limit: number } {
    return this.#parts.jobs.queue;
  }

  /** False where `maxRunning` of the runtime's jobs is 0: then no job is started here. */
  get runHere(): boolean {
    return this.#parts.jobs.runHere;
  }

  /** Undefined for one that is not there, or no longer kept. */
  get(id: string): JobStatus | undefined {
    checkText(id, "jobs.get()", "the id of a job");
    return this.#parts.jobs.get(id)?.status;
  }

  /**
   * Resolves when the job has ended, in a stored session durably, or to its status so far when the time is up; the job continues then. A handler that waits for a job which
   * needs a lock or slot that the handler's own call holds is not refused: only `timeoutMs` or the deadline of one of the two ends that wait.
   *
   * @throws ToolError `not_found`, naming the existing jobs; `cancelled` when the signal aborts; `invalid_argument`, also inside the job itself;
   * `store_failed` or `conflict` when its end could not be recorded. By rejecting
   */
  async wait(id: string, options: WaitForJobOptions = {}): Promise<EndedJob | JobStatus> {
    checkKnownKeys(options, WAIT_OPTIONS, "jobs.wait()");
    const { timeoutMs, signal, untilAsked = false } = options;
    checkNumber(timeoutMs, "timeoutMs of jobs.wait()", MILLISECONDS);
    const job = this.#find(id);
    if (!job.isOver && isWithin(id)) throw waitsForItself(id);
    if (untilAsked && job.isAsking) return job.status;
    const { clock } = this.#parts.ports;
    const stopped = Promise.withResolvers<"late" | { readonly aborted: string }>();
    const paused = Promise.withResolvers<void>();
    const leave = job.onPause(paused.resolve, untilAsked); // so that waits that ran out do not pile up in a job that runs for days
    const stopTimer = timeoutMs === undefined ? undefined : clock.timer(() => stopped.resolve("late"), timeoutMs);
    const forget = signal === undefined ? undefined : onAbort(signal, () => stopped.resolve({ aborted: cancelReason(signal) }));
    clock.hold?.(); // a job that asks for input keeps no process alive; who waits for it does
    try {
      const came = await Promise.race([endOf(job, paused.promise), stopped.promise]);
      if (typeof came === "object")
        throw new ToolError("cancelled", `The wait for the job ${JSON.stringify(id)} was cancelled: ${came.aborted}.`);
      return came === "late" ? job.status : (job.end ?? job.status);
    } finally {
      leave();
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
   * Hands JSON to a stateful job: to what it asks now, else to what it asks next.
   *
   * @throws ToolError `not_found`; `invalid_argument` for one that has ended or takes no input; `resource_busy` when 100 inputs wait;
   * `not_json`, `too_large`
   */
  send(id: string, input: unknown, options: SentBy = {}): void {
    checkSentBy(options, "jobs.send()");
    this.#find(id).send(copyJson(input).value, options.principal);
  }

  /** Ends a job: its result is `cancelled`. False when it has ended already. @throws ToolError `not_found` */
  cancel(id: string, reason: string = "the job was cancelled"): boolean {
    return this.#find(id).cancel(reason);
  }

  /**
   * Lists the jobs of every session that the runtime's store has, whether it is open here, in another process or nowhere; the newest first.
   *
   * @throws ToolError `invalid_argument`, also without a store; `store_failed`. By rejecting
   */
  async listStored(options: ListStoredJobsOptions = {}): Promise<readonly StoredJob[]> {
    return this.#store("listStored").list(options);
  }

  /**
   * Ends a job of a session that is not open here. Where no process has it open, the end is recorded at once; the process that has it open
   * ends it within two seconds, and one that resumes it does not run it again.
   *
   * @throws ToolError `not_found`, naming existing jobs; `ambiguous` where several sessions have a job of this id; `store_failed`;
   * `invalid_argument` without a store. By rejecting
   */
  async cancelStored(name: StoredJobName, reason: string = "the job was cancelled"): Promise<CancelOutcome> {
    checkKnownKeys(name, STORED_NAME, "jobs.cancelStored()");
    checkText(name.id, "jobs.cancelStored({ id })", "the id of a job");
    const stored = this.#store("cancelStored");
    const here = this.#parts.jobs.get(name.id);
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
   * Moves a running call of a session to the background: who waits for it is answered `pending` at once. False for a call that has ended,
   * is a job already, belongs to no session, or while too many jobs run.
   */
  promote(callId: string): boolean {
    checkText(callId, "jobs.promote()", "the id of a call");
    const run = this.#parts.running.get(callId);
    return run !== undefined && promote(run);
  }

  #find(id: string): CallJob {
    if (typeof id !== "string") throw new ToolError("invalid_argument", `The id of a job is ${quoted(id)}; it is a string.`);
    const job = this.#parts.jobs.get(id);
    if (job !== undefined) return job;
    const ids = this.#parts.jobs.all().map((one) => one.id);
    throw new ToolError("not_found", `There is no job ${JSON.stringify(id)}, or it ended too long ago.`, {
      hint:
        ids.length === 0
          ? "No job runs or has ended lately."
          : `There are: ${[...new Set([...nearNames(id, ids), ...ids])].slice(0, 5).join(", ")}.`,
    });
  }
}

/** Resolves when it has ended and a crash cannot take that back, or when it asks. */
async function endOf(job: CallJob, paused: Promise<void>): Promise<void> {
  await paused;
  if (job.isOver) await job.whenEndDurable();
}

function waitsForItself(id: string): ToolError {
  return new ToolError("invalid_argument", `The job ${JSON.stringify(id)} was waited for by its own handler, which could then never end.`, {
    hint: "Wait for it elsewhere, or return its result.",
  });
}
