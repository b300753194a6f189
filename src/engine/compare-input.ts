/** Measures how similar two inputs are, and lists their differences, by the leaves of their JSON. */
import { isJsonArray, isJsonObject, formatJsonPath, type JsonValue } from "../core/base/json.ts";

/** The values by their `$` paths. An empty array or object counts as a leaf. */
export type Leaves = ReadonlyMap<string, JsonValue>;

/** Maximum number of leaves that are compared; further ones are ignored. */
const MAX_LEAVES = 2_000;
const MAX_DIFFERENCES = 5;
const MAX_VALUE_CHARS = 60;
const ROOT = "$";
const EMPTY_LIST: JsonValue = Object.freeze([]);
const EMPTY_OBJECT: JsonValue = Object.freeze({});

export function leavesOf(input: JsonValue): Leaves {
  const leaves = new Map<string, JsonValue>();
  collectLeaves(input, ROOT, leaves);
  return leaves;
}

function collectLeaves(value: JsonValue, path: string, leaves: Map<string, JsonValue>): void {
  if (leaves.size >= MAX_LEAVES) return;
  if (isJsonArray(value)) {
    if (value.length === 0) leaves.set(path, EMPTY_LIST);
    for (let index = 0; index < value.length && leaves.size < MAX_LEAVES; index++)
      collectLeaves(value[index] ?? null, `${path}[${index}]`, leaves);
  } else if (isJsonObject(value)) {
    const entries = Object.entries(value);
    if (entries.length === 0 && path !== ROOT) leaves.set(path, EMPTY_OBJECT);
    for (const [key, item] of entries) collectLeaves(item, path + formatJsonPath([key]).slice(1), leaves);
  } else {
    leaves.set(path, value);
  }
}

/**
 * From 0, nothing in common, to 1, equal: the share of paths with the same value, of all paths in either input.
 *
 * Two different strings count half of the share that their common beginnings and ends have, two different numbers a quarter.
 */
export function similarity(one: Leaves, other: Leaves): number {
  let shared = 0;
  let places = other.size;
  for (const [path, value] of one) {
    const counterpart = other.get(path);
    if (counterpart === undefined) places++;
    else shared += valueSimilarity(value, counterpart);
  }
  return places === 0 ? 1 : shared / places;
}

function valueSimilarity(one: JsonValue, other: JsonValue): number {
  if (one === other) return 1;
  if (typeof one === "number" && typeof other === "number") return 0.25;
  return typeof one === "string" && typeof other === "string" ? 0.5 * sharedEndsRatio(one, other) : 0;
}

function sharedEndsRatio(one: string, other: string): number {
  const shorter = Math.min(one.length, other.length);
  let start = 0;
  while (start < shorter && one[start] === other[start]) start++;
  let end = 0;
  while (end < shorter - start && one[one.length - 1 - end] === other[other.length - 1 - end]) end++;
  return (start + end) / Math.max(one.length, other.length);
}

/** One line for each difference between the asked input and the recorded one, at most five and a line with the number of the rest. */
export function describeDifferences(asked: Leaves, recorded: Leaves): readonly string[] {
  const lines: string[] = [];
  for (const [path, value] of asked) {
    const counterpart = recorded.get(path);
    if (counterpart === undefined) lines.push(`${path} is ${formatValue(value)}, but was not given when it was recorded`);
    else if (counterpart !== value)
      lines.push(`${path} is ${formatValue(value)}, but was ${formatValue(counterpart)} when it was recorded`);
  }
  for (const [path, value] of recorded)
    if (!asked.has(path)) lines.push(`${path} is missing, but was ${formatValue(value)} when it was recorded`);
  const more = lines.length - MAX_DIFFERENCES;
  return more <= 0 ? lines : [...lines.slice(0, MAX_DIFFERENCES), `and ${more} more`];
}

function formatValue(value: JsonValue): string {
  const text = JSON.stringify(value);
  return text.length <= MAX_VALUE_CHARS ? text : `${text.slice(0, MAX_VALUE_CHARS)}… (${text.length} characters)`;
}
