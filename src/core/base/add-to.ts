/** The part of a map of arrays that is used here: a `WeakMap` has it as well. */
interface Lists<Key, Value> {
  get(key: Key): Value[] | undefined;
  set(key: Key, values: Value[]): unknown;
}

/** Adds a value behind those that a map has under a key. */
export function addTo<Key, Value>(lists: Lists<Key, Value>, key: Key, value: Value): void {
  const known = lists.get(key);
  if (known === undefined) lists.set(key, [value]);
  else known.push(value);
}
