/** Returns an object's own value for a name that may be untrusted; undefined if it has none, even if its prototype does. */
export function getOwn<Value>(object: { readonly [key: string]: Value }, key: string): Value | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
