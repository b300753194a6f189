import { getOrAdd } from "./get-or-add.ts";

/** Values by a key that many of them have: those of one key are found without a look at the others. */
export class Groups<Key, Value> {
  readonly #groups = new Map<Key, Set<Value>>();

  add(key: Key, value: Value): void {
    getOrAdd(this.#groups, key, () => new Set()).add(value);
  }

  /** Without effect where it is not there. */
  delete(key: Key, value: Value): void {
    const group = this.#groups.get(key);
    if (group?.delete(value) === true && group.size === 0) this.#groups.delete(key);
  }

  /** Those of a key, in the order in which they were added. */
  of(key: Key): readonly Value[] {
    const group = this.#groups.get(key);
    return group === undefined ? [] : [...group];
  }
}
