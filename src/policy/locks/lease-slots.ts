import { Limits } from "./limits.ts";
import type { SlotLimit, SlotWaiter, Slots } from "../../core/resources/slots.ts";
import type { LeaseLocks, LeaseTicket } from "./lease-locks.ts";

/** Limits on the calls of all processes that use a store, as leases. The lanes of a process take turns; the processes share one queue. */
export class LeaseSlots implements Slots {
  readonly #leases: LeaseLocks;
  readonly #local = new Limits();
  readonly #byLocal = new Map<SlotLimit, LeaseLimit>();

  constructor(leases: LeaseLocks) {
    this.#leases = leases;
  }

  limit(name: string, maxConcurrent: number): SlotLimit {
    const local = this.#local.limit(name, maxConcurrent);
    if (maxConcurrent === Infinity) return local;
    const known = this.#byLocal.get(local);
    if (known !== undefined) return known;
    const limit = new LeaseLimit(local, this.#leases, { name, most: maxConcurrent });
    this.#byLocal.set(local, limit);
    return limit;
  }
}

class LeaseLimit implements SlotLimit {
  readonly #local: SlotLimit;
  readonly #leases: LeaseLocks;
  readonly #limit: { readonly name: string; readonly most: number };
  /** The tickets in use. They are interchangeable: any of them can be released. */
  readonly #taken = new Set<LeaseTicket>();

  constructor(local: SlotLimit, leases: LeaseLocks, limit: { readonly name: string; readonly most: number }) {
    this.#local = local;
    this.#leases = leases;
    this.#limit = limit;
  }

  get unreachable(): string | undefined {
    return this.#leases.unreachable;
  }

  /** Always false: a slot needs an answer of the store. */
  tryTake(): boolean {
    return false;
  }

  wait(lane: string): SlotWaiter {
    return new LeaseWaiter(this.#local, {
      lane,
      request: () => this.#request(),
      taken: this.#taken,
    });
  }

  release(): void {
    const [ticket] = this.#taken;
    if (ticket !== undefined) this.#taken.delete(ticket);
    ticket?.release();
    this.#local.release(); // throws if none is taken
  }

  #request(): LeaseTicket {
    const ticket = this.#leases.createTicketId();
    const callId = `limit ${ticket}`; // calls wait for the limit, not for a particular call that holds it
    return this.#leases.requestLease({
      ticket,
      callId,
      reads: [],
      writes: [],
      commutative: false,
      overtakes: false,
      within: callId,
      limit: this.#limit,
    });
  }
}

interface WaiterOptions {
  readonly lane: string;
  readonly request: () => LeaseTicket;
  readonly taken: Set<LeaseTicket>;
}

/** Waits for a slot of this process, then for one across all processes. */
class LeaseWaiter implements SlotWaiter {
  readonly #localWaiter: SlotWaiter;
  readonly #taken: Set<LeaseTicket>;
  readonly #whenTaken: Promise<void>;
  #ticket: LeaseTicket | undefined;
  #isTaken = false;
  #isCancelled = false;

  constructor(local: SlotLimit, { lane, request, taken }: WaiterOptions) {
    this.#taken = taken;
    this.#localWaiter = local.wait(lane);
    this.#whenTaken = this.#localWaiter.whenTaken().then(async () => {
      if (this.#isCancelled) return new Promise<void>(() => {});
      this.#ticket = request();
      await this.#ticket.whenGranted();
      if (this.#isCancelled) return new Promise<void>(() => {});
      this.#isTaken = true;
      return void taken.add(this.#ticket);
    });
  }

  get taken(): boolean {
    return this.#isTaken;
  }

  whenTaken(): Promise<void> {
    return this.#whenTaken;
  }

  cancel(): void {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    // `release` may have released this ticket in place of another; all tickets in use are interchangeable
    const ticket = this.#isTaken && this.#ticket !== undefined && !this.#taken.has(this.#ticket) ? [...this.#taken][0] : this.#ticket;
    if (ticket !== undefined) this.#taken.delete(ticket);
    ticket?.release();
    this.#localWaiter.cancel();
  }
}
