/** The seam for listing and cancelling the background jobs of all sessions of a store, whichever process runs them. */
import type { JobMode, JobState } from "../jobs/job-status.ts";

/**
 * One row for each background job, kept next to the event logs.
 *
 * No method here creates, starts or ends a job: rows are written by `EventLog.append`, in the transaction of the job's events (`job-start`,
 * `job-run`, `job-output` with a question, `job-input`, `job-end`), and rejected with them if another process has claimed the session. Every store
 * passes `jobStoreContract` of `haft/testing`.
 */
export interface JobStore {
  /** Lists jobs, newest first. Jobs whose events are only buffered are not included yet. */
  list(options?: ListStoredJobsOptions): Promise<readonly StoredJob[]>;
  /**
   * Asks the process that runs a job to cancel it: `cancelRequests` of that process lists the job until it has ended. Resolves to whether the job
   * exists and has not ended. If called again, the first reason is kept.
   */
  requestCancel(job: JobKey & { readonly reason: string }): Promise<boolean>;
  /**
   * Returns unended jobs that should be cancelled, in sessions claimed by this store object. With `sessionId`, other sessions' jobs may be left out.
   */
  cancelRequests(options?: { readonly sessionId?: string }): Promise<readonly CancelRequest[]>;
  /**
   * Returns the ids of sessions that have unended jobs and that no living process has open: nothing runs these jobs until a process resumes the
   * session. At most `limit`, those with the oldest jobs first.
   */
  unattended(options?: ListUnattendedOptions): Promise<readonly string[]>;
  /** Deletes the rows of ended jobs; their events stay. Resolves to the number of rows deleted. */
  prune(options: PruneJobsOptions): Promise<number>;
}

/** Identifies a job in a store: call ids are unique only within their session. */
export interface JobKey {
  readonly sessionId: string;
  /** The id of the job's call. */
  readonly id: string;
}

/** A job that should be cancelled. */
export interface CancelRequest extends JobKey {
  readonly reason: string;
}

/** A background job as the store's table has it, without reading its session's log. */
export interface StoredJob extends JobKey {
  /** The qualified name. */
  readonly toolName: string;
  readonly mode: JobMode;
  /** Whether the end of the job wakes an agent. */
  readonly notify: boolean;
  /**
   * The state after the job's last durable event. A job that waits for approval is `running` here, and `waiting` if a runtime lists it. If the job's
   * process died, the state stays as it was until the session is resumed.
   */
  readonly state: JobState;
  /** Wall-clock milliseconds since the epoch. */
  readonly startedAt: number;
  /** Wall-clock milliseconds since the epoch; undefined until it has ended. */
  readonly endedAt?: number;
  /** How many times the job was started, each time in another process; 0 while it waits for a slot. */
  readonly starts: number;
  /** The code of the error that the job ended with. */
  readonly errorCode?: string;
  /** Why the job should be cancelled, until it has ended. */
  readonly cancelReason?: string;
  /** Describes the living process that has the session open; undefined if none has, and so no process runs the job. */
  readonly openedBy?: string;
}

/** Which jobs to list. */
export interface ListStoredJobsOptions {
  readonly sessionId?: string;
  /** The id of a call: one job, or several of different sessions. */
  readonly id?: string;
  /** Only jobs in one of these states. @default all */
  readonly states?: readonly JobState[];
  /** Maximum number of jobs. Integer ≥ 1. @default 100 */
  readonly limit?: number;
  /** How many jobs to skip. @default 0 */
  readonly offset?: number;
}

/** Options for `JobStore.unattended`. */
export interface ListUnattendedOptions {
  /** Maximum number of sessions. Integer ≥ 1. @default 1_000 */
  readonly limit?: number;
}

/** Which rows of ended jobs to delete. */
export interface PruneJobsOptions {
  /** How many rows to keep, of the jobs that ended last. */
  readonly keep: number;
  /** Deletes also the rows of jobs that ended before this time, in wall-clock milliseconds since the epoch. @default none */
  readonly endedBefore?: number;
}
