/** Detects that the database's clock was set: times written before then do not tell how long ago they were. */
import type { Clock } from "../../core/ports.ts";

/** How far the database's clock is ahead of this process's clock, as bounds: it was read at some moment between the question and its answer. */
interface ClockOffset {
  readonly min: number;
  readonly max: number;
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
const MAX_DRIFT = 500e-6;

export class ClockWatch {
  readonly #clock: Pick<Clock, "now">;
  readonly #toleranceMs: number;
  /** The intersection of all readings since the clock was set. A late answer has wide bounds, but does not widen these. */
  #offset: ClockOffset | undefined;
  #steadySince = Infinity;
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
  get steadyForMs(): number {
    return Math.max(0, this.#clock.now() - this.#steadySince);
  }

  /** Runs a query and notes the time in its answer. @param timeIn the database's time in the answer; undefined if it has none */
  async measure<Answer>(ask: () => Promise<Answer>, timeIn: (answer: Answer) => number | undefined): Promise<Answer> {
    const askedAt = this.#clock.now();
    const answer = await ask();
    const time = timeIn(answer);
    if (time !== undefined) this.#addReading(time, askedAt);
    return answer;
  }

  #addReading(time: number, askedAt: number): void {
    const at = this.#clock.now();
    const read: ClockOffset = { min: time - at, max: time - askedAt, at };
    const known = this.#offset;
    const driftMs = known === undefined ? 0 : (at - known.at) * MAX_DRIFT;
    const apartMs = this.#toleranceMs + driftMs;
    const isEven = known !== undefined && read.max >= known.min - apartMs && read.min <= known.max + apartMs;
    if (known === undefined || !isEven) this.#steadySince = at;
    this.#wasSet ||= known !== undefined && !isEven;
    this.#offset = (isEven ? intersectOffsets(read, known, driftMs) : undefined) ?? read;
  }
}

/** The intersection of both bounds; undefined if the clocks have diverged by more than their drift. */
function intersectOffsets(read: ClockOffset, known: ClockOffset, driftMs: number): ClockOffset | undefined {
  const min = Math.max(read.min, known.min - driftMs);
  const max = Math.min(read.max, known.max + driftMs);
  return min > max ? undefined : { min, max, at: read.at };
}
