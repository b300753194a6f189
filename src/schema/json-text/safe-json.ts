/** Parses strict JSON and rejects anything that could reach a prototype. */
import { copyJson, isJsonArray, type JsonCopy, type JsonValue } from "../../core/base/json.ts";
import { parseJson } from "../../core/base/parse-json.ts";

/** Returns the deeply frozen value; undefined if it is not strict JSON, too deep, or hostile. A key `__proto__` is left out. */
export function parseSafeJson(text: string, maxDepth: number): JsonValue | undefined {
  return parseSafeJsonCopy(text, maxDepth)?.value;
}

/** Like `parseSafeJson`, also returning the paths of the keys that were left out. */
export function parseSafeJsonCopy(text: string, maxDepth: number): JsonCopy | undefined {
  try {
    const copy = copyJson(parseJson(text, { maxDepth }), { maxDepth });
    return hasPrototypeKey(copy.value) ? undefined : copy;
  } catch {
    return undefined; // callers that report the reason get it from parseJson
  }
}

/** Returns a deeply frozen copy of JSON; undefined if it contains `constructor.prototype`, which a careless merge would follow. */
export function copySafeJson(value: JsonValue, maxDepth: number): JsonValue | undefined {
  const copy = copyJson(value, { maxDepth }).value;
  return hasPrototypeKey(copy) ? undefined : copy;
}

function hasPrototypeKey(value: JsonValue | undefined): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (isJsonArray(value)) return value.some(hasPrototypeKey);
  const maker = Object.hasOwn(value, "constructor") ? value["constructor"] : undefined;
  if (typeof maker === "object" && maker !== null && Object.hasOwn(maker, "prototype")) return true;
  return Object.values(value).some(hasPrototypeKey);
}
