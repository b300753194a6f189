/** The methods of a map that `getOrAdd` uses; a `WeakMap` has them too. */
interface Values<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
}

/** Returns the value for a key, after adding the result of `make` if there is none. */
export function getOrAdd<Key, Value>(values: Values<Key, Value>, key: Key, make: (key: Key) => Value): Value {
  const known = values.get(key);
  if (known !== undefined) return known;
  const made = make(key);
  values.set(key, made);
  return made;
}
