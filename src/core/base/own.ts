/** What an object has itself under a name that may come from outside; undefined where it has nothing, whatever its prototype has. */
export function own<Value>(object: { readonly [key: string]: Value }, key: string): Value | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
