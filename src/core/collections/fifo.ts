/** A list that is read from its front: an array moves all its items at each `shift()` once it has more than about 50,000 of them. */

/** How many items are taken from the front before their places are given up. */
const MIN_TAKEN = 1_024;

/** Items in order, added at the back and taken from the front in constant time on average, however many there are. */
export class Fifo<Item extends object> implements Iterable<Item> {
  #items: (Item | undefined)[] = [];
  #start = 0;

  get length(): number {
    return this.#items.length - this.#start;
  }

  /** The item at the front. */
  get first(): Item | undefined {
    return this.#items[this.#start];
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  /** Puts an item at the front. */
  unshift(item: Item): void {
    if (this.#start === 0) this.#items.unshift(item);
    else this.#items[--this.#start] = item;
  }

  /** Takes the item at the front. */
  shift(): Item | undefined {
    const item = this.#items[this.#start];
    if (item === undefined) return undefined;
    this.#items[this.#start++] = undefined; // or the item would be kept in memory
    if (this.#start === this.#items.length) this.clear();
    else if (this.#start >= MIN_TAKEN && this.#start * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#start);
      this.#start = 0;
    }
    return item;
  }

  /** Takes the first item that fits, wherever it is. One that the function itself has taken does not count. */
  take(fits: (item: Item) => boolean): Item | undefined {
    for (let at = this.#start; at < this.#items.length; at++) {
      const item = this.#items[at];
      if (item === undefined || !fits(item)) continue;
      const place = this.#items[at] === item ? at : this.#items.indexOf(item, this.#start);
      if (place < 0) continue;
      if (place === this.#start) return this.shift();
      this.#items.splice(place, 1);
      return item;
    }
    return undefined;
  }

  /** Removes one item. Returns whether it was there. */
  remove(item: Item): boolean {
    return this.take((other) => other === item) !== undefined;
  }

  /** Removes all items. */
  clear(): void {
    this.#items = [];
    this.#start = 0;
  }

  /** Removes and returns all items. */
  takeAll(): readonly Item[] {
    const all = [...this];
    this.clear();
    return all;
  }

  *[Symbol.iterator](): Generator<Item, void, undefined> {
    for (let at = this.#start; at < this.#items.length; at++) {
      const item = this.#items[at];
      if (item !== undefined) yield item;
    }
  }
}
