/** The seam for concurrency limits, which processes may share. */

/** Limits by name. */
export interface Slots {
  /**
   * Returns the limit with this name, whose slots are shared by all that use it. A limit of the same name with another `maxConcurrent` counts
   * separately, so that a configuration can change while calls run.
   *
   * @throws ToolError `invalid_argument` unless `maxConcurrent` is an integer ≥ 1 or `Infinity`
   */
  limit(name: string, maxConcurrent: number): SlotLimit;
}

/**
 * A limit of `maxConcurrent` slots taken at a time.
 *
 * Waiters queue in lanes, one per session. Lanes take turns, and a free slot goes to the first waiter of the next lane, so a session with one call
 * waits for at most one call of every other session.
 */
export interface SlotLimit {
  /** Takes a slot if one is free and no other process has to be asked. While there are waiters, none is free. */
  tryTake(): boolean;
  /** Takes a slot at once if one is free, else queues at the end of the lane. */
  wait(lane: string): SlotWaiter;
  /**
   * Gives back a slot that was taken here, or hands it to the next waiter.
   *
   * @throws ToolError `invalid_argument` if no slot is taken here: something was released twice
   */
  release(): void;
  /** Why no slot can be taken now, for slots counted remotely. Included in the error of calls whose deadline passes meanwhile. */
  readonly unreachable?: string | undefined;
}

/** A call that waits for a slot. */
export interface SlotWaiter {
  /** Whether this waiter has the slot; stays false after `cancel` while waiting. */
  readonly taken: boolean;
  /**
   * Resolves when the slot is taken and never rejects; after `cancel` while waiting it stays pending. While the service that counts the slots is
   * unreachable, the waiter waits: the call's own deadline ends the wait.
   */
  whenTaken(): Promise<void>;
  /**
   * Leaves the queue, or releases the slot if it was taken. Later calls do nothing.
   *
   * A taken slot is released once: by this or by `SlotLimit.release()`, not by both.
   */
  cancel(): void;
}
