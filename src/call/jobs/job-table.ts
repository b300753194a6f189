/** The background jobs of a runtime: those that have not ended, of which a limited number run at a time, and the latest that have ended. */
import { getOrAdd } from "../../core/base/get-or-add.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { COUNT, MILLISECONDS, SIZE, checkNumber } from "../../core/base/number-bounds.ts";
import { MultiMap } from "../../core/collections/multi-map.ts";
import { plural } from "../../core/base/wording.ts";
import { ToolError } from "../../core/error.ts";
import { checkKnownKeys } from "../../core/known-keys.ts";
import type { JobStatus } from "../../core/jobs/job-status.ts";
import { Limit } from "../../policy/locks/limit.ts";
import { CallJob, type JobCall, type JobSettings } from "./job.ts";
import { JobOutputBuffer } from "./job-output.ts";

/** Limits of background jobs, and of what is kept of those that have ended. */
export interface JobLimits {
  /**
   * Maximum number of jobs that run at a time; more wait. 0 = no job runs here: each waits until its session moves to another process. @default 100
   */
  readonly maxRunning?: number;
  /** Maximum number of jobs that wait to run; further jobs are refused with `resource_busy`. @default 1_000 */
  readonly maxQueued?: number;
  /**
   * Maximum number of jobs of one principal that run or wait; further jobs of it are refused with `resource_busy`. Integer ≥ 1. Calls without a
   * principal, and jobs that were accepted before a crash, are not limited by it. @default half of `maxRunning` + `maxQueued`, rounded up
   */
  readonly maxPerPrincipal?: number;
  /** How many ended jobs can still be read; the oldest are dropped first. @default 100 */
  readonly keepEnded?: number;
  /** How long an ended job can be read, in milliseconds; 0 = no time limit. @default 3_600_000 */
  readonly keepEndedMs?: number;
  /** How much of each job's output is kept, in UTF-16 units; the end is kept. Integer ≥ 1. @default 1_000_000 */
  readonly maxOutputChars?: number;
  /** For how many ended jobs a store keeps a row, by which they are listed; those that ended first are dropped first. @default 10_000 */
  readonly keepStored?: number;
  /** How long a store keeps those rows, in milliseconds; 0 = no time limit. @default 2_592_000_000, 30 days */
  readonly keepStoredMs?: number;
}

/** Called when jobs of a table begin and end. */
export interface JobObserver {
  onJobStart(jobs: JobTable): void;
  /** @param isLast no other job is running or waiting */
  onJobEnd(isLast: boolean): void;
}

const DEFAULTS: Required<Omit<JobLimits, "maxPerPrincipal">> = {
  maxRunning: 100,
  maxQueued: 1_000,
  keepEnded: 100,
  keepEndedMs: 3_600_000,
  maxOutputChars: 1_000_000,
  keepStored: 10_000,
  keepStoredMs: 30 * 86_400_000,
};

/** The limits with their defaults. */
export function jobLimits(limits: JobLimits): Required<JobLimits> {
  const given = omitUndefined(limits);
  const { maxRunning, maxQueued } = { ...DEFAULTS, ...given };
  return { ...DEFAULTS, maxPerPrincipal: Math.max(1, Math.ceil((maxRunning + maxQueued) / 2)), ...given };
}

/** @throws ToolError `invalid_argument` that names the limit */
export function checkJobLimits(limits: JobLimits): void {
  const owner = "jobs of the runtime";
  checkKnownKeys(limits, { ...DEFAULTS, maxPerPrincipal: true }, owner);
  checkNumber(limits.maxRunning, `maxRunning of ${owner}`, SIZE);
  checkNumber(limits.maxQueued, `maxQueued of ${owner}`, SIZE);
  checkNumber(limits.maxPerPrincipal, `maxPerPrincipal of ${owner}`, COUNT);
  checkNumber(limits.keepEnded, `keepEnded of ${owner}`, SIZE);
  checkNumber(limits.keepEndedMs, `keepEndedMs of ${owner}`, MILLISECONDS);
  checkNumber(limits.keepStored, `keepStored of ${owner}`, SIZE);
  checkNumber(limits.keepStoredMs, `keepStoredMs of ${owner}`, MILLISECONDS);
  checkNumber(limits.maxOutputChars, `maxOutputChars of ${owner}`, COUNT);
}

export class JobTable {
  readonly slots: Limit;
  /** The queue of jobs that may have crashed their process; they are started one at a time. */
  readonly suspects = new Limit(1);
  readonly #limits: Required<JobLimits>;
  readonly #now: () => number;
  readonly #running = new Map<string, CallJob>();
  readonly #runningIn = new MultiMap<string, CallJob>();
  /** How many jobs of each principal have not ended. */
  readonly #runningFor = new Map<string, number>();
  readonly #listeners = new Map<string, Set<(job: JobStatus) => void>>();
  /** In the order in which they ended, each with its end time. */
  readonly #ended = new Map<string, { readonly job: CallJob; readonly at: number }>();
  readonly #endedIn = new MultiMap<string, CallJob>();
  readonly #observer: JobObserver | undefined;

  /** @param now milliseconds of a monotonic clock */
  constructor(limits: JobLimits, now: () => number, observer?: JobObserver) {
    this.#limits = jobLimits(limits);
    this.#observer = observer;
    this.#now = now;
    this.slots = new Limit(Math.max(1, this.#limits.maxRunning));
    if (this.#limits.maxRunning === 0) this.slots.tryTake(); // takes the only slot and never releases it
  }

  /** @throws ToolError `resource_busy` if too many jobs wait already, or its principal has too many */
  add(call: JobCall, settings: JobSettings): CallJob {
    const { maxRunning, maxQueued, maxPerPrincipal } = this.#limits;
    const { principal } = call.options;
    if (principal !== undefined && (this.#runningFor.get(principal) ?? 0) >= maxPerPrincipal)
      throw principalBusyError(call, maxPerPrincipal);
    if (this.#running.size >= maxRunning + maxQueued)
      throw new ToolError(
        "resource_busy",
        `${call.toolName} was not started: ${maxRunning} background jobs are running and ${maxQueued} are waiting.`,
        {
          retryable: true,
          outcome: "not_started",
          hint: "Wait for one to end, or cancel one.",
        },
      );
    return this.adopt(call, settings);
  }

  /** Adds a job that was accepted before, by an earlier process or as a running call; no limit applies. */
  adopt(call: JobCall, settings: JobSettings): CallJob {
    const job: CallJob = new CallJob(call, settings, () => this.#notifyListeners(job));
    this.#running.set(job.id, job);
    this.#runningIn.add(job.sessionId, job);
    if (job.principal !== undefined) this.#runningFor.set(job.principal, (this.#runningFor.get(job.principal) ?? 0) + 1);
    this.#observer?.onJobStart(this);
    return job;
  }

  /** How many jobs wait for a running one to end, and how many may wait. */
  get queue(): { readonly length: number; readonly limit: number } {
    const { maxRunning, maxQueued } = this.#limits;
    return { length: Math.max(0, this.#running.size - maxRunning), limit: maxQueued };
  }

  /** Whether jobs are started in this process. */
  get runHere(): boolean {
    return this.#limits.maxRunning > 0;
  }

  /** Whether all jobs have ended. */
  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  /** Creates the buffer for a call's output, whether or not it is a job yet. @param mayBeJob if false, only the length of the output counts */
  createOutput(mayBeJob: boolean): JobOutputBuffer {
    return new JobOutputBuffer(mayBeJob ? this.#limits.maxOutputChars : 0);
  }

  get(id: string): CallJob | undefined {
    this.#prune();
    return this.#running.get(id) ?? this.#ended.get(id)?.job;
  }

  /** Jobs that have not ended, the oldest first, then those that have. */
  all(): readonly CallJob[] {
    this.#prune();
    return [...this.#running.values(), ...Array.from(this.#ended.values(), ({ job }) => job)];
  }

  /** Jobs of one session that have not ended, the oldest first. */
  runningIn(sessionId: string): readonly CallJob[] {
    return this.#runningIn.get(sessionId);
  }

  /** Cancels the jobs of a session that is being closed, and resolves when they have ended. */
  async cancelIn(sessionId: string): Promise<void> {
    const jobs = this.runningIn(sessionId);
    for (const job of jobs) job.cancel("the session was closed");
    await Promise.all(jobs.map((job) => new Promise<void>((resolve) => job.onPause(resolve, false))));
  }

  /** Forgets the ended jobs of a session that moved to another process: how they ended here is not their real end. */
  forget(sessionId: string): void {
    for (const job of this.#endedIn.get(sessionId)) this.#drop(job);
  }

  /** Moves a job to the ended jobs, which are kept as long as there is room. */
  end(job: CallJob): void {
    if (!this.#running.delete(job.id)) return;
    this.#runningIn.delete(job.sessionId, job);
    this.#countEndFor(job.principal);
    this.#ended.set(job.id, { job, at: this.#now() });
    this.#endedIn.add(job.sessionId, job);
    this.#prune();
    this.#observer?.onJobEnd(this.isIdle);
    this.#notifyListeners(job);
  }

  #countEndFor(principal: string | undefined): void {
    if (principal === undefined) return;
    const left = (this.#runningFor.get(principal) ?? 1) - 1;
    if (left > 0) this.#runningFor.set(principal, left);
    else this.#runningFor.delete(principal);
  }

  /** Calls the listener when a job of the session asks something or has ended. The returned function removes the listener. */
  listen(sessionId: string, listener: (job: JobStatus) => void): () => void {
    const listeners = getOrAdd(this.#listeners, sessionId, () => new Set<(job: JobStatus) => void>());
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(sessionId) === listeners) this.#listeners.delete(sessionId);
    };
  }

  #notifyListeners(job: CallJob): void {
    for (const listener of this.#listeners.get(job.sessionId) ?? []) listener(job.status);
  }

  #prune(): void {
    const { keepEnded, keepEndedMs } = this.#limits;
    const since = keepEndedMs === 0 ? -Infinity : this.#now() - keepEndedMs;
    for (const { job, at } of this.#ended.values()) {
      if (this.#ended.size <= keepEnded && at >= since) return;
      this.#drop(job);
    }
  }

  #drop(job: CallJob): void {
    this.#ended.delete(job.id);
    this.#endedIn.delete(job.sessionId, job);
  }
}

function principalBusyError({ toolName }: JobCall, limit: number): ToolError {
  return new ToolError(
    "resource_busy",
    `${toolName} was not started: ${plural(limit, "background job")} of the same principal ${limit === 1 ? "has" : "have"} not ended, which is the limit for one principal.`,
    {
      retryable: true,
      outcome: "not_started",
      hint: "Wait for one to end, or cancel one.",
      operatorHint: "The limit is maxPerPrincipal of jobs.",
    },
  );
}
