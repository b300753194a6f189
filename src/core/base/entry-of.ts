/** A map whose values are made when they are first asked for: a `WeakMap` can be one. */
interface Entries<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
}

/** What the map has under a key; where it has nothing, it is made, and the map has it from then on. */
export function entryOf<Key, Value>(entries: Entries<Key, Value>, key: Key, make: (key: Key) => Value): Value {
  const found = entries.get(key);
  if (found !== undefined) return found;
  const made = make(key);
  entries.set(key, made);
  return made;
}
