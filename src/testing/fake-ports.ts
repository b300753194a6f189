/** A clock, a random source and ids that a test holds in its hand: the same run every time, and no sleep. */
import type { Clock, Ids, Log, LogFields, Ports, Random } from "../core/ports.ts";

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly fire: () => void;
}

/** A clock that stands still until it is told to go on. */
export class FakeClock implements Clock {
  #now = 0;
  #order = 0;
  readonly #origin: number;
  #timers: Timer[] = [];

  constructor(options: { readonly wallTime?: number } = {}) {
    this.#origin = options.wallTime ?? Date.UTC(2026, 0, 1);
  }

  now(): number {
    return this.#now;
  }

  wallTime(): number {
    return this.#origin + this.#now;
  }

  timer(fire: () => void, delayMs: number): () => void {
    const timer: Timer = { at: this.#now + Math.max(0, delayMs), order: this.#order++, fire };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** How many timers are waiting. */
  get pending(): number {
    return this.#timers.length;
  }

  /** When the next timer fires, in milliseconds from now; undefined when none waits. */
  get nextIn(): number | undefined {
    const next = this.#next();
    return next === undefined ? undefined : next.at - this.#now;
  }

  /** Moves time on by `ms`, firing timers in order and letting promises settle before, between and after them. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (let next = this.#next(); next !== undefined && next.at <= end; next = this.#next()) {
      const due = next;
      this.#timers = this.#timers.filter((timer) => timer !== due);
      this.#now = due.at;
      due.fire();
      await settle();
    }
    this.#now = end;
  }

  #next(): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (first === undefined || timer.at < first.at || (timer.at === first.at && timer.order < first.order)) first = timer;
    }
    return first;
  }
}

/** Lets every promise that can settle without time or I/O do so. */
export async function settle(): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
}

/** Repeatable numbers in [0, 1) from a seed (mulberry32). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return {
    next() {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
    },
  };
}

/** `call_1`, `call_2`, … counted per prefix. */
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

/** A log that keeps its lines. */
export class MemoryLog implements Log {
  readonly lines: { readonly level: "debug" | "warn"; readonly message: string; readonly fields: LogFields }[] = [];

  debug(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: "debug", message, fields });
  }

  warn(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: "warn", message, fields });
  }
}

export interface FakePorts extends Ports {
  readonly clock: FakeClock;
  readonly log: MemoryLog;
}

/** All ports at once, each the same in every run. */
export function fakePorts(options: { readonly seed?: number } = {}): FakePorts {
  return { clock: new FakeClock(), random: seededRandom(options.seed ?? 1), ids: countingIds(), log: new MemoryLog() };
}
