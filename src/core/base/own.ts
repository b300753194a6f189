/** Returns an object's own value under a name that may come from outside; undefined where it has none, whatever its prototype has. */
export function own<Value>(object: { readonly [key: string]: Value }, key: string): Value | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
