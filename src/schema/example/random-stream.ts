/** Random numbers for the parts of one value. Each part has its own stream, so that it does not depend on what was drawn before. */
import { mixBits } from "../../core/base/seeded-random.ts";

const GOLDEN = 0x9e3779b9;

export class RandomStream {
  #state: number;
  /** The seed: equal seeds, equal streams. */
  readonly seed: number;

  constructor(seed: number) {
    this.seed = seed >>> 0;
    this.#state = this.seed;
  }

  /** Returns a number in [0, 1). */
  next(): number {
    this.#state = (this.#state + GOLDEN) >>> 0;
    return mixBits(this.#state) / 4_294_967_296;
  }

  /** Returns the stream of a part: the same for the same name, no matter what was drawn from this stream. */
  branch(name: string | number): RandomStream {
    let seed = Math.imul(this.seed ^ GOLDEN, 0x21f0aaad) >>> 0;
    if (typeof name === "number") return new RandomStream(mixBits((seed + name + 1) >>> 0));
    for (let at = 0; at < name.length; at++) seed = Math.imul(seed ^ name.charCodeAt(at), 0x01000193) >>> 0;
    return new RandomStream(mixBits(seed));
  }

  /** Returns an integer from `from` to `to`, both inclusive. */
  integer(from: number, to: number): number {
    return from + Math.min(to - from, Math.floor(this.next() * (to - from + 1)));
  }

  /** @throws RangeError for an empty array */
  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.integer(0, items.length - 1)];
    if (item === undefined) throw new RangeError("There is nothing to pick from.");
    return item;
  }
}
