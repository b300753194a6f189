/** Estimates how much memory a value takes. */
import type { ContentPart } from "../../core/content.ts";
import { isJsonObject, type JsonValue } from "../../core/base/json.ts";

/** Bytes of a number, a key's slot or an object's header. */
const NODE_BYTES = 16;

/** Returns the approximate size of a JSON value. Iterative, so that deep values do not overflow the stack. */
export function estimateJsonBytes(value: JsonValue | undefined): number {
  let bytes = 0;
  const open: (JsonValue | undefined)[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    bytes += NODE_BYTES;
    if (typeof next === "string") {
      bytes += estimateTextBytes(next);
    } else if (typeof next === "object" && next !== null) {
      if (isJsonObject(next)) for (const key of Object.keys(next)) open.push(key, next[key]);
      else for (const item of next) open.push(item);
    }
  }
  return bytes;
}

export function estimateContentBytes(content: readonly ContentPart[] | undefined): number {
  let bytes = 0;
  for (const part of content ?? []) {
    bytes += NODE_BYTES;
    for (const value of Object.values(part)) bytes += NODE_BYTES + (typeof value === "string" ? estimateTextBytes(value) : 0);
  }
  return bytes;
}

/** Returns the bytes of a string in memory: two per code unit as soon as one unit needs them. */
export function estimateTextBytes(text: string): number {
  return NEEDS_TWO_BYTES.test(text) ? text.length * 2 : text.length;
}

const NEEDS_TWO_BYTES = /[^\u0000-\u00ff]/u;
