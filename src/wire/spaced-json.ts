/** Writes JSON with a space after `:` and `,`, as Python's `json.dumps` does. */
import { isJsonArray, isJsonObject, type JsonValue } from "../core/base/json.ts";

export function spacedJson(value: JsonValue): string {
  if (isJsonArray(value)) return `[${value.map(spacedJson).join(", ")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, item]) => `${JSON.stringify(key)}: ${spacedJson(item)}`)
    .join(", ")}}`;
}
