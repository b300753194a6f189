/** Lets calls that touch the same resources wait for each other: the seam behind which processes may share their locks. */

/** The keys that a call asks for, all at once. */
export interface LockRequest {
  /** The call's id, shown to those that wait for it. */
  readonly owner: string;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  /** Its writes go together with other commutative writes of the same or nested keys, but with no read and no plain write. */
  readonly commutative: boolean;
  /**
   * It is made inside a call that holds keys here: granted before earlier tickets that still wait, as those may wait for that call. Locks
   * that do not know it are correct as well; such a call then waits, or is refused, where it need not be. @default false
   */
  readonly overtakes?: boolean;
  /** The outermost call around it that holds locks of the same kind. @default its own `owner` */
  readonly within?: string;
}

/** A place among those that wait for locks, or hold them. */
export interface LockTicket {
  /** True at once when nothing conflicts and no other process has to be asked; stays false for a ticket released while it waited. */
  readonly granted: boolean;
  /**
   * Resolves when granted and never rejects; after a release while waiting it stays pending. Locks of several processes also resolve it,
   * with `granted` false, where the wait would never end. While what keeps the locks cannot be
   * reached, the ticket waits: the call's own deadline ends the wait.
   */
  whenGranted(): Promise<void>;
  /** Owners of conflicting tickets that are before it and known to be in the way, the first in line first. @param most how many. @default 20 */
  waitingFor(most?: number): readonly string[];
  /** Once granted, the owners that `waitingFor` named first; for locks that answer later than they are asked. */
  waitedFor?(): readonly string[];
  /** Once granted, a number greater than that of every earlier grant of the same keys; undefined for locks that count none. */
  readonly fence?: number | undefined;
  /** Gives the keys back or leaves the line, and grants those that can now go, in their order. Later calls do nothing. */
  release(): void;
}

/**
 * Read and write locks on hierarchical keys.
 *
 * Reads share; a write of a key excludes every read and write of it, of anything inside it and of anything
 * it is inside of. The keys must not change until the release; a ticket never conflicts with itself.
 */
export interface Locks {
  /**
   * Takes a place in line for all keys at once.
   *
   * First come, first served: a ticket waits for every earlier conflicting one, held or waiting, and for
   * nothing else, so none starves and none deadlocks. Those that overtake are before all others that wait. One without keys is granted
   * at once.
   */
  request(request: LockRequest): LockTicket;
  /** Why nothing can be granted now, for locks that are elsewhere. Said of calls whose deadline passes meanwhile. */
  readonly unreachable?: string | undefined;
}
