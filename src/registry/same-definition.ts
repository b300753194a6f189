/** Whether two definitions of a tool are one and the same, so that what is remembered of it still holds. */
import type { Tool } from "../core/tool.ts";

/** Deeper definitions are taken for different ones. */
const MAX_DEPTH = 128;

/** True when every field is the same value, or the same JSON. Functions must be the same function. */
export function isSameDefinition(one: Tool, other: Tool): boolean {
  return isSame(one, other, 0);
}

function isSame(one: unknown, other: unknown, depth: number): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null || depth > MAX_DEPTH) return false;
  if (Array.isArray(one) !== Array.isArray(other) || !isPlain(one) || !isPlain(other)) return false;
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every((key) => Object.hasOwn(other, key) && isSame(Reflect.get(one, key), Reflect.get(other, key), depth + 1));
}

/** A class instance may hold anything. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || Array.isArray(value);
}
