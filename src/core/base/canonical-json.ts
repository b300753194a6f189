/** One canonical text for each JSON value, for hashes and keys. */
import type { JsonObject, JsonValue } from "./json.ts";

/**
 * Writes JSON with object keys sorted by UTF-16 units and no white space, so that equal values have equal text.
 *
 * `-0` is written as `0`. The value must be plain JSON, no deeper than the stack allows (see `copyJson`).
 */
export function canonicalJson(value: JsonValue): string {
  if (isSorted(value)) return JSON.stringify(value);
  const copy = copySorted(value); // written at once, in two thirds of the time of writing each text by itself
  return isSorted(copy) ? JSON.stringify(copy) : writeSorted(value);
}

/** Whether the keys of every object are already sorted, as is usual. */
function isSorted(value: JsonValue | undefined): boolean {
  if (typeof value !== "object" || value === null) return value !== undefined;
  if (Array.isArray(value)) return value.every(isSorted);
  const object = value as JsonObject; // Array.isArray does not narrow readonly arrays away
  let last = "";
  for (const key of Object.keys(object)) {
    if (key < last || !isSorted(object[key])) return false;
    last = key;
  }
  return true;
}

/** Copies a value with its keys in order, except that JavaScript puts keys that are integers first, as numbers. */
function copySorted(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copySorted);
  const object = value as JsonObject; // Array.isArray does not narrow readonly arrays away
  const copy: Record<string, JsonValue> = {};
  for (const key of Object.keys(object).sort()) {
    const member = copySorted(object[key] ?? null);
    if (key !== "__proto__") copy[key] = member;
    else Object.defineProperty(copy, key, { value: member, enumerable: true });
  }
  return copy;
}

function writeSorted(value: JsonValue): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(writeSorted).join(",")}]`;
  const object = value as JsonObject; // Array.isArray does not narrow readonly arrays away
  const members = Object.keys(object)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${writeSorted(object[key] ?? null)}`);
  return `{${members.join(",")}}`;
}
