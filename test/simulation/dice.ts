/** Choices that a seed decides. */
import { seededRandom } from "../../src/core/base/seeded-random.ts";

export class Dice {
  readonly #random: { next(): number };

  constructor(seed: string) {
    this.#random = seededRandom(seed);
  }

  /** True so often of 1. */
  chance(probability: number): boolean {
    return this.#random.next() < probability;
  }

  /** An integer, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.#random.next() * (most - least + 1));
  }

  share(): number {
    return this.#random.next();
  }

  of<T>(items: readonly T[]): T {
    const item = items[this.between(0, items.length - 1)];
    if (item === undefined) throw new Error("There is nothing to choose from.");
    return item;
  }

  /** One of the words, each as likely as its weight says. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const entries = Object.entries<number>(weights);
    let left = this.#random.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [word, weight] of entries) if ((left -= weight) < 0) return word as K; // the keys of `weights`
    throw new Error("The weights come to nothing.");
  }
}
