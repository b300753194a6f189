const FIRST_SIZE = 256;

/** A sorted list of moments. Adding the latest moment is cheap; adding an earlier one makes the next read sort the list. */
export class SortedTimes {
  #times = new Float64Array(FIRST_SIZE);
  #length = 0;
  #isSorted = true;
  /** Number of sorts, each of which moves existing moments. */
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

  /** Sorts the moments. Returns a number that differs if existing moments have moved since. */
  sort(): number {
    if (!this.#isSorted) {
      this.#times.subarray(0, this.#length).sort();
      this.#isSorted = true;
      this.#sorts++;
    }
    return this.#sorts;
  }

  /** Returns the moment at an index; 0 if there is none. */
  at(index: number): number {
    return this.#times[index] ?? 0;
  }

  /** Returns the number of moments before a time. */
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
