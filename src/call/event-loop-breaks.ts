/** Yields to the event loop while many calls are being started, so that a huge batch does not block other work. */
import type { Clock } from "../core/ports.ts";

/** Longest time without a break, in milliseconds. */
const MAX_STRETCH_MS = 25;

export class EventLoopBreaks {
  readonly #clock: Clock;
  #since: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.now();
  }

  /** Whether a break is due. */
  get isDueNow(): boolean {
    return this.isDue(this.#clock.now());
  }

  /** The same, for a time that has just been read. */
  isDue(now: number): boolean {
    return now - this.#since >= MAX_STRETCH_MS;
  }

  /** Restarts the time to the next break, after the event loop has had a turn. */
  restart(): void {
    this.#since = this.#clock.now();
  }

  async takeBreak(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#clock.timer(resolve, 0);
    });
    this.restart();
  }
}
