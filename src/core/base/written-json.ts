/** JSON text that is at hand while a large value is worked on, so that it is written once: what measures the value has its text, and so has what stores it. */
import type { JsonValue } from "./json.ts";

const TEXTS = new WeakMap<object, string>();

/** Does synchronous work on a value whose JSON text is at hand. @param text what `JSON.stringify` gives for the value, which is frozen and plain */
export function whileWritten<Result>(value: JsonValue, text: string, work: () => Result): Result {
  if (typeof value !== "object" || value === null) return work();
  TEXTS.set(value, text);
  try {
    return work();
  } finally {
    TEXTS.delete(value);
  }
}

/** The value's JSON text, where it is at hand. */
export function writtenJson(value: unknown): string | undefined {
  return typeof value === "object" && value !== null ? TEXTS.get(value) : undefined;
}
