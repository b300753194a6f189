/** Parses strict JSON and rejects anything that could reach a prototype. */
import { copyJson, isJsonArray, type JsonCopy, type JsonValue } from "../../core/base/json.ts";
import { parseJson } from "../../core/base/parse-json.ts";

/** Returns the deeply frozen value; undefined if it is not strict JSON, too deep, or hostile. A key `__proto__` is left out. */
export function parsePlain(text: string, maxDepth: number): JsonValue | undefined {
  return copyPlain(text, maxDepth)?.value;
}

/** Like `parsePlain`, also returning the paths of the keys that were left out. */
export function copyPlain(text: string, maxDepth: number): JsonCopy | undefined {
  try {
    const copy = copyJson(parseJson(text, { maxDepth }), { maxDepth });
    return namesPrototype(copy.value) ? undefined : copy;
  } catch {
    return undefined; // callers that report the reason get it from parseJson
  }
}

/** Returns a deeply frozen copy of JSON; undefined if it contains `constructor.prototype`, which a careless merge would follow. */
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
