/** Detects that the database's clock was set: times written before then do not tell how long ago they were. */
import type { Clock } from "../../core/ports.ts";

/** How far the database's clock is ahead of this process's clock, as bounds: it was read at some moment between the question and its answer. */
interface Lead {
  readonly least: number;
  readonly most: number;
  /** When the clock was read, by this process's clock. */
  readonly at: number;
}

export interface ClockWatchOptions {
  /** The clock of this process, used only to measure durations. */
  readonly clock: Pick<Clock, "now">;
  /** How far the two clocks may diverge between two readings, besides their drift, in milliseconds. */
  readonly toleranceMs: number;
}

/** Maximum drift of two clocks that are not set, as a share of the time that passes. */
const MOST_DRIFT = 500e-6;

export class ClockWatch {
  readonly #clock: Pick<Clock, "now">;
  readonly #toleranceMs: number;
  /** The intersection of all readings since the clock was set. A late answer has wide bounds, but does not widen these. */
  #lead: Lead | undefined;
  #since = Infinity;
  #wasSet = false;

  constructor({ clock, toleranceMs }: ClockWatchOptions) {
    this.#clock = clock;
    this.#toleranceMs = toleranceMs;
  }

  /** Whether the clock was set since the first reading, also by a failover to a server with another clock, or while this machine slept. */
  get wasSet(): boolean {
    return this.#wasSet;
  }

  /** For how long the clock is known to have run evenly, in milliseconds: since the first reading, or since it was last set. */
  get evenForMs(): number {
    return Math.max(0, this.#clock.now() - this.#since);
  }

  /** Runs a query and notes the time in its answer. @param timeIn the database's time in the answer; undefined if it has none */
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

/** The intersection of both bounds; undefined if the clocks have diverged by more than their drift. */
function bothOf(read: Lead, known: Lead, driftMs: number): Lead | undefined {
  const least = Math.max(read.least, known.least - driftMs);
  const most = Math.min(read.most, known.most + driftMs);
  return least > most ? undefined : { least, most, at: read.at };
}
