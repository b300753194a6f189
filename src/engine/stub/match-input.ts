/** Compares the input of a call with the input that a stub expects. */
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { isJsonArray, isJsonObject, formatJsonPath, type JsonValue } from "../../core/base/json.ts";
import { showValue } from "../../schema/schema-problem.ts";

/** The input that a stub expects. */
export interface ExpectedInput {
  readonly value: JsonValue;
  /** The value as canonical JSON, if the input must be exactly this; else undefined. */
  readonly canonical: string | undefined;
}

export function toExpectedInput(value: JsonValue, exact: boolean): ExpectedInput {
  return { value, canonical: exact ? canonicalJson(value) : undefined };
}

/** Returns a function that checks whether the input meets an expectation. */
export function inputMatcher(input: JsonValue): (expected: ExpectedInput) => boolean {
  let own: string | undefined;
  return ({ value, canonical }) => (canonical === undefined ? containsJson(input, value) : canonical === (own ??= canonicalJson(input)));
}

/** Whether `value` contains `part`: objects have at least its keys, arrays have its length. */
function containsJson(value: JsonValue | undefined, part: JsonValue): boolean {
  if (isJsonArray(part)) {
    return isJsonArray(value) && value.length === part.length && part.every((item, index) => containsJson(value[index], item));
  }
  if (!isJsonObject(part)) return value === part;
  return isJsonObject(value) && Object.entries(part).every(([key, item]) => Object.hasOwn(value, key) && containsJson(value[key], item));
}

interface Mismatch {
  readonly count: number;
  /** The first few differences, one per line. */
  readonly lines: readonly string[];
}

const MAX_LINES = 3;
type AddLine = (line: string) => void;

/** Counts and describes the differences from the expected input. */
export function describeMismatch({ value, canonical }: ExpectedInput, input: JsonValue): Mismatch {
  const lines: string[] = [];
  let count = 0;
  collectDifferences(input, value, [], canonical !== undefined, (line) => {
    if (++count <= MAX_LINES) lines.push(line);
  });
  return { count, lines };
}

function collectDifferences(value: JsonValue | undefined, part: JsonValue, at: (string | number)[], exact: boolean, note: AddLine): void {
  if (value === undefined) return note(`${formatJsonPath(at)} is missing; it takes ${showValue(part)}`);
  if (isJsonArray(part) && isJsonArray(value) && value.length === part.length) {
    for (const [index, item] of part.entries()) collectDifferences(value[index], item, [...at, index], exact, note);
  } else if (isJsonObject(part) && isJsonObject(value)) {
    for (const [key, item] of Object.entries(part))
      collectDifferences(Object.hasOwn(value, key) ? value[key] : undefined, item, [...at, key], exact, note);
    for (const key of exact ? Object.keys(value) : [])
      if (!Object.hasOwn(part, key)) note(`${formatJsonPath([...at, key])} is ${showValue(value[key])}; it is not expected`);
  } else if (value !== part) {
    note(`${formatJsonPath(at)} is ${showValue(value)}; it takes ${showValue(part)}`);
  }
}
