/** Leases on resources that several processes use: the part of a store that isolates their calls from each other. */

/** The keys that a call wants to hold, from the first `update` that lists the request to the one that releases it. */
export interface LeaseRequest {
  /** The unique id of the request. */
  readonly ticket: string;
  /** Shown to the calls that wait for it. */
  readonly callId: string;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  /** As in `LockRequest`. */
  readonly commutative: boolean;
  /** Whether it goes before requests that wait, as in `LockRequest`. */
  readonly overtakes: boolean;
  /** The outermost enclosing call that holds leases; its own id if there is none. A call waits for the calls made inside it. */
  readonly within: string;
  /** A limit in place of keys: at most `most` requests with this name are granted at a time. */
  readonly limit?: { readonly name: string; readonly most: number };
}

/** The answer to a request. */
export type LeaseAnswer =
  | {
      readonly granted: true;
      /** Greater than that of every earlier lease on the same key, or on a key inside or around it. */
      readonly fence: number;
    }
  | {
      readonly granted: false;
      /** The calls that block it, first in line first. */
      readonly waitsFor: readonly string[];
      /** Whether it is a deadlock: the request would wait for calls that wait for its enclosing call, and was removed from the line. */
      readonly isDeadlock: boolean;
    };

/** Leases to release, and leases to take. */
export interface LeaseUpdate {
  /** Tickets that are held or waiting. Unknown ones are ignored. */
  readonly released: readonly string[];
  /** Requests in order; those that still wait are listed again, and keep their position. */
  readonly requested: readonly LeaseRequest[];
}

/** A lease as a store lists it. */
export interface StoredLease {
  readonly callId: string;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  /** Undefined while the lease is waiting. */
  readonly fence: number | undefined;
  /** Describes the process that holds the lease, as text. */
  readonly heldBy: string;
}

/**
 * Read and write leases on hierarchical keys, by the rules of `Locks`, in one line for all processes.
 *
 * An owner keeps a lease as long as the store renews it, by the clock of the database; after a lease time without renewal another process may take
 * over. Tools that an owner which comes back late could harm compare fences.
 */
export interface LeaseStore {
  /** Releases and takes leases in one transaction. Returns answers in the order of `wanted`. May be repeated after an error. */
  update(update: LeaseUpdate): Promise<readonly LeaseAnswer[]>;
  /** Returns the leases that are held or waited for, in line order. */
  list(): Promise<readonly StoredLease[]>;
}
