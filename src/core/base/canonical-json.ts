/** The one text of a JSON value, for hashes and keys. */
import type { JsonObject, JsonValue } from "./json.ts";

/**
 * Writes JSON with object keys sorted by UTF-16 units and no white space, so that equal values have equal text.
 *
 * `-0` is written as `0`. The value must be plain JSON no deeper than the stack allows (see `copyJson`).
 */
export function canonicalJson(value: JsonValue): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const object = value as JsonObject; // Array.isArray does not narrow readonly arrays away
  const members = Object.keys(object)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(object[key] ?? null)}`);
  return `{${members.join(",")}}`;
}
