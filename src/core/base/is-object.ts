/** Whether a value is an object or an array, but not a function or null. */
export function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
