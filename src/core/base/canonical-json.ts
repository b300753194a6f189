/** One canonical text for each JSON value, for hashes and keys. */
import type { JsonObject, JsonValue } from "./json.ts";

/**
 * Writes JSON with object keys sorted by UTF-16 units and no white space, so that equal values have equal text.
 *
 * `-0` is written as `0`. The value must be plain JSON, no deeper than the stack allows (see `copyJson`).
 */
export function canonicalJson(value: JsonValue): string {
  return isSorted(value) ? JSON.stringify(value) : writeSorted(value);
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

function writeSorted(value: JsonValue): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(writeSorted).join(",")}]`;
  const object = value as JsonObject; // Array.isArray does not narrow readonly arrays away
  const members = Object.keys(object)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${writeSorted(object[key] ?? null)}`);
  return `{${members.join(",")}}`;
}
