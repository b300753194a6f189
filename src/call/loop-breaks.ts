/** Lets the event loop come round during a long stretch of starting calls, so that a huge batch does not block other work. */
import type { Clock } from "../core/ports.ts";

/** Longest stretch without a break, in milliseconds. */
const MAX_STRETCH_MS = 25;

export class LoopBreaks {
  readonly #clock: Clock;
  #since: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.now();
  }

  /** True when it is time for a break. */
  get due(): boolean {
    return this.isDue(this.#clock.now());
  }

  /** The same, for a time that has just been read. */
  isDue(now: number): boolean {
    return now - this.#since >= MAX_STRETCH_MS;
  }

  /** Begins a new stretch: the event loop has just had a turn. */
  restart(): void {
    this.#since = this.#clock.now();
  }

  async take(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#clock.timer(resolve, 0);
    });
    this.restart();
  }
}
