/** Leases on resources that several processes use: the part of a store that keeps their calls apart. */

/** The keys that a call wants to hold, from the first `update` that has the request to the one that gives it back. */
export interface LeaseRequest {
  /** Names the request, and no other one. */
  readonly ticket: string;
  /** Shown to those that wait for it. */
  readonly callId: string;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  /** As in `LockRequest`. */
  readonly commutative: boolean;
  /** It goes before those that wait, as in `LockRequest`. */
  readonly overtakes: boolean;
  /** The outermost call around it that holds leases; its own id where there is none. A call waits for those that are made in it. */
  readonly within: string;
  /** In place of keys: at most `most` requests of this name are granted at a time. */
  readonly limit?: { readonly name: string; readonly most: number };
}

/** The answer to a request. */
export type LeaseAnswer =
  | {
      readonly granted: true;
      /** Greater than that of every lease that was granted before on the same key, something inside it or something around it. */
      readonly fence: number;
    }
  | {
      readonly granted: false;
      /** The calls in its way, the first in line first. */
      readonly waitsFor: readonly string[];
      /** A deadlock: it would wait for calls that wait for the call it was made in, and has left the line. */
      readonly isCircle: boolean;
    };

/** Leases to give back, and leases to take. */
export interface LeaseUpdate {
  /** Tickets that are held or wait. Unknown ones are ignored. */
  readonly released: readonly string[];
  /** In their order; those that waited before are named again, and keep their place. */
  readonly wanted: readonly LeaseRequest[];
}

/** A lease as a store lists it. */
export interface StoredLease {
  readonly callId: string;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  /** Undefined while it waits. */
  readonly fence: number | undefined;
  /** The process that has it, as text. */
  readonly heldBy: string;
}

/**
 * Read and write leases on hierarchical keys, by the rules of `Locks`, in one line for all processes.
 *
 * A lease is its owner's for as long as the owner is heard of, by the clock of the database: the store renews it, and after a silence of
 * a lease time another process may take its place. Tools that must not be harmed by an owner that comes back late compare fences.
 */
export interface LeaseStore {
  /** Gives back and takes, in one transaction. Answers in the order of `wanted`. May be repeated after an error. */
  update(update: LeaseUpdate): Promise<readonly LeaseAnswer[]>;
  /** The leases that are held or waited for, in line. */
  list(): Promise<readonly StoredLease[]>;
}
