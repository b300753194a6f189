/** Fields of a request that a caller's own words may add to. */
import { isJsonObject, type JsonObject } from "../core/base/json.ts";

/** One field of a body: ours, with what the caller says under the same key laid over it; none where there is nothing to say. */
export function mergeNative(key: string, ours: JsonObject, native: JsonObject): JsonObject {
  const theirs = Object.hasOwn(native, key) ? native[key] : undefined;
  if (theirs !== undefined && !isJsonObject(theirs)) return { [key]: theirs };
  const both = { ...ours, ...theirs };
  return Object.keys(both).length === 0 ? {} : { [key]: both };
}
