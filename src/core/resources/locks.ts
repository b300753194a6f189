/** The seam for locks, which make calls that use the same resources wait for each other. Processes may share them. */

/** The keys that a call requests, all at once. */
export interface LockRequest {
  /** The call's id, shown to the calls that wait for it. */
  readonly owner: string;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  /** Whether its writes may run together with other commutative writes of the same or nested keys, but not with reads or plain writes. */
  readonly commutative: boolean;
  /**
   * Whether the call is made inside a call that holds keys here: it is then granted before earlier tickets that still wait, as those may wait for the
   * outer call. Locks may ignore this field; such a call then waits, or is refused, without need. @default false
   */
  readonly overtakes?: boolean;
  /** The outermost enclosing call that holds locks of the same kind. @default its own `owner` */
  readonly within?: string;
}

/** A request that waits for locks, or holds them. */
export interface LockTicket {
  /** Whether the keys are granted: at once if nothing conflicts and no other process has to be asked. Stays false if released while waiting. */
  readonly granted: boolean;
  /**
   * Resolves when granted and never rejects; after a release while waiting it stays pending. Locks shared by several processes also resolve it, with
   * `granted` false, if the wait would never end. While the lock service is unreachable, the ticket waits: the call's own deadline ends the wait.
   */
  whenGranted(): Promise<void>;
  /** Returns the owners of conflicting tickets known to be before this one, first in line first. @param most maximum number of owners. @default 20 */
  waitingFor(most?: number): readonly string[];
  /** Returns, once granted, the owners that `waitingFor` named first; for locks that answer asynchronously. */
  waitedFor?(): readonly string[];
  /** Once granted, a number greater than that of every earlier grant of the same keys; undefined for locks without such numbers. */
  readonly fence?: number | undefined;
  /** Releases the keys or leaves the line, and grants tickets that no longer conflict, in order. Later calls do nothing. */
  release(): void;
}

/**
 * Read and write locks on hierarchical keys.
 *
 * Reads are shared; a write of a key excludes every read and write of the key, of keys inside it and of keys around it. The keys must not change
 * until the release; a ticket never conflicts with itself.
 */
export interface Locks {
  /**
   * Queues a request for all keys at once.
   *
   * First come, first served: a ticket waits for every earlier conflicting one, held or waiting, and for nothing else, so there is no starvation and
   * no deadlock. Tickets that overtake go before all others that wait. A ticket without keys is granted at once.
   */
  request(request: LockRequest): LockTicket;
  /** Why nothing can be granted now, for remote locks. Included in the error of calls whose deadline passes meanwhile. */
  readonly unreachable?: string | undefined;
}
