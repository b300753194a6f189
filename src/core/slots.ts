/** Lets only so many calls run at a time: the seam behind which processes may share their limits. */

/** Limits by name. */
export interface Slots {
  /**
   * The limit of this name, whose slots are the same for all that share it. A limit of the same name with another `maxConcurrent` counts
   * for itself, so that a configuration can change while calls run.
   *
   * @throws ToolError `invalid_argument` unless `maxConcurrent` is an integer ≥ 1 or `Infinity`
   */
  limit(name: string, maxConcurrent: number): SlotLimit;
}

/**
 * At most `maxConcurrent` slots taken at a time.
 *
 * Waiters are in lanes, one per session. A free slot goes to the lane whose turn it is, and there to the
 * first in line, so a session with one call waits for at most one call of every other session.
 */
export interface SlotLimit {
  /** Takes a slot if one is free and no other process has to be asked. While anyone waits, none is free. */
  tryTake(): boolean;
  /** Takes a slot at once where one is free, else the last place in the lane. */
  wait(lane: string): SlotWaiter;
  /**
   * Gives a slot that was taken here back, or on to the next waiter.
   *
   * @throws ToolError `invalid_argument` when none is taken here: something was released twice
   */
  release(): void;
  /** Why no slot can be taken now, for slots that are counted elsewhere. Said of calls whose deadline passes meanwhile. */
  readonly unreachable?: string | undefined;
}

/** A call that waits for a place. */
export interface SlotWaiter {
  /** True once the slot is this waiter's; stays false after `cancel` while waiting. */
  readonly taken: boolean;
  /**
   * Resolves when the slot is taken and never rejects; after `cancel` while waiting it stays pending. While what counts the slots cannot
   * be reached, the waiter waits: the call's own deadline ends the wait.
   */
  whenTaken(): Promise<void>;
  /**
   * Leaves the line, or gives the slot back if it was taken. Later calls do nothing.
   *
   * A taken slot is ended once: by this or by `SlotLimit.release()`, not by both.
   */
  cancel(): void;
}
