/** Steps down into a JSON value, as `jsonPath` spells them: read from text and followed. */
import { isJsonArray, isJsonObject, type JsonValue } from "./json.ts";
import { parseJson } from "./parse-json.ts";
import { plural, typeInWords } from "./wording.ts";

/** A key, or an index that was written in brackets. */
export type JsonStep = string | number;

const STEP = /\.([^.[\]"]+)|\[(\d{1,15})\]|\[("(?:[^"\\]|\\.)*")\]/uy;

/** The steps `.key`, `[0]` and `["any key"]` from `at` to the end of the text; undefined where it has anything else. */
export function readSteps(text: string, at: number): readonly JsonStep[] | undefined {
  const steps: JsonStep[] = [];
  while (at < text.length) {
    STEP.lastIndex = at;
    const [, key, index, quoted = ""] = STEP.exec(text) ?? [];
    const step = key ?? (index === undefined ? unquote(quoted) : Number(index));
    if (step === undefined) return undefined;
    steps.push(step);
    at = STEP.lastIndex;
  }
  return steps;
}

/** The text of a JSON string; undefined for what is none, such as one with an escape that JSON does not know. */
export function unquote(quoted: string): string | undefined {
  try {
    return String(parseJson(quoted));
  } catch {
    return undefined;
  }
}

/** The value one step down, by own properties only. A key of digits counts as an index where an array stands. */
export function childOf(value: JsonValue, step: JsonStep): JsonValue | undefined {
  if (isJsonArray(value)) return /^\d{1,15}$/u.test(String(step)) ? value[Number(step)] : undefined;
  return isJsonObject(value) && Object.hasOwn(value, String(step)) ? value[String(step)] : undefined;
}

const MAX_NAMED_KEYS = 10;
const MAX_KEY_LENGTH = 40;

/** What stands where a step leads nowhere: `an object with the keys "a", "b"`. */
export function outlineOf(value: JsonValue): string {
  if (isJsonArray(value)) return `an array of ${plural(value.length, "item")}`;
  if (!isJsonObject(value)) return typeInWords(value);
  const keys = Object.keys(value);
  if (keys.length === 0) return "an empty object";
  const named = keys.slice(0, MAX_NAMED_KEYS).map((key) => JSON.stringify(key.slice(0, MAX_KEY_LENGTH)));
  return `an object with the ${keys.length === 1 ? "key" : "keys"} ${named.join(", ")}${keys.length > named.length ? ", …" : ""}`;
}
