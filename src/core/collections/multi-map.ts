import { getOrAdd } from "../base/get-or-add.ts";

/** Values grouped by key; the values of one key are found without scanning the others. */
export class MultiMap<Key, Value> {
  readonly #groups = new Map<Key, Set<Value>>();

  add(key: Key, value: Value): void {
    getOrAdd(this.#groups, key, () => new Set()).add(value);
  }

  /** Deletes a value; does nothing if it is not there. */
  delete(key: Key, value: Value): void {
    const group = this.#groups.get(key);
    if (group?.delete(value) === true && group.size === 0) this.#groups.delete(key);
  }

  /** Returns the values of a key, in the order in which they were added. */
  get(key: Key): readonly Value[] {
    const group = this.#groups.get(key);
    return group === undefined ? [] : [...group];
  }
}
