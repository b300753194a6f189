/** The clock of one node: it stops while the node is paused, ends with it, and may be wrong about the time of day. */
import type { Clock } from "../../../src/core/ports.ts";
import type { FakeClock } from "../../../src/testing/fake-ports.ts";

export class NodeClock implements Clock {
  /** How far its time of day is ahead of the true one, or behind. */
  aheadMs = 0;
  readonly #clock: FakeClock;
  /** Timers that came due while the node was paused, in order. */
  #due: (() => void)[] = [];
  #isPaused = false;
  #isStopped = false;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  now(): number {
    return this.#clock.now();
  }

  wallTime(): number {
    return this.#clock.wallTime() + this.aheadMs;
  }

  timer(fire: () => void, delayMs: number): () => void {
    if (this.#isStopped) return () => {};
    let isCancelled = false;
    const run = (): void => {
      if (!isCancelled && !this.#isStopped) fire();
    };
    const stop = this.#clock.timer(() => {
      if (this.#isPaused) this.#due.push(run);
      else run();
    }, delayMs);
    return () => {
      isCancelled = true;
      stop();
    };
  }

  pause(): void {
    this.#isPaused = true;
  }

  /** All that came due meanwhile happens at once, in order. */
  thaw(): void {
    this.#isPaused = false;
    const due = this.#due;
    this.#due = [];
    for (const run of due) this.#clock.timer(run, 0);
  }

  stop(): void {
    this.#isStopped = true;
    this.#due = [];
  }
}
