/** Frozen values. */

/** Values nested deeper than this count as not frozen. */
const MAX_DEPTH = 400;

/** Whether a value is plain data, frozen at every depth, so that anything derived from it stays valid. */
export function isDeepFrozen(value: unknown, depthLeft: number = MAX_DEPTH): boolean {
  if (typeof value !== "object" || value === null) return typeof value !== "function";
  if (depthLeft === 0 || !Object.isFrozen(value)) return false;
  if (Array.isArray(value)) return value.every((item) => isDeepFrozen(item, depthLeft - 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  return Object.values(value).every((item) => isDeepFrozen(item, depthLeft - 1));
}

/** Freezes plain data at every depth; stops at parts that are already frozen. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const item of Object.values(value)) deepFreeze(item);
  return Object.freeze(value);
}
