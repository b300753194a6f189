/** The methods of a map of arrays that `addTo` uses; a `WeakMap` has them too. */
interface Lists<Key, Value> {
  get(key: Key): Value[] | undefined;
  set(key: Key, values: Value[]): unknown;
}

/** Appends a value to the array that a map has for a key. */
export function addTo<Key, Value>(lists: Lists<Key, Value>, key: Key, value: Value): void {
  const known = lists.get(key);
  if (known === undefined) lists.set(key, [value]);
  else known.push(value);
}
