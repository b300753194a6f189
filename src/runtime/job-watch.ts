/** Keeps a runtime's jobs and their rows in the store in sync: cancels jobs on the request of other processes, and deletes old rows. */
import { describeThrown } from "../core/error.ts";
import type { Ports } from "../core/ports.ts";
import type { Store } from "../core/store/store.ts";
import { NO_FOLLOWER, type StoreChange, type StoreFollower } from "../core/store/store-changes.ts";
import { jobLimits, type JobObserver, type JobTable } from "../call/jobs/job-table.ts";
import type { RuntimeOptions } from "./runtime-options.ts";

/** How often cancel requests of other processes are read while a job runs, in milliseconds. */
const POLL_MS = 1_000;
/** Old rows are deleted each time this many jobs have ended. */
const ENDS_BETWEEN_PRUNES = 256;

interface JobWatchOptions {
  readonly store: Store;
  readonly ports: Pick<Ports, "clock" | "log">;
  /** Maximum number of rows of ended jobs. */
  readonly keepStored: number;
  /** How long the rows are kept, in milliseconds; 0 = no time limit. */
  readonly keepStoredMs: number;
}

/** Creates a runtime's watch, which `stops` ends; undefined if no store outlives the process, because then no other process has jobs in it. */
export function watchJobs({ store, jobs = {} }: RuntimeOptions, ports: Ports, stops: Set<() => void>): JobObserver | undefined {
  if (store?.outlivesProcess !== true) return undefined;
  const watch = new JobWatch({ store, ports, ...jobLimits(jobs) });
  stops.add(() => watch.close());
  return watch;
}

class JobWatch implements JobObserver {
  readonly #options: JobWatchOptions;
  #jobs: JobTable | undefined;
  #cancelPoll: (() => void) | undefined;
  #follower: StoreFollower = NO_FOLLOWER;
  #isPolling = false;
  /** A notification arrived since the last read began. */
  #mustPollAgain = false;
  #ends = 0;
  #hasFailed = false;
  #isClosed = false;

  constructor(options: JobWatchOptions) {
    this.#options = options;
  }

  onJobStart(jobs: JobTable): void {
    this.#jobs = jobs;
    this.#schedulePoll();
  }

  onJobEnd(isLast: boolean): void {
    if (isLast) this.#stopPolling();
    if (!this.#isClosed && this.#ends++ % ENDS_BETWEEN_PRUNES === 0) void this.#prune();
  }

  /** Stops the watch; the store is closed with the runtime. */
  close(): void {
    this.#isClosed = true;
    this.#stopPolling();
  }

  #stopPolling(): void {
    this.#cancelPoll?.();
    this.#cancelPoll = undefined;
    this.#follower.stop();
    this.#follower = NO_FOLLOWER;
  }

  /** Whether there is a job that has not ended. */
  get #isNeeded(): boolean {
    return !this.#isClosed && this.#jobs?.isIdle === false;
  }

  #schedulePoll(): void {
    if (!this.#isNeeded || this.#cancelPoll !== undefined || this.#isPolling) return;
    this.#cancelPoll = this.#options.ports.clock.timer(() => void this.#poll(), POLL_MS, { background: true });
    if (this.#follower === NO_FOLLOWER) this.#follower = this.#options.store.follow((change) => this.#onChange(change));
  }

  #onChange({ parts }: StoreChange): void {
    if (!parts.includes("jobs")) return;
    this.#mustPollAgain = true;
    if (this.#cancelPoll === undefined) return; // a read is in progress, and is repeated after it
    this.#cancelPoll();
    void this.#poll();
  }

  async #poll(): Promise<void> {
    this.#cancelPoll = undefined;
    this.#isPolling = true;
    this.#mustPollAgain = false;
    try {
      for (const { sessionId, id, reason } of await this.#options.store.jobs.cancelRequests()) {
        const job = this.#jobs?.get(id);
        if (job?.sessionId === sessionId) job.cancel(reason);
      }
      this.#hasFailed = false;
    } catch (thrown: unknown) {
      this.#warn("It is not known whether a background job was cancelled elsewhere", thrown);
    } finally {
      this.#isPolling = false;
      if (this.#mustPollAgain && this.#isNeeded) void this.#poll();
      else this.#schedulePoll();
    }
  }

  async #prune(): Promise<void> {
    const { store, ports, keepStored, keepStoredMs } = this.#options;
    const age = keepStoredMs === 0 ? {} : { endedBefore: ports.clock.wallTime() - keepStoredMs };
    try {
      await store.jobs.prune({ keep: keepStored, ...age });
    } catch (thrown: unknown) {
      this.#warn("Old background jobs could not be removed", thrown);
    }
  }

  /** Logs a failure once, until a read succeeds. */
  #warn(what: string, thrown: unknown): void {
    if (this.#hasFailed || this.#isClosed) return;
    this.#hasFailed = true;
    this.#options.ports.log.warn(`${what}: ${describeThrown(thrown)}`);
  }
}
