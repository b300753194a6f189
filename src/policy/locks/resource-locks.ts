/** Makes calls that use the same resources wait for each other, in the order they came. */
import type { LockRequest, LockTicket, Locks } from "../../core/resources/locks.ts";
import { ResourceTree, type Claim } from "../../core/resources/resource-tree.ts";

const MAX_OWNERS = 20;
const GRANTED = Promise.resolve();
const NO_OWNERS: readonly string[] = Object.freeze([]);

/** The ticket of calls that use no resources. */
const NO_KEYS: LockTicket = Object.freeze({
  granted: true,
  whenGranted: () => GRANTED,
  waitingFor: () => NO_OWNERS,
  release() {},
});

/** The locks of one process. */
export class ResourceLocks implements Locks {
  readonly #tree = new ResourceTree();
  /** Waiting tickets that do not overtake, in order. */
  readonly #waitingTickets = new Set<Ticket>();
  #sequence = 0;

  request(request: LockRequest): LockTicket {
    if (request.reads.length === 0 && request.writes.length === 0) return NO_KEYS;
    const waitingTickets = request.overtakes === true ? undefined : this.#waitingTickets;
    const ticket = new Ticket(this.#tree, request, { sequence: this.#sequence++, waitingTickets });
    if (ticket.granted) return ticket;
    if (waitingTickets === undefined) this.#overtake(ticket);
    else waitingTickets.add(ticket);
    return ticket;
  }

  /** Puts the ticket before those that wait. Each of them stays blocked by what blocked it before. */
  #overtake(ticket: Ticket): void {
    const waiting = [...this.#waitingTickets];
    ticket.dequeue();
    for (const other of waiting.toReversed()) other.dequeue(); // last first, so that none is granted meanwhile
    for (const one of [ticket, ...waiting]) one.enqueue(this.#sequence++);
  }

  /** Number of tickets granted or waiting; 0 when idle. */
  get size(): number {
    return this.#tree.claims;
  }
}

class Ticket implements LockTicket, Claim {
  readonly owner: string;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly commutative: boolean;
  sequence: number;
  blockedHolds = 0;
  firstHold: Claim["firstHold"] = undefined;
  /** undefined once released. */
  #tree: ResourceTree | undefined;
  #waiting: Promise<void> | undefined = undefined;
  #grant: (() => void) | undefined = undefined;
  readonly #waitingTickets: Set<Ticket> | undefined;

  constructor(
    tree: ResourceTree,
    request: LockRequest,
    place: { readonly sequence: number; readonly waitingTickets: Set<Ticket> | undefined },
  ) {
    this.owner = request.owner;
    this.reads = request.reads;
    this.writes = request.writes;
    this.commutative = request.commutative;
    this.sequence = place.sequence;
    this.#waitingTickets = place.waitingTickets;
    this.#tree = tree;
    tree.add(this);
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

  waitingFor(most: number = MAX_OWNERS): readonly string[] {
    if (this.granted || this.#tree === undefined) return NO_OWNERS;
    return this.#tree.blockersOf(this, most).map((claim) => claim.owner);
  }

  /** Leaves the queue until `enqueue`. */
  dequeue(): void {
    this.#tree?.remove(this);
    this.blockedHolds = 0;
  }

  enqueue(sequence: number): void {
    this.sequence = sequence;
    this.#tree?.add(this);
  }

  release(): void {
    const tree = this.#tree;
    if (tree === undefined) return;
    this.#tree = undefined;
    this.#waitingTickets?.delete(this);
    tree.remove(this);
  }

  onUnblocked(): void {
    this.#waitingTickets?.delete(this);
    this.#grant?.();
  }
}
