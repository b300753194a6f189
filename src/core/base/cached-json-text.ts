/** Shares the JSON text of a large value while the value is processed, so that code which measures or stores it need not stringify it again. */
import type { JsonValue } from "./json.ts";

const TEXTS = new WeakMap<object, string>();

/** Runs synchronous work on a value while its JSON text is available. @param text `JSON.stringify` of the value, which is frozen and plain */
export function withCachedJsonText<Result>(value: JsonValue, text: string, work: () => Result): Result {
  if (typeof value !== "object" || value === null) return work();
  TEXTS.set(value, text);
  try {
    return work();
  } finally {
    TEXTS.delete(value);
  }
}

/** Returns the value's JSON text, if available. */
export function findCachedJsonText(value: unknown): string | undefined {
  return typeof value === "object" && value !== null ? TEXTS.get(value) : undefined;
}
