/** Counts of the work that a runtime has done, and of what it has abandoned. */

export interface OrphanCount {
  readonly toolName: string;
  /** More than one when several attempts of the call were abandoned. */
  readonly count: number;
}

/** Counts of the work that a runtime has done so far. */
export interface CallCounters {
  /** Calls that have ended, however. */
  calls: number;
  /** Of these, the ones with the status `ok`. */
  succeeded: number;
  attempts: number;
  repairs: number;
  /** Handlers that were abandoned and have not ended yet. */
  orphans: number;
  /** Handlers that were ever abandoned. */
  abandoned: number;
}
