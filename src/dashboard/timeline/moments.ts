/** Moments in order, to which later ones are added. */

const FIRST_SIZE = 256;

/** Adding the latest moment costs nothing; an earlier one has them sorted at the next reading. */
export class Moments {
  #times = new Float64Array(FIRST_SIZE);
  #length = 0;
  #isSorted = true;
  /** Grows when they are sorted, which moves those that were there. */
  #sorts = 0;

  get length(): number {
    return this.#length;
  }

  add(time: number): void {
    if (this.#length === this.#times.length) {
      const larger = new Float64Array(this.#length * 2);
      larger.set(this.#times);
      this.#times = larger;
    }
    if (this.#length > 0 && time < this.at(this.#length - 1)) this.#isSorted = false;
    this.#times[this.#length++] = time;
  }

  /** Puts them in order. Returns a number that is another one when moments have other places than before. */
  sort(): number {
    if (!this.#isSorted) {
      this.#times.subarray(0, this.#length).sort();
      this.#isSorted = true;
      this.#sorts++;
    }
    return this.#sorts;
  }

  /** The one at an index; 0 where there is none. */
  at(index: number): number {
    return this.#times[index] ?? 0;
  }

  /** How many are before a moment. */
  countBefore(time: number): number {
    this.sort();
    let low = 0;
    let high = this.#length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.at(middle) < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
