/** The seam by which sessions whose jobs no process runs reach one that does. */

/**
 * Distributes sessions among the processes of a store.
 *
 * It only decides which process resumes a session: `Store.claim` decides which one may write it. So a session that is taken twice, or offered
 * without need, does no harm.
 */
export interface SessionQueue {
  /**
   * Connects, and makes its tables where it may.
   *
   * @throws ToolError `store_failed` where a package or a right is missing; `corrupt_record` for tables of another version. By rejecting
   */
  open(): Promise<void>;
  /**
   * Offers sessions. Those that wait, or that a process has taken and not returned, are not offered twice. Resolves to how many were neither, of
   * all that were offered at the same time.
   */
  offer(sessionIds: readonly string[]): Promise<number>;
  /**
   * Takes sessions that are offered, so many at a time, until `stop`. One whose work rejects is taken again, by any process, after a wait that
   * grows to a minute; one whose process ends in the middle, after ten seconds.
   */
  take(work: (sessionId: string) => Promise<void>, options: TakeSessionsOptions): Promise<TakenSessions>;
  close(): Promise<void>;
}

/** How sessions are taken. */
export interface TakeSessionsOptions {
  /** Most at a time. Integer ≥ 1. */
  readonly concurrency: number;
  /** Called with what keeps sessions from being taken, such as a connection that was lost. It is tried again. */
  readonly onError: (error: unknown) => void;
}

/** The taking of sessions by one process. */
export interface TakenSessions {
  /** Takes no more. Resolves when all that were taken are returned. Idempotent. */
  stop(): Promise<void>;
}
