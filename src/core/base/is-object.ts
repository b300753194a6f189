/** Whether a value has fields that can be asked for: an object or an array, and no function. */
export function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
