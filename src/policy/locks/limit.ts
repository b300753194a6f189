/** Limits how many calls run at a time, and shares the slots fairly among those that wait. */
import { ToolError } from "../../core/error.ts";
import type { SlotLimit, SlotWaiter } from "../../core/resources/slots.ts";

/** One limit of this process. Every operation takes constant time. */
export class Limit implements SlotLimit {
  readonly maxConcurrent: number;
  readonly #lanes = new Lanes();
  #running = 0;

  /** @throws ToolError `invalid_argument` unless `maxConcurrent` is an integer ≥ 1 or `Infinity` */
  constructor(maxConcurrent: number) {
    if (!(maxConcurrent === Infinity || (Number.isSafeInteger(maxConcurrent) && maxConcurrent >= 1))) {
      throw new ToolError(
        "invalid_argument",
        `maxConcurrent is ${String(maxConcurrent)}; it must be an integer of at least 1, or Infinity.`,
      );
    }
    this.maxConcurrent = maxConcurrent;
  }

  get running(): number {
    return this.#running;
  }

  /** Number of waiters. */
  get waiting(): number {
    return this.#lanes.size;
  }

  tryTake(): boolean {
    if (this.#running >= this.maxConcurrent) return false;
    this.#running++;
    return true;
  }

  wait(lane: string): SlotWaiter {
    const waiter = new Waiter(this, this.#lanes);
    if (this.tryTake()) waiter.take();
    else this.#lanes.add(waiter, lane);
    return waiter;
  }

  release(): void {
    if (this.#running === 0)
      throw new ToolError("invalid_argument", "A slot was released that was not taken; release each taken slot once.");
    const next = this.#lanes.takeNext();
    if (next === undefined) this.#running--;
    else next.take();
  }
}

class Waiter implements SlotWaiter {
  taken = false;
  /** The lane it waits in. */
  lane: Lane | undefined = undefined;
  previous: Waiter | undefined = undefined;
  next: Waiter | undefined = undefined;
  readonly #limit: Limit;
  readonly #lanes: Lanes;
  #cancelled = false;
  #waiting: Promise<void> | undefined = undefined;
  #resolve: (() => void) | undefined = undefined;

  constructor(limit: Limit, lanes: Lanes) {
    this.#limit = limit;
    this.#lanes = lanes;
  }

  take(): void {
    this.taken = true;
    this.#resolve?.();
  }

  whenTaken(): Promise<void> {
    if (this.taken) return TAKEN;
    this.#waiting ??= new Promise((resolve) => {
      this.#resolve = resolve;
    });
    return this.#waiting;
  }

  cancel(): void {
    if (this.#cancelled) return;
    this.#cancelled = true;
    if (this.taken) this.#limit.release();
    else this.#lanes.remove(this);
  }
}

const TAKEN = Promise.resolve();

/** The waiters of one session, first come first served; also a node in the ring of lanes. */
class Lane {
  readonly name: string;
  first: Waiter | undefined = undefined;
  last: Waiter | undefined = undefined;
  previous: Lane = this;
  next: Lane = this;

  constructor(name: string) {
    this.name = name;
  }
}

/** Lanes with waiting calls, as a ring: the lane whose turn it is; the one before it was served last. */
class Lanes {
  size = 0;
  readonly #byName = new Map<string, Lane>();
  #nextLane: Lane | undefined = undefined;

  add(waiter: Waiter, name: string): void {
    const lane = this.#byName.get(name) ?? this.#open(name);
    waiter.lane = lane;
    waiter.previous = lane.last;
    if (lane.last === undefined) lane.first = waiter;
    else lane.last.next = waiter;
    lane.last = waiter;
    this.size++;
  }

  remove(waiter: Waiter): void {
    const { lane, previous, next } = waiter;
    if (lane === undefined) return;
    if (previous === undefined) lane.first = next;
    else previous.next = next;
    if (next === undefined) lane.last = previous;
    else next.previous = previous;
    waiter.lane = waiter.previous = waiter.next = undefined;
    this.size--;
    if (lane.first === undefined) this.#close(lane);
  }

  /** Removes and returns the waiter whose turn it is; the next lane then has its turn. */
  takeNext(): Waiter | undefined {
    const lane = this.#nextLane;
    const waiter = lane?.first;
    if (lane === undefined || waiter === undefined) return undefined;
    this.#nextLane = lane.next;
    this.remove(waiter);
    return waiter;
  }

  /** Adds a lane, which has its turn after all others. */
  #open(name: string): Lane {
    const lane = new Lane(name);
    this.#byName.set(name, lane);
    const turn = (this.#nextLane ??= lane);
    lane.previous = turn.previous;
    lane.next = turn;
    lane.previous.next = lane;
    turn.previous = lane;
    return lane;
  }

  #close(lane: Lane): void {
    this.#byName.delete(lane.name);
    lane.previous.next = lane.next;
    lane.next.previous = lane.previous;
    if (this.#nextLane === lane) this.#nextLane = lane.next === lane ? undefined : lane.next;
  }
}
