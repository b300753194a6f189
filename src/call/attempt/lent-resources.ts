/** Locks and slots that a call lends to its nested calls: these take turns among themselves, and do not wait for the call that waits for them. */
import type { LockRequest, LockTicket, Locks } from "../../core/resources/locks.ts";
import type { SlotLimit, SlotWaiter } from "../../core/resources/slots.ts";
import { Limit } from "../../policy/locks/limit.ts";
import { ResourceLocks } from "../../policy/locks/resource-locks.ts";

/** A slot or lock that is released once. */
export interface HeldSlot {
  release(): void;
}

/** A slot that is waited for, and held once it is taken. Ended by `cancel`, or by the slot's `release`. */
export interface AwaitedSlot extends Pick<SlotWaiter, "whenTaken" | "cancel"> {
  readonly slot: HeldSlot;
}

/** Releases something when the last of its users has left. */
class SharedHold {
  readonly #release: () => void;
  #users = 1;

  constructor(release: () => void) {
    this.#release = release;
  }

  /** Adds a user. Returns the function that removes it again; no effect the second time. */
  addUser(): () => void {
    this.#users++;
    let isUsing = true;
    return () => {
      if (isUsing) this.removeUser();
      isUsing = false;
    };
  }

  removeUser(): void {
    if (--this.#users === 0) this.#release();
  }
}

/** Held locks, with the queue of the calls that they are lent to. */
export class LentTicket implements LockTicket {
  /** The queue of the nested calls. */
  readonly nestedLocks: Locks = new ResourceLocks();
  readonly #ticket: LockTicket;
  readonly #shared: SharedHold;
  #isReleased = false;

  constructor(ticket: LockTicket) {
    this.#ticket = ticket;
    this.#shared = new SharedHold(() => ticket.release());
  }

  get granted(): boolean {
    return this.#ticket.granted;
  }

  /** The queues that the lending call itself waits in. */
  get queues(): readonly Locks[] | undefined {
    return nestedQueues(this.#ticket);
  }

  /** The ids of the calls that lent locks to the lending call. */
  get lenders(): readonly string[] {
    return lendersOf(this.#ticket);
  }

  whenGranted(): Promise<void> {
    return this.#ticket.whenGranted();
  }

  waitingFor(most?: number): readonly string[] {
    return this.#ticket.waitingFor(most);
  }

  waitedFor(): readonly string[] {
    return this.#ticket.waitedFor?.() ?? [];
  }

  get fence(): number | undefined {
    return this.#ticket.fence;
  }

  /** Requests lent locks. The keys stay held until the returned ticket is released as well. */
  request(request: LockRequest): LockTicket {
    const ticket = this.nestedLocks.request(request);
    const removeUser = this.#shared.addUser();
    return {
      get granted() {
        return ticket.granted;
      },
      whenGranted: () => ticket.whenGranted(),
      waitingFor: (most) => ticket.waitingFor(most),
      release() {
        ticket.release();
        removeUser();
      },
    };
  }

  release(): void {
    if (!this.#isReleased) this.#shared.removeUser();
    this.#isReleased = true;
  }
}

/** The locks that a nested call requested in one queue. */
export interface RequestedShare {
  readonly queue: Locks;
  readonly ticket: LockTicket;
  /** The id of the call that lent them, and of those that lent to that call; none if they are the call's own. */
  readonly lenders: readonly string[];
}

/** The locks of a nested call: some lent by its callers, some its own. */
export class NestedTicket implements LockTicket {
  /** The queues that it waits in. */
  readonly queues: readonly Locks[];
  /** The ids of the calls whose locks stay held until this ticket is released. */
  readonly lenders: readonly string[];
  readonly #tickets: readonly LockTicket[];

  constructor(shares: readonly RequestedShare[]) {
    this.queues = shares.map(({ queue }) => queue);
    this.lenders = shares.flatMap(({ lenders }) => lenders);
    this.#tickets = shares.map(({ ticket }) => ticket);
  }

  get granted(): boolean {
    return this.#tickets.every((ticket) => ticket.granted);
  }

  async whenGranted(): Promise<void> {
    for (const ticket of this.#tickets) await ticket.whenGranted();
  }

  waitingFor(most?: number): readonly string[] {
    return [...new Set(this.#tickets.flatMap((ticket) => ticket.waitingFor(most)))].slice(0, most);
  }

  /** Releases all tickets, even if some throw. @throws the first error that one of them threw */
  release(): void {
    const thrown: unknown[] = [];
    for (const ticket of this.#tickets) {
      try {
        ticket.release();
      } catch (error: unknown) {
        thrown.push(error);
      }
    }
    if (thrown.length > 0) throw thrown[0];
  }
}

/** The locks of a call of a shared toolset: the locks of this process and, once they are granted, a lease. */
export class LeasedTicket implements LockTicket {
  readonly #local: LockTicket;
  readonly #request: (() => LockTicket) | undefined;
  /** The leases of callers that cover some of the keys. */
  readonly #lent: readonly LockTicket[];
  readonly #whenRequested: Promise<void> | undefined;
  #lease: LockTicket | undefined;
  #isReleased = false;

  /** @param request undefined if the lent leases cover all keys */
  constructor(local: LockTicket, request: (() => LockTicket) | undefined, lent: readonly LockTicket[]) {
    this.#local = local;
    this.#request = request;
    this.#lent = lent;
    if (local.granted) this.#requestLease();
    else this.#whenRequested = local.whenGranted().then(() => this.#requestLease());
  }

  get granted(): boolean {
    return this.#local.granted && (this.#request === undefined || this.#lease?.granted === true);
  }

  /** The queues of this process that it waits in; undefined if it is not nested. */
  get queues(): readonly Locks[] | undefined {
    return nestedQueues(this.#local);
  }

  /** The ids of the calls whose locks of this process stay held until this ticket is released. */
  get lenders(): readonly string[] {
    return lendersOf(this.#local);
  }

  /** Undefined if the leases have different fences: each key then has its own. */
  get fence(): number | undefined {
    const leases = this.#lease === undefined ? this.#lent : [...this.#lent, this.#lease];
    const [first, ...others] = leases.map(({ fence }) => fence);
    return others.every((fence) => fence === first) ? first : undefined;
  }

  async whenGranted(): Promise<void> {
    await this.#whenRequested;
    await this.#lease?.whenGranted();
  }

  waitingFor(most?: number): readonly string[] {
    return (this.#lease ?? this.#local).waitingFor(most);
  }

  waitedFor(): readonly string[] {
    return this.#lease?.waitedFor?.() ?? [];
  }

  release(): void {
    this.#isReleased = true;
    this.#lease?.release();
    this.#local.release();
  }

  #requestLease(): void {
    if (!this.#isReleased) this.#lease = this.#request?.();
  }
}

/** The queues that a nested call waits in; undefined for other calls. */
export function nestedQueues(ticket: LockTicket | undefined): readonly Locks[] | undefined {
  return ticket instanceof NestedTicket || ticket instanceof LentTicket || ticket instanceof LeasedTicket ? ticket.queues : undefined;
}

/** The ids of the calls whose locks stay held until this ticket is released, even if those calls have ended. */
export function lendersOf(ticket: LockTicket | undefined): readonly string[] {
  return ticket instanceof NestedTicket || ticket instanceof LentTicket || ticket instanceof LeasedTicket ? ticket.lenders : [];
}

/** A held slot that is lent to one call at a time. */
export class LentSlot implements HeldSlot {
  readonly slot: HeldSlot;
  readonly #turns = new Limit(1);
  readonly #shared: SharedHold;

  constructor(slot: HeldSlot) {
    this.slot = slot;
    this.#shared = new SharedHold(() => slot.release());
  }

  /** Undefined while the slot is lent. */
  tryTake(): BorrowedSlot | undefined {
    return this.#turns.tryTake() ? new BorrowedSlot(this, this.#createRelease(this.#shared.addUser())) : undefined;
  }

  /** Enters the queue for the slot. */
  wait(lane: string): AwaitedSlot {
    const removeUser = this.#shared.addUser();
    const waiter = this.#turns.wait(lane);
    return {
      slot: new BorrowedSlot(this, this.#createRelease(removeUser)),
      whenTaken: () => waiter.whenTaken(),
      cancel() {
        waiter.cancel();
        removeUser();
      },
    };
  }

  release(): void {
    this.#shared.removeUser();
  }

  #createRelease(removeUser: () => void): () => void {
    return () => {
      this.#turns.release();
      removeUser();
    };
  }
}

export class BorrowedSlot implements HeldSlot {
  readonly lender: LentSlot;
  readonly #release: () => void;

  constructor(lender: LentSlot, release: () => void) {
    this.lender = lender;
    this.#release = release;
  }

  release(): void {
    this.#release();
  }
}

/** The limit that a slot belongs to, however often it was lent. */
export function limitOf(slot: HeldSlot): HeldSlot {
  let one = slot;
  for (;;) {
    if (one instanceof LentSlot) one = one.slot;
    else if (one instanceof BorrowedSlot) one = one.lender;
    else return one;
  }
}

/** Takes the caller's slot if it is free, else a slot of the limit; undefined if both must be waited for. */
export function tryTakeSlot(lender: LentSlot | undefined, limit: SlotLimit): HeldSlot | undefined {
  return lender?.tryTake() ?? (limit.tryTake() ? limit : undefined);
}

/** Enters the queue for the caller's slot if there is one, else for a slot of the limit. */
export function waitForSlot(lender: LentSlot | undefined, limit: SlotLimit, lane: string): AwaitedSlot {
  if (lender !== undefined) return lender.wait(lane);
  const waiter = limit.wait(lane);
  return { slot: limit, whenTaken: () => waiter.whenTaken(), cancel: () => waiter.cancel() };
}
