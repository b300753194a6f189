/** The seam behind which the background jobs of all sessions of a store are seen and cancelled, whichever process runs them. */
import type { JobMode, JobState } from "./job-status.ts";

/**
 * One row for each background job, kept next to the event logs.
 *
 * Nothing here begins, starts or ends a job: a row is written by `EventLog.append`, in the transaction of the events that say so
 * (`job-start`, `job-run`, `job-output` with a question, `job-input`, `job-end`), and is refused with them where another process has
 * claimed the session. Every store passes `jobStoreContract` of `haft/testing`.
 */
export interface JobStore {
  /** The newest first. Those whose events are only buffered are not there yet. */
  list(options?: ListStoredJobsOptions): Promise<readonly StoredJob[]>;
  /**
   * Asks the process that runs a job to end it: `cancelRequests` there names it until it has ended. Resolves to whether there is such a
   * job that has not ended. The first reason stays.
   */
  requestCancel(job: JobKey & { readonly reason: string }): Promise<boolean>;
  /** The jobs of sessions claimed by this store object that are to be cancelled, and have not ended. With `sessionId`, those of other sessions may be left out. */
  cancelRequests(options?: { readonly sessionId?: string }): Promise<readonly CancelRequest[]>;
  /**
   * The ids of sessions that have jobs which have not ended, and that no living process has open: nothing runs these jobs until a process
   * resumes the session. At most `limit`, those whose jobs were begun first.
   */
  unattended(options?: ListUnattendedOptions): Promise<readonly string[]>;
  /** Forgets rows of jobs that have ended; their events stay. Resolves to how many. */
  prune(options: PruneJobsOptions): Promise<number>;
}

/** Names one job of a store: ids of calls are unique within their session. */
export interface JobKey {
  readonly sessionId: string;
  /** The id of its call. */
  readonly id: string;
}

/** A job whose end was requested. */
export interface CancelRequest extends JobKey {
  readonly reason: string;
}

/** A background job as a store knows it, without reading its session's log. */
export interface StoredJob extends JobKey {
  /** Qualified. */
  readonly toolName: string;
  readonly mode: JobMode;
  /** Whether its end is to wake an agent. */
  readonly notify: boolean;
  /**
   * As of its last durable event; one that waits for approval is `running` or `queued` here, and `waiting` where a runtime lists it. A job whose process was killed
   * stays as it was until its session is resumed, and one that was handed over is `queued`.
   */
  readonly state: JobState;
  /** Wall-clock milliseconds since the epoch. */
  readonly startedAt: number;
  /** Wall-clock milliseconds since the epoch; undefined until it has ended. */
  readonly endedAt?: number;
  /** How many times it was begun to be run, each in another process; 0 while it waits for its place. */
  readonly starts: number;
  /** The code of the error that it ended with. */
  readonly errorCode?: string;
  /** Why it is to be cancelled, until it has ended. */
  readonly cancelReason?: string;
  /** The living process that has its session open, as text; undefined when none has: then no process runs the job. */
  readonly openedBy?: string;
}

/** Which jobs of a store are listed. */
export interface ListStoredJobsOptions {
  readonly sessionId?: string;
  /** The id of a call: one job, or several of different sessions. */
  readonly id?: string;
  /** Those in one of these states. @default all */
  readonly states?: readonly JobState[];
  /** Most jobs. Integer ≥ 1. @default 100 */
  readonly limit?: number;
  /** How many to pass over. @default 0 */
  readonly offset?: number;
}

/** How many sessions with unended jobs are listed. */
export interface ListUnattendedOptions {
  /** Most sessions. Integer ≥ 1. @default 1_000 */
  readonly limit?: number;
}

/** Which rows of ended jobs are forgotten. */
export interface PruneJobsOptions {
  /** So many are kept, those that ended last. */
  readonly keep: number;
  /** Those that ended before are forgotten, in wall-clock milliseconds since the epoch. @default none */
  readonly endedBefore?: number;
}
