/** The rows of jobs in memory. */
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { CancelRequest, JobStore, ListUnattendedOptions, PruneJobsOptions, StoredJob } from "../../core/store/job-store.ts";
import type { JobChange } from "../records/job-changes.ts";
import type { CheckedJobList } from "../records/store-options.ts";

export class MemoryJobs implements JobStore {
  /** By session and id, in the order they began. */
  readonly #sessions = new Map<string, Map<string, StoredJob>>();
  readonly #isOpen: (sessionId: string) => boolean;

  constructor(isOpen: (sessionId: string) => boolean) {
    this.#isOpen = isOpen;
  }

  apply(sessionId: string, change: JobChange): void {
    const jobs = this.#sessions.get(sessionId) ?? new Map<string, StoredJob>();
    const { id } = change;
    const job = jobs.get(id);
    if (change.type === "start") {
      const { toolName, mode, notify, isQueued, at: startedAt } = change;
      const state = isQueued ? "queued" : "running";
      if (job === undefined) jobs.set(id, { id, sessionId, toolName, mode, notify, state, startedAt, starts: isQueued ? 0 : 1 });
      this.#sessions.set(sessionId, jobs);
    } else if (job !== undefined && job.endedAt === undefined) jobs.set(id, applyChange(job, change));
  }

  removeSession(sessionId: string): void {
    this.#sessions.delete(sessionId);
  }

  async list({ sessionId, id, states, limit, offset }: CheckedJobList): Promise<readonly StoredJob[]> {
    const found = this.#all().filter(
      (job) =>
        (sessionId === undefined || job.sessionId === sessionId) &&
        (id === undefined || job.id === id) &&
        (states === undefined || states.includes(job.state)),
    );
    const newest = found.sort((one, other) => other.startedAt - one.startedAt);
    return newest
      .slice(offset, offset + limit)
      .map((job) => (this.#isOpen(job.sessionId) ? { ...job, openedBy: `this process, ${process.pid}` } : job));
  }

  async requestCancel({ sessionId, id, reason }: CancelRequest): Promise<boolean> {
    const job = this.#sessions.get(sessionId)?.get(id);
    if (job === undefined || job.endedAt !== undefined) return false;
    this.#sessions.get(sessionId)?.set(id, { ...job, cancelReason: job.cancelReason ?? reason });
    return true;
  }

  async cancelRequests(): Promise<readonly CancelRequest[]> {
    return this.#all().flatMap(({ sessionId, id, cancelReason }) =>
      cancelReason === undefined || !this.#isOpen(sessionId) ? [] : [{ sessionId, id, reason: cancelReason }],
    );
  }

  async unattended({ limit }: Required<ListUnattendedOptions>): Promise<readonly string[]> {
    const waiting = this.#all().filter(({ sessionId, endedAt }) => endedAt === undefined && !this.#isOpen(sessionId));
    const ids = waiting.toSorted((one, other) => one.startedAt - other.startedAt).map(({ sessionId }) => sessionId);
    return [...new Set(ids)].slice(0, limit);
  }

  async prune({ keep, endedBefore = -Infinity }: PruneJobsOptions): Promise<number> {
    const ended = this.#all()
      .filter((job) => job.endedAt !== undefined)
      .sort((one, other) => (other.endedAt ?? 0) - (one.endedAt ?? 0));
    const gone = ended.filter((job, index) => index >= keep || (job.endedAt ?? 0) < endedBefore);
    for (const { sessionId, id } of gone) this.#sessions.get(sessionId)?.delete(id);
    return gone.length;
  }

  #all(): StoredJob[] {
    return [...this.#sessions.values()].flatMap((jobs) => [...jobs.values()]);
  }
}

function applyChange(job: StoredJob, change: Exclude<JobChange, { readonly type: "start" }>): StoredJob {
  switch (change.type) {
    case "run":
      return { ...job, state: change.isQueued ? "queued" : "running", starts: change.starts };
    case "ask":
      return { ...job, state: "waiting" };
    case "answer":
      return job.state === "waiting" ? { ...job, state: "running" } : job;
    case "end": {
      const { cancelReason: _cancelReason, ...rest } = job;
      return { ...rest, state: change.state, endedAt: change.at, ...omitUndefined({ errorCode: change.errorCode ?? undefined }) };
    }
  }
}
