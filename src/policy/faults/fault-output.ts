/** Makes the answers of faults that change an answer. */
import { isJsonObject, type JsonValue } from "../../core/base/json.ts";
import type { JsonSchema } from "../../core/tool.ts";
import { valueText } from "../../core/content.ts";

/** Maximum number of characters of an answer that are shown garbled. */
const MAX_GARBLED = 200;

/** Returns a text that no parser accepts, with every third character replaced. */
export function garbleAnswer(answer: JsonValue): string {
  return `<garbled: ${valueText(answer).slice(0, MAX_GARBLED).toWellFormed().replaceAll(/(..)./gsu, "$1\uFFFD")}>`;
}

const EMPTY: readonly (readonly [type: string, value: JsonValue])[] = [
  ["null", null],
  ["array", []],
  ["object", {}],
  ["string", ""],
  ["number", 0],
  ["integer", 0],
  ["boolean", false],
];

/** Returns the emptiest value of the declared type; `[]` if no type is declared. */
export function createEmptyValue(schema: JsonSchema | undefined): JsonValue {
  const type: unknown = isJsonObject(schema) && Object.hasOwn(schema, "type") ? schema["type"] : undefined;
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  const found = EMPTY.find(([name]) => types.includes(name));
  return found === undefined ? [] : found[1];
}

/** Returns the first half of an array, a string or an object's members; null for an empty one, and for any other value. */
export function keepFirstHalf(answer: JsonValue): JsonValue {
  if (typeof answer === "string") return answer === "" ? null : answer.slice(0, Math.floor(answer.length / 2)).toWellFormed();
  if (Array.isArray(answer)) return answer.length === 0 ? null : answer.slice(0, Math.floor(answer.length / 2));
  if (!isJsonObject(answer)) return null;
  const members = Object.entries(answer);
  return members.length === 0 ? null : Object.fromEntries(members.slice(0, Math.floor(members.length / 2)));
}
