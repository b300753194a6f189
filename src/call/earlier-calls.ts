/** Calls that began before a crash and are taken up again. */

/** Calls that were made in a background job before a crash: each comes to its result before the job is run again. `run` or `end` is called once. */
export interface EarlierCalls {
  /** Never rejects. */
  run(): Promise<void>;
  /** Cancels those that have not ended, and those that `run` has still to begin. */
  cancel(reason: string): void;
  /** Ends them as cancelled: their job is not run. Never rejects. */
  end(reason: string): Promise<void>;
}

/** The state of a call that began before a crash and is taken up again. */
export interface EarlierRun {
  readonly callId: string;
  readonly idempotencyKey: string | undefined;
}
