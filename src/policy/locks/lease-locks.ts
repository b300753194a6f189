/** Locks and limits as leases of a store: calls of all processes that use it wait for each other, in one queue. */
import type { LeaseAnswer, LeaseRequest, LeaseStore } from "../../core/store/lease-store.ts";
import type { LockRequest, LockTicket, Locks } from "../../core/resources/locks.ts";
import { describeThrown, isToolError } from "../../core/error.ts";
import { mayRecoverLater } from "../../core/store/store-refusal.ts";
import type { Clock, Ids, Log } from "../../core/ports.ts";

/** While a request waits, the store is polled after this time, then less and less often. */
const FIRST_POLL_MS = 4;
const LAST_POLL_MS = 200;
const POLL_GROWTH = 1.5;
/** Maximum number of leases released in one update, and of new and of waiting requests in it; the rest go into the next update. */
const MAX_RELEASED = 5_000;
const MAX_WANTED = 500;

export interface LeaseLocksOptions {
  readonly leases: LeaseStore;
  readonly clock: Clock;
  /** Generates the ids of requests, unique among all processes. */
  readonly ids: Ids;
  readonly log: Log;
}

/** A lease request of this process. */
export interface LeaseTicket extends LockTicket {
  whenGranted(): Promise<void>;
}

/**
 * The leases of one process.
 *
 * Requests and releases of one moment go to the store in one update, and updates run one at a time, so that the requests of a process are
 * queued in their order. Waiting requests are sent again by polling, and with every update of this process.
 */
export class LeaseLocks implements Locks {
  readonly #options: LeaseLocksOptions;
  /** Requests that were not sent to the store yet. */
  readonly #unsent = new Map<string, Ticket>();
  /** Requests that are queued in the store, the least recently sent first. */
  readonly #waiting = new Map<string, Ticket>();
  readonly #released = new Set<string>();
  #isUpdating = false;
  /** Whether there is something to send that the last update did not include. */
  #isChanged = false;
  #pollMs = FIRST_POLL_MS;
  #stopTimer: (() => void) | undefined;
  /** Why the store cannot be reached. Set until its first answer, since the store may be one that cannot be opened. */
  #unreachable: string | undefined = "The store has not answered yet.";
  #isUnreachableLogged = false;

  constructor(options: LeaseLocksOptions) {
    this.#options = options;
  }

  get unreachable(): string | undefined {
    return this.#unreachable;
  }

  request({ owner, reads, writes, commutative, overtakes = false, within = owner }: LockRequest): LeaseTicket {
    return this.requestLease({ ticket: this.createTicketId(), callId: owner, reads, writes, commutative, overtakes, within });
  }

  createTicketId(): string {
    return this.#options.ids.next("lease");
  }

  /** Like `request`, for any lease request. */
  requestLease(request: LeaseRequest): LeaseTicket {
    const isEmpty = request.reads.length + request.writes.length === 0 && request.limit === undefined;
    const ticket = new Ticket(request, isEmpty ? undefined : (isGranted) => this.#release(request.ticket, isGranted));
    if (isEmpty) return ticket;
    this.#unsent.set(request.ticket, ticket);
    this.#scheduleUpdate();
    return ticket;
  }

  get #isWaiting(): boolean {
    return this.#unsent.size + this.#waiting.size > 0;
  }

  #release(id: string, isGranted: boolean): void {
    this.#removeRequest(id);
    // an update in progress may put it into the queue, so the store is always asked to remove it
    this.#released.add(id);
    this.#scheduleUpdate();
    if (isGranted) this.#pollMs = FIRST_POLL_MS;
  }

  /** Returns true if the request was still wanted. */
  #removeRequest(id: string): boolean {
    return this.#unsent.delete(id) || this.#waiting.delete(id);
  }

  /** Schedules an update in a microtask, so that requests made in the same tick share it. */
  #scheduleUpdate(): void {
    if (this.#isChanged) return;
    this.#isChanged = true;
    queueMicrotask(() => void this.#updateAll());
  }

  async #updateAll(): Promise<void> {
    if (this.#isUpdating) return;
    this.#isUpdating = true;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    let isReached = true;
    while (isReached && (this.#isChanged || this.#released.size + this.#unsent.size > 0)) {
      this.#isChanged = false;
      isReached = await this.#update();
    }
    this.#isUpdating = false;
    if (this.#isWaiting || (this.#isChanged && this.#released.size > 0)) this.#pollLater();
    else this.#pollMs = FIRST_POLL_MS;
  }

  #pollLater(): void {
    const delayMs = this.#pollMs;
    this.#pollMs = Math.min(delayMs * POLL_GROWTH, LAST_POLL_MS);
    const fire = (): void => {
      this.#isChanged = true;
      void this.#updateAll();
    };
    // Releases alone do not keep the process alive: its leases end with it.
    this.#stopTimer = this.#options.clock.timer(fire, delayMs, { background: !this.#isWaiting });
  }

  /** Returns false if the store could not be reached; everything is then sent again later. */
  async #update(): Promise<boolean> {
    const released = [...this.#released].slice(0, MAX_RELEASED);
    // at most MAX_WANTED of each; queued requests keep their place in the store even if this update leaves them out
    const wanted = [this.#unsent, this.#waiting].flatMap((tickets) => [...tickets.values()].slice(0, MAX_WANTED));
    try {
      const answers = await this.#options.leases.update({ released, requested: wanted.map(({ request }) => request) });
      for (const ticket of released) this.#released.delete(ticket);
      for (const [index, ticket] of wanted.entries()) this.#settle(ticket, answers[index]);
      this.#unreachable = undefined;
      this.#isUnreachableLogged = false;
      return true;
    } catch (error: unknown) {
      this.#handleUnreachable(error);
      return false;
    }
  }

  #settle(ticket: Ticket, answer: LeaseAnswer | undefined): void {
    const id = ticket.request.ticket;
    if (!this.#removeRequest(id)) return; // it was released meanwhile
    if (answer === undefined || !(answer.granted || answer.isDeadlock)) this.#waiting.set(id, ticket);
    if (answer !== undefined) ticket.settle(answer);
  }

  /** Polls again, unless the store may be closed for good and no request waits: then the releases go out with the next request. */
  #handleUnreachable(error: unknown): void {
    this.#isChanged = this.#isWaiting || !isToolError(error) || mayRecoverLater(error);
    if (!this.#isChanged) return;
    const reason = (this.#unreachable = describeThrown(error));
    if (this.#isUnreachableLogged) return;
    this.#isUnreachableLogged = true;
    this.#options.log.warn(`Leases cannot be acquired or released now; calls that need them wait: ${reason}`);
  }
}

const GRANTED = Promise.resolve();

class Ticket implements LeaseTicket {
  readonly request: LeaseRequest;
  fence: number | undefined = undefined;
  #granted: boolean;
  #waitsFor: readonly string[] = [];
  #waitedFor: readonly string[] = [];
  #waiting: PromiseWithResolvers<void> | undefined;
  #isSettled: boolean;
  #releaseLease: ((isGranted: boolean) => void) | undefined;

  /** @param releaseLease undefined if the request needs no lease */
  constructor(request: LeaseRequest, releaseLease: ((isGranted: boolean) => void) | undefined) {
    this.request = request;
    this.#granted = releaseLease === undefined;
    this.#isSettled = this.#granted;
    this.#releaseLease = releaseLease;
  }

  get granted(): boolean {
    return this.#granted;
  }

  whenGranted(): Promise<void> {
    if (this.#isSettled) return GRANTED;
    this.#waiting ??= Promise.withResolvers<void>();
    return this.#waiting.promise;
  }

  waitingFor(most: number = Infinity): readonly string[] {
    return this.#waitsFor.slice(0, most);
  }

  waitedFor(): readonly string[] {
    return this.#waitedFor;
  }

  settle(answer: LeaseAnswer): void {
    if (!answer.granted) {
      this.#waitsFor = answer.waitsFor;
      if (this.#waitedFor.length === 0) this.#waitedFor = answer.waitsFor;
      if (!answer.isDeadlock) return;
    } else {
      this.#granted = true;
      this.fence = answer.fence;
      this.#waitsFor = [];
    }
    this.#isSettled = true;
    this.#waiting?.resolve();
  }

  release(): void {
    const releaseLease = this.#releaseLease;
    this.#releaseLease = undefined;
    if (!this.#granted) this.#waitsFor = [];
    releaseLease?.(this.#granted);
  }
}
