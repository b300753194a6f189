/** Lists an engine's tools again when it reports that they have changed: soon, but not too often, and one after another. */
import type { Clock } from "../../core/ports.ts";
import type { EngineLifecycle } from "./engine-lifecycle.ts";

/** Minimum time between two lists of one engine, in milliseconds. */
const MIN_RELIST_MS = 1_000;

export class EngineRelister {
  readonly #clock: Clock;
  readonly #list: (life: EngineLifecycle) => Promise<void>;
  /** Engines whose tools will be listed again, each with the function that cancels it. */
  readonly #waiting = new Map<EngineLifecycle, () => void>();
  /** Settles after the last queued work. Never rejects. */
  #lastWork: Promise<unknown> = Promise.resolve();
  #holds = 0;
  /** Engines that reported changes while these were held. */
  readonly #held = new Set<EngineLifecycle>();

  /** @param list lists the tools of an engine; must not reject */
  constructor(clock: Clock, list: (life: EngineLifecycle) => Promise<void>) {
    this.#clock = clock;
    this.#list = list;
  }

  /** Schedules a list, one for all changes until it begins, and at most one a second. */
  schedule(life: EngineLifecycle): void {
    if (this.#waiting.has(life)) return;
    const list = (): void => {
      this.#waiting.delete(life);
      if (this.#holds > 0) return void this.#held.add(life);
      life.relistedAt = this.#clock.now();
      void this.run(() => this.#list(life));
    };
    const delayMs = Math.max(0, life.relistedAt + MIN_RELIST_MS - this.#clock.now());
    this.#waiting.set(life, this.#clock.timer(list, delayMs, { background: true }));
  }

  /** Runs the work once all earlier work has ended. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const running = this.#lastWork.then(work);
    this.#lastWork = running.catch(() => {});
    return running;
  }

  /** Lists no engine again until the returned function is called. Resolves once the lists that had begun have ended. */
  async hold(): Promise<() => void> {
    this.#holds++;
    let isHeld = true;
    await this.#lastWork;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      if (--this.#holds > 0) return;
      const held = [...this.#held];
      this.#held.clear();
      for (const life of held) this.schedule(life);
    };
  }

  cancelAll(): void {
    this.#held.clear();
    for (const cancel of this.#waiting.values()) cancel();
  }
}
