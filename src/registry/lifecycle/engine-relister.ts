/** Lists the tools of an engine again when it says that they have changed: soon, and not too often. */
import type { Clock } from "../../core/ports.ts";
import type { EngineLife } from "./engine-life.ts";

/** An engine that says all the time that its tools have changed is asked this often. */
const MIN_RELIST_MS = 1_000;

export class EngineRelister {
  readonly #clock: Clock;
  readonly #list: (life: EngineLife) => void;
  /** Engines whose tools are to be listed again, each with what takes that back. */
  readonly #waiting = new Map<EngineLife, () => void>();

  /** @param list begins to list the tools of an engine, and never throws */
  constructor(clock: Clock, list: (life: EngineLife) => void) {
    this.#clock = clock;
    this.#list = list;
  }

  /** Once for all changes until it happens, and not more than once a second. */
  ask(life: EngineLife): void {
    if (this.#waiting.has(life)) return;
    const begin = (): void => {
      this.#waiting.delete(life);
      life.askedAt = this.#clock.now();
      this.#list(life);
    };
    const delayMs = Math.max(0, life.askedAt + MIN_RELIST_MS - this.#clock.now());
    this.#waiting.set(life, this.#clock.timer(begin, delayMs, { background: true }));
  }

  cancelAll(): void {
    for (const cancel of this.#waiting.values()) cancel();
  }
}
