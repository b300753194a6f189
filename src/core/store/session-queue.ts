/** The seam that assigns sessions whose jobs no process runs to a process that runs them. */

/**
 * Distributes sessions among the processes of a store.
 *
 * The queue only decides which process resumes a session; `Store.claim` decides which one may write it. So taking a session twice, or offering it
 * without need, is harmless.
 */
export interface SessionQueue {
  /**
   * Connects, and creates its tables if it has the right to.
   *
   * @throws ToolError `store_failed` if a package or a right is missing; `corrupt_record` for tables of another version, as a rejection
   */
  open(): Promise<void>;
  /**
   * Offers sessions. Sessions that are queued, or that a process has taken and not returned, are not queued twice. Resolves to how many were newly
   * queued, of all that were offered at the same time.
   */
  offer(sessionIds: readonly string[]): Promise<number>;
  /**
   * Takes offered sessions, several at a time, until `stop`. A session whose `work` rejects is taken again, by any process, after a wait that grows
   * to a minute; a session whose process dies meanwhile, after ten seconds.
   */
  take(work: (sessionId: string) => Promise<void>, options: TakeSessionsOptions): Promise<TakenSessions>;
  close(): Promise<void>;
}

/** Options for taking sessions. */
export interface TakeSessionsOptions {
  /** Maximum number of sessions at a time. Integer ≥ 1. */
  readonly concurrency: number;
  /** Called with errors that prevent taking sessions, such as a lost connection. Taking is retried. */
  readonly onError: (error: unknown) => void;
}

/** A process's subscription to offered sessions. */
export interface TakenSessions {
  /** Stops taking sessions. Resolves when all taken sessions are returned. Idempotent. */
  stop(): Promise<void>;
}
