/** Notices that the database's clock was set: times that were written before say nothing about how long ago that was. */
import type { Clock } from "../../core/ports.ts";

/** A reading of the database's clock, and when this process asked for it and had it. */
interface Reading {
  readonly time: number;
  readonly askedAt: number;
  readonly answeredAt: number;
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
  #last: Reading | undefined;
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
    if (time !== undefined) this.#note({ time, askedAt, answeredAt: this.#clock.now() });
    return answer;
  }

  /** The clock was read at some moment between the question and its answer. */
  #note(reading: Reading): void {
    const { time, askedAt, answeredAt } = reading;
    const last = this.#last;
    this.#last = reading;
    if (last !== undefined) {
      const [leastMs, mostMs] = [askedAt - last.answeredAt, answeredAt - last.askedAt];
      const passedMs = time - last.time;
      const apartMs = this.#toleranceMs + mostMs * MOST_DRIFT;
      if (passedMs >= leastMs - apartMs && passedMs <= mostMs + apartMs) return;
      this.#wasSet = true;
    }
    this.#since = answeredAt;
  }
}
