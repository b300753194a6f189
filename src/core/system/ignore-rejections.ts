/** Handles rejections of promises that are refused or dropped, and so never awaited. */

/** Maximum number of values that are looked through. */
const MAX_VALUES = 10_000;

/** Handles the rejection of a promise; any other value is ignored. Never throws. */
export function ignoreRejection(value: unknown): void {
  try {
    if (value instanceof Promise) void Promise.prototype.then.call(value, undefined, () => undefined);
  } catch {
    // not a real promise: there is no rejection to handle
  }
}

/**
 * Handles the rejection of each promise in a value that is refused or dropped: unhandled, one of them would end the process, and with it all other
 * calls. Looks through arrays, objects, maps and sets, up to 10,000 values. Never throws.
 */
export function ignoreRejections(value: unknown): void {
  const seen = new Set<unknown>([value]);
  for (const each of seen) {
    ignoreRejection(each);
    try {
      if (typeof each === "object" && each !== null) addItems(each, seen);
    } catch {
      // a proxy or a getter threw
    }
  }
}

function addItems(value: object, seen: Set<unknown>): void {
  if (ArrayBuffer.isView(value)) return;
  for (const item of itemsOf(value)) {
    if (seen.size >= MAX_VALUES) return;
    if (typeof item === "object" && item !== null) seen.add(item);
  }
}

function itemsOf(value: object): Iterable<unknown> {
  if (Array.isArray(value)) return value.slice(0, MAX_VALUES);
  return value instanceof Map || value instanceof Set ? value.values() : Object.values(value);
}
