/** Compares the input of a call with the input that a stub expects. */
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { isJsonArray, isJsonObject, jsonPath, type JsonValue } from "../../core/base/json.ts";
import { showValue } from "../../schema/schema-problem.ts";

/** The input that a stub expects. */
export interface Expected {
  readonly value: JsonValue;
  /** The value as canonical JSON, if the input must be exactly this; else undefined. */
  readonly canonical: string | undefined;
}

export function expectInput(value: JsonValue, exact: boolean): Expected {
  return { value, canonical: exact ? canonicalJson(value) : undefined };
}

/** Returns a function that checks whether the input meets an expectation. */
export function inputMatcher(input: JsonValue): (expected: Expected) => boolean {
  let own: string | undefined;
  return ({ value, canonical }) => (canonical === undefined ? holds(input, value) : canonical === (own ??= canonicalJson(input)));
}

/** Whether `value` contains `part`: objects have at least its keys, arrays have its length. */
function holds(value: JsonValue | undefined, part: JsonValue): boolean {
  if (isJsonArray(part)) {
    return isJsonArray(value) && value.length === part.length && part.every((item, index) => holds(value[index], item));
  }
  if (!isJsonObject(part)) return value === part;
  return isJsonObject(value) && Object.entries(part).every(([key, item]) => Object.hasOwn(value, key) && holds(value[key], item));
}

interface Mismatch {
  readonly count: number;
  /** The first few differences, one per line. */
  readonly lines: readonly string[];
}

const MAX_LINES = 3;
type Note = (line: string) => void;

/** Counts and describes the differences from the expected input. */
export function mismatch({ value, canonical }: Expected, input: JsonValue): Mismatch {
  const lines: string[] = [];
  let count = 0;
  compare(input, value, [], canonical !== undefined, (line) => {
    if (++count <= MAX_LINES) lines.push(line);
  });
  return { count, lines };
}

function compare(value: JsonValue | undefined, part: JsonValue, at: (string | number)[], exact: boolean, note: Note): void {
  if (value === undefined) return note(`${jsonPath(at)} is missing; it takes ${showValue(part)}`);
  if (isJsonArray(part) && isJsonArray(value) && value.length === part.length) {
    for (const [index, item] of part.entries()) compare(value[index], item, [...at, index], exact, note);
  } else if (isJsonObject(part) && isJsonObject(value)) {
    for (const [key, item] of Object.entries(part))
      compare(Object.hasOwn(value, key) ? value[key] : undefined, item, [...at, key], exact, note);
    for (const key of exact ? Object.keys(value) : [])
      if (!Object.hasOwn(part, key)) note(`${jsonPath([...at, key])} is ${showValue(value[key])}; it is not expected`);
  } else if (value !== part) {
    note(`${jsonPath(at)} is ${showValue(value)}; it takes ${showValue(part)}`);
  }
}
