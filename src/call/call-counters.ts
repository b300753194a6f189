/** Counts of the work that a runtime has done, and of what it has abandoned. */

export interface OrphanCount {
  readonly toolName: string;
  /** More than one if several attempts of the call were abandoned. */
  readonly count: number;
}

/** Counts of the work that a runtime has done so far. */
export interface CallCounters {
  /** Calls that have ended, with any status. */
  calls: number;
  /** Ended calls with the status `ok`. */
  succeeded: number;
  attempts: number;
  repairs: number;
  /** Abandoned handlers that have not ended yet. */
  orphans: number;
  /** All handlers that were abandoned. */
  abandoned: number;
}
