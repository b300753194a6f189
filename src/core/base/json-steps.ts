/** Steps down into a JSON value, as `jsonPath` spells them: read from text and followed. */
import { isJsonArray, isJsonObject, type JsonValue } from "./json.ts";
import { parseJson } from "./parse-json.ts";
import { plural, typeInWords } from "./wording.ts";

/** A key, or an index that was written in brackets. */
export type JsonStep = string | number;

const NAME = /\.([^.[\]"]{1,1024})/uy;
const INDEX = /\[(\d{1,15})\]/uy;
const QUOTED = /\[("(?:[^"\\]|\\.){0,1024}")\]/uy;
const PLAIN_QUOTED = /\['([^'\\]{0,1024})'\]/uy;

/**
 * The step `.key`, `[0]`, `["any key"]` or `['any key']` that begins at `at`, and where it ends; undefined where none does.
 *
 * @param name sticky, with a group: what may follow a dot, where a path is inside a longer text
 */
export function stepAt(text: string, at: number, name: RegExp = NAME): { readonly step: JsonStep; readonly end: number } | undefined {
  if (text[at] === ".") {
    const found = matchAt(name, text, at);
    return found === null ? undefined : { step: found[1] ?? "", end: at + found[0].length };
  }
  if (text[at] !== "[") return undefined;
  const index = matchAt(INDEX, text, at);
  if (index !== null) return { step: Number(index[1]), end: at + index[0].length };
  const plain = matchAt(PLAIN_QUOTED, text, at);
  if (plain !== null) return { step: plain[1] ?? "", end: at + plain[0].length };
  const quoted = matchAt(QUOTED, text, at);
  const key = quoted === null ? undefined : unquote(quoted[1] ?? "");
  return quoted === null || key === undefined ? undefined : { step: key, end: at + quoted[0].length };
}

/** The match of a sticky pattern that begins at a place. */
export function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** The steps from `at` to the end of the text; undefined where it has anything else. */
export function readSteps(text: string, at: number): readonly JsonStep[] | undefined {
  const steps: JsonStep[] = [];
  while (at < text.length) {
    const next = stepAt(text, at);
    if (next === undefined) return undefined;
    steps.push(next.step);
    at = next.end;
  }
  return steps;
}

const MAX_PATH_STEPS = 64;
const MAX_PATH_CHARS = 16_384;

/** The steps of `a.b[0]["c.d"]`, with or without a leading `$`; none for `""` and `$`, undefined for what is no such path or too long. */
export function readPath(text: string): readonly JsonStep[] | undefined {
  if (text.length > MAX_PATH_CHARS) return undefined;
  const path = /^[^$.[]/u.test(text) ? `.${text}` : text;
  const steps = readSteps(path, path.startsWith("$") ? 1 : 0);
  return steps === undefined || steps.length > MAX_PATH_STEPS ? undefined : steps;
}

/** The text of a JSON string; undefined for what is none, such as one with an escape that JSON does not know. */
function unquote(quoted: string): string | undefined {
  try {
    return String(parseJson(quoted));
  } catch {
    return undefined;
  }
}

/** The value one step down, by own properties only. A key of digits counts as an index in an array. */
export function childOf(value: JsonValue, step: JsonStep): JsonValue | undefined {
  if (isJsonArray(value)) return /^\d{1,15}$/u.test(String(step)) ? value[Number(step)] : undefined;
  return isJsonObject(value) && Object.hasOwn(value, String(step)) ? value[String(step)] : undefined;
}

/** The value at the end of a way, or where the way ends. */
export type Followed = { readonly value: JsonValue } | { readonly missing: JsonStep; readonly in: JsonValue };

/** Follows the steps down into a value, by own properties only. */
export function followSteps(value: JsonValue, steps: readonly JsonStep[]): Followed {
  let found = value;
  for (const step of steps) {
    const inside = childOf(found, step);
    if (inside === undefined) return { missing: step, in: found };
    found = inside;
  }
  return { value: found };
}

/** Says where a way ends: `"a" is not in an empty object`. @param outline describes what it ends in. @default `outlineOf` */
export function describeMissing(step: JsonStep, value: JsonValue, outline: string = outlineOf(value)): string {
  return `${typeof step === "number" ? `[${step}]` : JSON.stringify(step.slice(0, 100))} is not in ${outline}`;
}

const MAX_NAMED_KEYS = 10;
const MAX_KEY_LENGTH = 40;

/** Describes the value where a step leads nowhere: `an object with the keys "a", "b"`. */
export function outlineOf(value: JsonValue): string {
  if (isJsonArray(value)) return `an array of ${plural(value.length, "item")}`;
  if (!isJsonObject(value)) return typeInWords(value);
  const keys = Object.keys(value);
  if (keys.length === 0) return "an empty object";
  const named = keys.slice(0, MAX_NAMED_KEYS).map((key) => JSON.stringify(key.slice(0, MAX_KEY_LENGTH)));
  return `an object with the ${keys.length === 1 ? "key" : "keys"} ${named.join(", ")}${keys.length > named.length ? ", …" : ""}`;
}
