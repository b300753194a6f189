/** Lets calls that touch the same resources wait for each other, in the order they came. */
import type { LockRequest, LockTicket, Locks } from "../core/locks.ts";
import { ResourceTree, type Claim } from "./resource-tree.ts";

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

/** The locks of one process. */
export class ResourceLocks implements Locks {
  readonly #tree = new ResourceTree();
  #sequence = 0;

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
