/** Counters of a service that refuses a fence lower than the greatest it has seen, and notices a change that is lost. */
import { Broken } from "../broken.ts";

interface Counter {
  count: number;
  fence: number;
}

export class Counters {
  readonly #counters = new Map<string, Counter>();
  readonly #onBroken: (broken: Broken) => void;
  /** How many changes were taken in all. */
  writes = 0;

  /** @param onBroken a handler that throws would only fail its call */
  constructor(onBroken: (broken: Broken) => void) {
    this.#onBroken = onBroken;
  }

  count(key: string): number {
    return this.#of(key).count;
  }

  /** Undefined when the fence is too low. */
  read(key: string, fence: number): number | undefined {
    const counter = this.#of(key);
    if (fence < counter.fence) return undefined;
    counter.fence = fence;
    return counter.count;
  }

  /** @returns false when the fence is too low */
  write(key: string, { count, fence, life }: { readonly count: number; readonly fence: number; readonly life: number }): boolean {
    const counter = this.#of(key);
    if (fence < counter.fence) return false;
    if (counter.count !== count) {
      const details = `the counter ${key} was ${counter.count} when node ${life} wrote what it had made of ${count}, with the fence ${fence}.`;
      this.#onBroken(new Broken(20, details));
    }
    counter.count++;
    this.writes++;
    return true;
  }

  #of(key: string): Counter {
    let counter = this.#counters.get(key);
    if (counter === undefined) this.#counters.set(key, (counter = { count: 0, fence: 0 }));
    return counter;
  }
}
