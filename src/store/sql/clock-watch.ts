/** Notices that the database's clock was set: times that were written before say nothing about how long ago that was. */
import type { Clock } from "../../core/ports.ts";

/** How far the database's clock is ahead of that of this process, between two bounds: it was read at some moment between the question and its answer. */
interface Lead {
  readonly least: number;
  readonly most: number;
  /** When that was known. */
  readonly at: number;
}

export interface ClockWatchOptions {
  /** That of this process, of which only lengths of time are used. */
  readonly clock: Pick<Clock, "now">;
  /** How far the two clocks may come apart between two readings, besides their drift. */
  readonly toleranceMs: number;
}

/** Two clocks that are not set come apart by less, of the time that passes. */
const MOST_DRIFT = 500e-6;

export class ClockWatch {
  readonly #clock: Pick<Clock, "now">;
  readonly #toleranceMs: number;
  /** The narrowest bounds that all readings allow since the clock was set: an answer that comes late says little, and makes them no wider. */
  #lead: Lead | undefined;
  #since = Infinity;
  #wasSet = false;

  constructor({ clock, toleranceMs }: ClockWatchOptions) {
    this.#clock = clock;
    this.#toleranceMs = toleranceMs;
  }

  /** Whether the clock was set since the first reading: also after a failover to a server whose clock differs, and while this machine was suspended. */
  get wasSet(): boolean {
    return this.#wasSet;
  }

  /** For how long the clock is known to run evenly: since the first reading, or since it was seen to be set. */
  get evenForMs(): number {
    return Math.max(0, this.#clock.now() - this.#since);
  }

  /** @param timeIn the database's time in its answer; undefined where that has none */
  async reading<Answer>(ask: () => Promise<Answer>, timeIn: (answer: Answer) => number | undefined): Promise<Answer> {
    const askedAt = this.#clock.now();
    const answer = await ask();
    const time = timeIn(answer);
    if (time !== undefined) this.#note(time, askedAt);
    return answer;
  }

  #note(time: number, askedAt: number): void {
    const at = this.#clock.now();
    const read: Lead = { least: time - at, most: time - askedAt, at };
    const known = this.#lead;
    const driftMs = known === undefined ? 0 : (at - known.at) * MOST_DRIFT;
    const apartMs = this.#toleranceMs + driftMs;
    const isEven = known !== undefined && read.most >= known.least - apartMs && read.least <= known.most + apartMs;
    if (known === undefined || !isEven) this.#since = at;
    this.#wasSet ||= known !== undefined && !isEven;
    this.#lead = (isEven ? bothOf(read, known, driftMs) : undefined) ?? read;
  }
}

/** Undefined where the clocks have come apart by more than their drift. */
function bothOf(read: Lead, known: Lead, driftMs: number): Lead | undefined {
  const least = Math.max(read.least, known.least - driftMs);
  const most = Math.min(read.most, known.most + driftMs);
  return least > most ? undefined : { least, most, at: read.at };
}
