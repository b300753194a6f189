/** Merges a request's native fields into Haft's. */
import { isJsonObject, type JsonObject } from "../core/base/json.ts";

/** Returns one field of a body, in which the caller's native properties override Haft's; no field if both are empty. */
export function mergeNative(key: string, ours: JsonObject, native: JsonObject): JsonObject {
  const theirs = Object.hasOwn(native, key) ? native[key] : undefined;
  if (theirs !== undefined && !isJsonObject(theirs)) return { [key]: theirs };
  const merged = { ...ours, ...theirs };
  return Object.keys(merged).length === 0 ? {} : { [key]: merged };
}
