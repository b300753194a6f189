/** The part of a map that is used here: a `WeakMap` has it as well. */
interface Values<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
}

/** The value that a map has under a key, which `make` makes where there is none. */
export function getOrAdd<Key, Value>(values: Values<Key, Value>, key: Key, make: (key: Key) => Value): Value {
  const known = values.get(key);
  if (known !== undefined) return known;
  const made = make(key);
  values.set(key, made);
  return made;
}
