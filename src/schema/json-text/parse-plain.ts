/** Strict JSON without anything in it that could reach a prototype. */
import { copyJson, isJsonArray } from "../../core/json.ts";
import type { JsonValue } from "../../core/json.ts";
import { parseJson } from "../../core/parse-json.ts";

/** The deeply frozen value; undefined for what is no strict JSON, too deep, or hostile. A key `__proto__` is left out. */
export function parsePlain(text: string, maxDepth: number): JsonValue | undefined {
  try {
    return plain(parseJson(text, { maxDepth }), maxDepth);
  } catch {
    return undefined; // the caller reports that the text does not fit; why it is not JSON helps nobody there
  }
}

/** A deeply frozen copy of JSON; undefined for `constructor.prototype` in it, which a careless merge would follow. */
export function plain(value: JsonValue, maxDepth: number): JsonValue | undefined {
  const copy = copyJson(value, { maxDepth }).value;
  return namesPrototype(copy) ? undefined : copy;
}

function namesPrototype(value: JsonValue | undefined): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (isJsonArray(value)) return value.some(namesPrototype);
  const maker = Object.hasOwn(value, "constructor") ? value["constructor"] : undefined;
  if (typeof maker === "object" && maker !== null && Object.hasOwn(maker, "prototype")) return true;
  return Object.values(value).some(namesPrototype);
}
