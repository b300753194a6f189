/** A clock, a random source and ids that a test controls: every run is the same, and no test sleeps. */
import { ToolError } from "../core/error.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { Clock, Ids, Log, LogFields, Ports } from "../core/ports.ts";
import { onNextTurn } from "../core/system/lazy-timer.ts";
import { seededRandom } from "../core/base/seeded-random.ts";

export { seededRandom };

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly fire: () => void;
  cancelled: boolean;
}

/** A clock that does not move until it is advanced. */
export class FakeClock implements Clock {
  #now = 0;
  #order = 0;
  #pending = 0;
  readonly #origin: number;
  /** A binary heap with the next timer first. Cancelled timers are removed when they reach the top. */
  readonly #timers: Timer[] = [];

  constructor(options: { readonly wallTime?: number } = {}) {
    checkKnownKeys(options, { wallTime: "number" }, "new FakeClock()");
    this.#origin = options.wallTime ?? Date.UTC(2026, 0, 1);
  }

  now(): number {
    return this.#now;
  }

  wallTime(): number {
    return this.#origin + this.#now;
  }

  timer(fire: () => void, delayMs: number): () => void {
    const timer: Timer = { at: this.#now + Math.max(0, delayMs), order: this.#order++, fire, cancelled: false };
    this.#push(timer);
    this.#pending++;
    return () => {
      if (timer.cancelled) return;
      timer.cancelled = true;
      this.#pending--;
    };
  }

  /** Number of timers that are waiting. */
  get pending(): number {
    return this.#pending;
  }

  /** The time until the next timer fires, in milliseconds; undefined if none is waiting. */
  get nextIn(): number | undefined {
    const next = this.#peek();
    return next === undefined ? undefined : next.at - this.#now;
  }

  /** Advances the clock by `ms`. Fires timers in order and lets promises settle before, between and after them. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (let next = this.#peek(); next !== undefined && next.at <= end; next = this.#peek()) {
      this.#now = next.at;
      this.#pop();
      next.cancelled = true;
      this.#pending--;
      next.fire();
      await settle();
    }
    this.#now = Math.max(this.#now, end); // a concurrent advance may have moved the clock further
  }

  /**
   * Runs work until it settles: whenever nothing else can run, the clock advances to the next timer.
   *
   * Resolves or rejects as the work does. Work that waits for real time or I/O, such as a socket, is reported as hanging: the clock sees
   * only promises and its own timers.
   *
   * @throws ToolError `timeout`, as a rejection, if the work waits and no timer is set, or has not settled after 100,000 timers
   */
  async run<T>(work: Promise<T> | (() => Promise<T>)): Promise<T> {
    const begun = this.#now;
    const running = Promise.resolve(typeof work === "function" ? work() : work);
    let isOver = false;
    const end = (): void => void (isOver = true);
    running.then(end, end);
    for (let [fired, idle] = [0, 0]; ;) {
      await settle();
      if (isOver) return await running;
      const { nextIn } = this;
      if (nextIn === undefined ? ++idle > MAX_IDLE_TURNS : ++fired > MAX_TIMERS) throw hangError(this.#now - begun, nextIn);
      if (nextIn === undefined) continue;
      idle = 0;
      await this.advance(nextIn);
    }
  }

  #peek(): Timer | undefined {
    while (this.#timers[0]?.cancelled === true) this.#pop();
    return this.#timers[0];
  }

  #push(timer: Timer): void {
    const heap = this.#timers;
    let at = heap.push(timer) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!isBefore(timer, heap[above])) break;
      this.#swap(at, above);
      at = above;
    }
  }

  #pop(): void {
    const heap = this.#timers;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    heap[0] = last;
    for (let at = 0; ;) {
      const left = 2 * at + 1;
      const least = isBefore(heap[left + 1], heap[left]) ? left + 1 : left;
      if (!isBefore(heap[least], heap[at])) return;
      this.#swap(at, least);
      at = least;
    }
  }

  #swap(one: number, other: number): void {
    const heap = this.#timers;
    const [first, second] = [heap[one], heap[other]];
    if (first === undefined || second === undefined) return;
    heap[one] = second;
    heap[other] = first;
  }
}

/** Turns of the event loop without a timer after which the work counts as hanging. Loading a module takes several. */
const MAX_IDLE_TURNS = 100;
/** Number of timers after which the work counts as endless. */
const MAX_TIMERS = 100_000;

function hangError(passedMs: number, nextIn: number | undefined): ToolError {
  const passed = `The work is not over after ${passedMs} ms of the fake clock`;
  if (nextIn !== undefined)
    return new ToolError("timeout", `${passed} and ${MAX_TIMERS} timers.`, { hint: "Does it set a timer again each time one fires?" });
  return new ToolError("timeout", `${passed}, and waits for nothing that time could bring: no timer is set.`, {
    hint: "Look for a promise that is never settled, or for a wait on the real clock, a socket, or the thread of a store: use memoryStore.",
  });
}

function isBefore(one: Timer | undefined, other: Timer | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}

/** Lets every promise settle that can do so without timers or I/O. */
export async function settle(): Promise<void> {
  await new Promise<void>((resolve) => onNextTurn(resolve));
}

/** Makes ids `call_1`, `call_2`, …, counted per prefix. */
export function countingIds(): Ids {
  const counts = new Map<string, number>();
  return {
    next(prefix) {
      const count = (counts.get(prefix) ?? 0) + 1;
      counts.set(prefix, count);
      return `${prefix}_${count}`;
    },
  };
}

/** A log that keeps its lines in memory. */
export class MemoryLog implements Log {
  readonly lines: { readonly level: "debug" | "warn"; readonly message: string; readonly fields: LogFields }[] = [];

  debug(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: "debug", message, fields });
  }

  warn(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: "warn", message, fields });
  }
}

/** Ports whose time, randomness and ids are controlled by a test. */
export interface FakePorts extends Ports {
  readonly clock: FakeClock;
  readonly log: MemoryLog;
}

/** Makes all ports at once, each the same in every run. */
export function fakePorts(options: { readonly seed?: number } = {}): FakePorts {
  checkKnownKeys(options, { seed: true }, "fakePorts()");
  return { clock: new FakeClock(), random: seededRandom(options.seed ?? 1), ids: countingIds(), log: new MemoryLog() };
}
