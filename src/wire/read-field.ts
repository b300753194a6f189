/** Fields of a provider's JSON as they should be; what is of another type counts as not there. */
import type { JsonObject, JsonValue } from "../core/base/json.ts";

export function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export function numberIn(object: JsonObject, key: string): number | undefined {
  const value = object[key];
  return typeof value === "number" ? value : undefined;
}
