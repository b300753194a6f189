/** Keeps a runtime's jobs and the rows of its store together: obeys those who cancel a job elsewhere, and forgets old rows. */
import { describeThrown } from "../core/error.ts";
import type { Ports } from "../core/ports.ts";
import type { Store } from "../core/store.ts";
import { NOT_FOLLOWED, type StoreChange, type StoreFollower } from "../core/store-changes.ts";
import { jobLimits, type JobTable } from "../call/jobs/job-table.ts";
import type { RuntimeOptions } from "./runtime-options.ts";

/** How often another process's wish is looked for while a job runs. */
const LOOK_MS = 1_000;
/** So many jobs end before old rows are looked for again. */
const ENDS_BETWEEN_LOOKS = 256;

export interface JobWatchOptions {
  readonly store: Store;
  readonly ports: Pick<Ports, "clock" | "log">;
  /** Most rows of ended jobs. */
  readonly keepStored: number;
  /** How long they are kept; 0 = as long as there is room. */
  readonly keepStoredMs: number;
}

/** The watch of a runtime, ended by one of `stops`; undefined without a store that outlives the process: such a store has no jobs of another one. */
export function watchJobs({ store, jobs = {} }: RuntimeOptions, ports: Ports, stops: Set<() => void>): JobWatch | undefined {
  if (store?.outlivesProcess !== true) return undefined;
  const watch = new JobWatch({ store, ports, ...jobLimits(jobs) });
  stops.add(() => watch.close());
  return watch;
}

export class JobWatch {
  readonly #options: JobWatchOptions;
  #jobs: JobTable | undefined;
  #stop: (() => void) | undefined;
  #follower: StoreFollower = NOT_FOLLOWED;
  #looking = false;
  /** A hint arrived since the last look began. */
  #isBehind = false;
  #ends = 0;
  #hasFailed = false;
  #isClosed = false;

  constructor(options: JobWatchOptions) {
    this.#options = options;
  }

  /** A job has begun. */
  begin(jobs: JobTable): void {
    this.#jobs = jobs;
    this.#lookLater();
  }

  /** A job has ended. */
  end(isLast: boolean): void {
    if (isLast) this.#rest();
    if (!this.#isClosed && this.#ends++ % ENDS_BETWEEN_LOOKS === 0) void this.#prune();
  }

  /** The store is closed with the runtime. */
  close(): void {
    this.#isClosed = true;
    this.#rest();
  }

  #rest(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.#follower.stop();
    this.#follower = NOT_FOLLOWED;
  }

  /** Without a job that runs there is nothing to look for. */
  get #isNeeded(): boolean {
    return !this.#isClosed && this.#jobs?.isIdle === false;
  }

  #lookLater(): void {
    if (!this.#isNeeded || this.#stop !== undefined || this.#looking) return;
    this.#stop = this.#options.ports.clock.timer(() => void this.#look(), LOOK_MS, { background: true });
    if (this.#follower === NOT_FOLLOWED) this.#follower = this.#options.store.follow((change) => this.#hear(change));
  }

  #hear({ parts }: StoreChange): void {
    if (!parts.includes("jobs")) return;
    this.#isBehind = true;
    if (this.#stop === undefined) return; // it looks already, and looks again
    this.#stop();
    void this.#look();
  }

  async #look(): Promise<void> {
    this.#stop = undefined;
    this.#looking = true;
    this.#isBehind = false;
    try {
      for (const { sessionId, id, reason } of await this.#options.store.jobs.cancelRequests()) {
        const job = this.#jobs?.get(id);
        if (job?.sessionId === sessionId) job.cancel(reason);
      }
      this.#hasFailed = false;
    } catch (thrown: unknown) {
      this.#warn("It is not known whether a background job was cancelled elsewhere", thrown);
    } finally {
      this.#looking = false;
      if (this.#isBehind && this.#isNeeded) void this.#look();
      else this.#lookLater();
    }
  }

  async #prune(): Promise<void> {
    const { store, ports, keepStored, keepStoredMs } = this.#options;
    const age = keepStoredMs === 0 ? {} : { endedBefore: ports.clock.wallTime() - keepStoredMs };
    try {
      await store.jobs.prune({ keep: keepStored, ...age });
    } catch (thrown: unknown) {
      this.#warn("Old background jobs could not be forgotten", thrown);
    }
  }

  /** Once, until it goes well again. */
  #warn(what: string, thrown: unknown): void {
    if (this.#hasFailed || this.#isClosed) return;
    this.#hasFailed = true;
    this.#options.ports.log.warn(`${what}: ${describeThrown(thrown)}`);
  }
}
