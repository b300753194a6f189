/** Compares JSON values by their canonical texts, so that comparing many values takes linear time. */
import { canonicalJson } from "../../core/base/canonical-json.ts";
import type { ValidationRun } from "../compiled-schema.ts";

const MAX_TREE_DEPTH = 128;
/** The cost of writing and hashing one value of a tree, in steps. */
const STEPS_PER_VALUE = 8;
const CHARACTERS_PER_VALUE = 16;

/**
 * Counts the values of a JSON tree; long strings count as several.
 *
 * Returns undefined, without reading further, if the tree is deeper than 128 levels or larger than `most`.
 */
export function treeSize(value: unknown, most: number, depth = 0): number | undefined {
  if (typeof value === "string") return 1 + value.length / CHARACTERS_PER_VALUE;
  if (typeof value !== "object" || value === null) return 1;
  if (depth >= MAX_TREE_DEPTH) return undefined;
  let size = 1;
  const isArray = Array.isArray(value);
  for (const [key, item] of isArray ? value.entries() : Object.entries(value)) {
    const inner = treeSize(item, most - size, depth + 1);
    if (inner === undefined) return undefined;
    size += inner + (typeof key === "string" ? key.length / CHARACTERS_PER_VALUE : 0);
    if (size > most) return undefined;
  }
  return size;
}

/** Returns the canonical text of an array or object; undefined if the value is too large, which aborts the run. */
function canonicalText(value: object, run: ValidationRun): string | undefined {
  const size = treeSize(value, run.stepsLeft / STEPS_PER_VALUE);
  if (size === undefined) {
    run.abort("the value is nested too deeply or too large to compare");
    return undefined;
  }
  run.spend(size * STEPS_PER_VALUE);
  return canonicalJson(value as Parameters<typeof canonicalJson>[0]); // treeSize has checked that it is a tree of limited depth
}

/** A set of JSON values with the equality of JSON Schema: `1` equals `1.0`, `1` does not equal `true`, the order of keys does not matter. */
export class JsonSet {
  private readonly primitives = new Set<unknown>();
  private readonly texts = new Set<string>();

  /** Adds a value. Returns false if an equal one is in the set, or if the run was aborted. */
  add(value: unknown, run: ValidationRun): boolean {
    if (typeof value !== "object" || value === null) return this.addTo(this.primitives, value);
    const text = canonicalText(value, run);
    return text !== undefined && this.addTo(this.texts, text);
  }

  has(value: unknown, run: ValidationRun): boolean {
    if (typeof value !== "object" || value === null) return this.primitives.has(value);
    if (this.texts.size === 0) return false;
    const text = canonicalText(value, run);
    return text !== undefined && this.texts.has(text);
  }

  private addTo<Value>(values: Set<Value>, value: Value): boolean {
    const before = values.size;
    return values.add(value).size > before;
  }
}

/** Returns the index of the first item that equals an earlier one, or -1. Aborts the run if items are too deep to compare. */
export function firstRepeatedIndex(items: readonly unknown[], run: ValidationRun): number {
  if (!run.spend(items.length)) return -1;
  const seen = new JsonSet();
  for (let index = 0; index < items.length; index++) {
    if (!seen.add(items[index], run)) return run.limit === undefined ? index : -1;
  }
  return -1;
}
