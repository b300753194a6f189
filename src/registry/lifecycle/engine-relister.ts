/** Lists an engine's tools again when it reports that they have changed: soon, but not too often. */
import type { Clock } from "../../core/ports.ts";
import type { EngineLifecycle } from "./engine-lifecycle.ts";

/** Minimum time between two lists of one engine, in milliseconds. */
const MIN_RELIST_MS = 1_000;

export class EngineRelister {
  readonly #clock: Clock;
  readonly #list: (life: EngineLifecycle) => void;
  /** Engines whose tools will be listed again, each with the function that cancels it. */
  readonly #waiting = new Map<EngineLifecycle, () => void>();

  /** @param list begins to list the tools of an engine; must not throw */
  constructor(clock: Clock, list: (life: EngineLifecycle) => void) {
    this.#clock = clock;
    this.#list = list;
  }

  /** Schedules a list, one for all changes until it begins, and at most one a second. */
  schedule(life: EngineLifecycle): void {
    if (this.#waiting.has(life)) return;
    const list = (): void => {
      this.#waiting.delete(life);
      life.relistedAt = this.#clock.now();
      this.#list(life);
    };
    const delayMs = Math.max(0, life.relistedAt + MIN_RELIST_MS - this.#clock.now());
    this.#waiting.set(life, this.#clock.timer(list, delayMs, { background: true }));
  }

  cancelAll(): void {
    for (const cancel of this.#waiting.values()) cancel();
  }
}
