/** Estimates how much memory a value takes. */
import { isJsonObject, type JsonValue } from "../../core/base/json.ts";

/** The bytes that V8 takes on a 64-bit machine for the slot that refers to a value. The others come on top of it. */
const SLOT_BYTES = 8;
/** The header of a string or of the items of an array; also of a number, unless it is a small integer. */
const NODE_BYTES = 16;
const ARRAY_BYTES = 32;
const OBJECT_BYTES = 24;
/** An object has room for this many values, even if it has fewer. */
const MIN_OBJECT_SLOTS = 4;

/**
 * Returns the approximate size of a JSON value. Property names that no other value has take more than is counted: V8 then has a shape for each object.
 *
 * Iterative, so that deep values do not overflow the stack.
 */
export function estimateJsonBytes(value: JsonValue | undefined): number {
  let bytes = 0;
  const open: (JsonValue | undefined)[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    bytes += SLOT_BYTES;
    if (typeof next === "string") {
      bytes += NODE_BYTES + estimateTextBytes(next);
    } else if (typeof next === "number") {
      if ((next | 0) !== next) bytes += NODE_BYTES;
    } else if (typeof next === "object" && next !== null) {
      if (isJsonObject(next)) {
        const keys = Object.keys(next);
        bytes += OBJECT_BYTES + SLOT_BYTES * Math.max(0, MIN_OBJECT_SLOTS - keys.length);
        for (const key of keys) {
          bytes += NODE_BYTES + estimateTextBytes(key);
          open.push(next[key]);
        }
      } else {
        bytes += ARRAY_BYTES + (next.length === 0 ? 0 : NODE_BYTES);
        for (const item of next) open.push(item);
      }
    }
  }
  return bytes;
}

/** Returns the bytes of a string in memory: two per code unit as soon as one unit needs them. */
export function estimateTextBytes(text: string): number {
  return NEEDS_TWO_BYTES.test(text) ? text.length * 2 : text.length;
}

const NEEDS_TWO_BYTES = /[^\u0000-\u00ff]/u;
