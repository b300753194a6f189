/** Lets calls that touch the same resources wait for each other, in the order they came. */
import { ResourceTree } from "./resource-tree.ts";
import type { Claim } from "./resource-tree.ts";

export interface LockRequest {
  /** The call's id, shown to those that wait for it. */
  readonly owner: string;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  /** Its writes go together with other commutative writes of the same or nested keys, but with no read and no plain write. */
  readonly commutative: boolean;
}

export interface LockTicket {
  /** True at once when nothing conflicts; stays false for a ticket released while it waited. */
  readonly granted: boolean;
  /** Resolves when granted and never rejects; after a release while waiting it stays pending. */
  whenGranted(): Promise<void>;
  /** Owners of earlier conflicting tickets still in the way, oldest first, at most 20. */
  waitingFor(): readonly string[];
  /** Gives the keys back or leaves the line, and grants those that can now go, in their order. Later calls do nothing. */
  release(): void;
}

const MAX_OWNERS = 20;
const GRANTED = Promise.resolve();
const NOBODY: readonly string[] = Object.freeze([]);

/** For calls that touch nothing. */
const NO_KEYS: LockTicket = Object.freeze({
  granted: true,
  whenGranted: () => GRANTED,
  waitingFor: () => NOBODY,
  release() {},
});

/**
 * Read and write locks on hierarchical keys.
 *
 * Reads share; a write of a key excludes every read and write of it, of anything inside it and of anything
 * it is inside of. The keys must not change until the release; a ticket never conflicts with itself.
 */
export class ResourceLocks {
  readonly #tree = new ResourceTree();
  #sequence = 0;

  /**
   * Takes a place in line for all keys at once.
   *
   * First come, first served: a ticket waits for every earlier conflicting one, held or waiting, and for
   * nothing else, so nobody starves and nobody deadlocks.
   */
  request(request: LockRequest): LockTicket {
    if (request.reads.length === 0 && request.writes.length === 0) return NO_KEYS;
    return new Ticket(this.#tree, request, this.#sequence++);
  }

  /** Tickets held or waiting; 0 when idle. */
  get size(): number {
    return this.#tree.claims;
  }
}

class Ticket implements LockTicket, Claim {
  readonly owner: string;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly commutative: boolean;
  readonly sequence: number;
  blockedHolds = 0;
  firstHold: Claim["firstHold"] = undefined;
  /** Undefined once released. */
  #tree: ResourceTree | undefined;
  #waiting: Promise<void> | undefined = undefined;
  #grant: (() => void) | undefined = undefined;

  constructor(tree: ResourceTree, request: LockRequest, sequence: number) {
    this.owner = request.owner;
    this.reads = request.reads;
    this.writes = request.writes;
    this.commutative = request.commutative;
    this.sequence = sequence;
    this.#tree = tree;
    tree.enter(this);
  }

  get granted(): boolean {
    return this.blockedHolds === 0;
  }

  whenGranted(): Promise<void> {
    if (this.granted) return GRANTED;
    this.#waiting ??= new Promise((resolve) => {
      this.#grant = resolve;
    });
    return this.#waiting;
  }

  waitingFor(): readonly string[] {
    if (this.granted || this.#tree === undefined) return NOBODY;
    return this.#tree.blockersOf(this, MAX_OWNERS).map((claim) => claim.owner);
  }

  release(): void {
    const tree = this.#tree;
    if (tree === undefined) return;
    this.#tree = undefined;
    tree.leave(this);
  }

  unblocked(): void {
    this.#grant?.();
  }
}
