/** Steps into a JSON value, in the notation of `formatJsonPath`: reads and follows them. */
import { isJsonArray, isJsonObject, type JsonValue } from "./json.ts";
import { parseJson } from "./parse-json.ts";
import { plural, describeValueType } from "./wording.ts";

/** A key, or an index written in brackets. */
export type JsonStep = string | number;

const NAME = /\.([^.[\]"]{1,1024})/uy;
const INDEX = /\[(\d{1,15})\]/uy;
const DOUBLE_QUOTED = /\[("(?:[^"\\]|\\.){0,1024}")\]/uy;
const SINGLE_QUOTED = /\['([^'\\]{0,1024})'\]/uy;

/**
 * Returns the step `.key`, `[0]`, `["any key"]` or `['any key']` that begins at `at`, and where it ends; undefined if there is none.
 *
 * @param name a sticky pattern with a group, for the name after a dot, if the path is inside a longer text
 */
export function parseStepAt(text: string, at: number, name: RegExp = NAME): { readonly step: JsonStep; readonly end: number } | undefined {
  if (text[at] === ".") {
    const found = matchAt(name, text, at);
    return found === null ? undefined : { step: found[1] ?? "", end: at + found[0].length };
  }
  if (text[at] !== "[") return undefined;
  const index = matchAt(INDEX, text, at);
  if (index !== null) return { step: Number(index[1]), end: at + index[0].length };
  const plain = matchAt(SINGLE_QUOTED, text, at);
  if (plain !== null) return { step: plain[1] ?? "", end: at + plain[0].length };
  const quoted = matchAt(DOUBLE_QUOTED, text, at);
  const key = quoted === null ? undefined : unquote(quoted[1] ?? "");
  return quoted === null || key === undefined ? undefined : { step: key, end: at + quoted[0].length };
}

/** Returns the match of a sticky pattern that begins at `at`. */
export function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** Returns the steps from `at` to the end of the text; undefined if there is anything else. */
export function parseSteps(text: string, at: number): readonly JsonStep[] | undefined {
  const steps: JsonStep[] = [];
  while (at < text.length) {
    const next = parseStepAt(text, at);
    if (next === undefined) return undefined;
    steps.push(next.step);
    at = next.end;
  }
  return steps;
}

const MAX_PATH_STEPS = 64;
const MAX_PATH_CHARS = 16_384;

/** Returns the steps of `a.b[0]["c.d"]`, with or without a leading `$`; none for `""` and `$`, undefined for an invalid or too long path. */
export function parsePathSteps(text: string): readonly JsonStep[] | undefined {
  if (text.length > MAX_PATH_CHARS) return undefined;
  const path = /^[^$.[]/u.test(text) ? `.${text}` : text;
  const steps = parseSteps(path, path.startsWith("$") ? 1 : 0);
  return steps === undefined || steps.length > MAX_PATH_STEPS ? undefined : steps;
}

/** Returns the text of a JSON string; undefined if it is invalid, for example because of an escape that JSON does not have. */
function unquote(quoted: string): string | undefined {
  try {
    return String(parseJson(quoted));
  } catch {
    return undefined;
  }
}

/** Returns the value one step down, own properties only. In an array, a key of digits counts as an index. */
export function getChild(value: JsonValue, step: JsonStep): JsonValue | undefined {
  if (isJsonArray(value)) return /^\d{1,15}$/u.test(String(step)) ? value[Number(step)] : undefined;
  return isJsonObject(value) && Object.hasOwn(value, String(step)) ? value[String(step)] : undefined;
}

/** The value at the end of a path, or where the path ends. */
export type PathLookup = { readonly value: JsonValue } | { readonly missing: JsonStep; readonly in: JsonValue };

/** Follows the steps into a value, own properties only. */
export function followSteps(value: JsonValue, steps: readonly JsonStep[]): PathLookup {
  let found = value;
  for (const step of steps) {
    const inside = getChild(found, step);
    if (inside === undefined) return { missing: step, in: found };
    found = inside;
  }
  return { value: found };
}

/** Describes where a path ends: `"a" is not in an empty object`. @param outline describes the value in which it ends. @default `describeOutline` */
export function describeMissingStep(step: JsonStep, value: JsonValue, outline: string = describeOutline(value)): string {
  return `${typeof step === "number" ? `[${step}]` : JSON.stringify(step.slice(0, 100))} is not in ${outline}`;
}

const MAX_NAMED_KEYS = 10;
const MAX_KEY_LENGTH = 40;

/** Describes a value that does not have the next step: `an object with the keys "a", "b"`. */
export function describeOutline(value: JsonValue): string {
  if (isJsonArray(value)) return `an array of ${plural(value.length, "item")}`;
  if (!isJsonObject(value)) return describeValueType(value);
  const keys = Object.keys(value);
  if (keys.length === 0) return "an empty object";
  const named = keys.slice(0, MAX_NAMED_KEYS).map((key) => JSON.stringify(key.slice(0, MAX_KEY_LENGTH)));
  return `an object with the ${keys.length === 1 ? "key" : "keys"} ${named.join(", ")}${keys.length > named.length ? ", …" : ""}`;
}
