/** Computes and applies differences between JSON values: RFC 6902 with `add`, `replace` and `remove`. */
import { getOwn } from "./get-own.ts";
import { ToolError } from "../error.ts";
import { DEFAULT_MAX_DEPTH, isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "./json.ts";
import { escapePointerStep, unescapePointerStep } from "./json-pointer.ts";
import { describeValueType } from "./wording.ts";
import { firstChars } from "./truncate-text.ts";

/** Steps in the order they are applied. A path is a JSON Pointer (RFC 6901); the empty path is the whole value. */
export type JsonPatch = readonly JsonPatchStep[];

/** One step of a JSON Patch (RFC 6902). */
export type JsonPatchStep =
  | { readonly op: "add" | "replace"; readonly path: string; readonly value: JsonValue }
  | { readonly op: "remove"; readonly path: string };

/**
 * Returns steps that change `before` into `after`; undefined means no value. The patch is frozen; its values are parts of `after`.
 *
 * Identical references are skipped. For arrays, the equal beginning and end are kept, and the items in between are compared pairwise. A container
 * that keeps nothing is replaced as a whole. `-0` equals `0`; the order of keys is neither compared nor preserved. Below 64 levels only references
 * are compared, and values that differ are replaced.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6902
 */
export function diffJson(before: JsonValue | undefined, after: JsonValue | undefined): JsonPatch {
  const steps: JsonPatchStep[] = [];
  addSteps(steps, before, after, "", DEFAULT_MAX_DEPTH);
  return Object.freeze(steps);
}

/** Adds the steps from one value to the other. Returns false if they contain all of `after`, so that the container may be replaced instead. */
function addSteps(
  steps: JsonPatchStep[],
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  path: string,
  depthLeft: number,
): boolean {
  if (before === after) return true;
  const start = steps.length;
  let kept = false;
  if (after === undefined) {
    steps.push(Object.freeze({ op: "remove", path }));
  } else if (depthLeft > 0 && isJsonArray(before) && isJsonArray(after)) {
    kept = addArraySteps(steps, before, after, path, depthLeft - 1);
  } else if (depthLeft > 0 && isJsonObject(before) && isJsonObject(after)) {
    kept = addObjectSteps(steps, before, after, path, depthLeft - 1);
  } else {
    steps.push(Object.freeze({ op: before === undefined ? "add" : "replace", path, value: after }));
  }
  if (!kept && after !== undefined && steps.length - start > 1) {
    steps.length = start;
    steps.push(Object.freeze({ op: "replace", path, value: after }));
  }
  return kept || steps.length === start;
}

function addObjectSteps(steps: JsonPatchStep[], before: JsonObject, after: JsonObject, path: string, depthLeft: number): boolean {
  let kept = false;
  let common = 0;
  for (const key of Object.keys(before)) {
    const from = before[key];
    const to = getOwn(after, key);
    if (to !== undefined) common++;
    if (from === to) kept = true;
    else kept = addSteps(steps, from, to, join(path, key), depthLeft) || kept;
  }
  const keys = Object.keys(after);
  if (keys.length === common) return kept;
  for (const key of keys) {
    if (!Object.hasOwn(before, key)) addSteps(steps, undefined, after[key], join(path, key), depthLeft);
  }
  return kept;
}

/** Maximum number of items that adding and removing in one array may move, one item at a time; above it the array is replaced. */
const MAX_MOVES = 2 ** 24;

function addArraySteps(
  steps: JsonPatchStep[],
  before: readonly JsonValue[],
  after: readonly JsonValue[],
  path: string,
  depthLeft: number,
): boolean {
  const shorter = Math.min(before.length, after.length);
  const longer = Math.max(before.length, after.length);
  let head = 0;
  while (head < shorter && isEqual(before[head], after[head], depthLeft)) head++;
  let tail = 0;
  while (tail < shorter - head && isEqual(before[before.length - 1 - tail], after[after.length - 1 - tail], depthLeft)) tail++;
  if ((longer - shorter) * tail > MAX_MOVES) {
    steps.push(Object.freeze({ op: "replace", path, value: after }));
    return false;
  }
  let kept = head + tail > 0;
  const pairsEnd = shorter - tail;
  for (let index = head; index < pairsEnd; index++) {
    kept = addSteps(steps, before[index], after[index], `${path}/${index}`, depthLeft) || kept;
  }
  for (let index = before.length - tail - 1; index >= pairsEnd; index--) {
    addSteps(steps, before[index], undefined, `${path}/${index}`, depthLeft);
  }
  for (let index = pairsEnd; index < after.length - tail; index++) {
    addSteps(steps, undefined, after[index], `${path}/${index}`, depthLeft);
  }
  return kept;
}

function isEqual(one: JsonValue | undefined, other: JsonValue | undefined, depthLeft: number): boolean {
  if (one === other) return true;
  if (depthLeft === 0) return false;
  if (isJsonArray(one)) {
    return isJsonArray(other) && one.length === other.length && one.every((item, index) => isEqual(item, other[index], depthLeft - 1));
  }
  if (!isJsonObject(one) || !isJsonObject(other)) return false;
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every((key) => isEqual(one[key], getOwn(other, key), depthLeft - 1));
}

function join(path: string, key: string): string {
  return `${path}/${/[~/]/.test(key) ? escapePointerStep(key) : key}`;
}

/**
 * Applies a patch to `before` and returns the new value; undefined means no value.
 *
 * Changes none of its arguments, and shares the parts that no step changes. Containers on the path of a change are copied once per patch, not once
 * per step, and frozen: the result is deeply frozen if `before` and the steps are. Every key is a data property.
 *
 * @param spend called before each piece of work with its cost, in copied items; may throw
 * @throws ToolError `corrupt_record` with the number and the path of the first step that cannot be applied
 */
export function applyPatch(before: JsonValue | undefined, patch: JsonPatch, spend?: (items: number) => void): JsonValue | undefined {
  if (!Array.isArray(patch)) throw new ToolError("corrupt_record", "The patch is not an array of steps.");
  if (patch.length === 0) return before;
  const draft = new Draft(before, spend);
  for (const step of patch) draft.apply(step);
  return draft.finish();
}

/** Array items are moved this many times as fast as they are copied; copying an object's key takes as long as copying `KEY_COSTS` items. */
const MOVED_AT_ONCE = 64;
const KEY_COSTS = 8;

type Container = JsonValue[] | Record<string, JsonValue>;

/** A value while it is patched: its own containers, which it may change, around parts that it shares. */
class Draft {
  #root: JsonValue | undefined;
  readonly #owned = new Map<object, Container>();
  readonly #spend: ((items: number) => void) | undefined;
  #steps = 0;
  #path: string | undefined;

  constructor(before: JsonValue | undefined, spend: ((items: number) => void) | undefined) {
    this.#root = before;
    this.#spend = spend;
  }

  finish(): JsonValue | undefined {
    for (const container of this.#owned.values()) Object.freeze(container);
    return this.#root;
  }

  apply(step: unknown): void {
    this.#steps++;
    this.#path = undefined;
    if (!isJsonObject(step)) throw this.#misfit("it is not an object");
    const { op, path, value } = step;
    if (typeof path !== "string") throw this.#misfit("its path is not a string");
    this.#path = path;
    if (op === "remove") return this.#change(path, op, undefined);
    if (op !== "add" && op !== "replace") throw this.#misfit(`its operation is ${quote(op)}, not "add", "replace" or "remove"`);
    if (value === undefined) throw this.#misfit("it has no value");
    this.#change(path, op, value);
  }

  #change(path: string, op: JsonPatchStep["op"], value: JsonValue | undefined): void {
    const keys = this.#readPath(path);
    const last = keys.pop();
    if (last === undefined) {
      if (op !== "add" && this.#root === undefined) throw this.#misfit("there is no value yet");
      this.#root = value;
      return;
    }
    let container = this.#own(this.#root);
    this.#root = container;
    for (const key of keys) {
      const child = this.#own(Array.isArray(container) ? container[this.#index(key, container.length - 1)] : getOwn(container, key));
      if (Array.isArray(container)) container[Number(key)] = child;
      else setMember(container, key, child);
      container = child;
    }
    if (Array.isArray(container)) this.#changeArray(container, last, op, value);
    else this.#changeObject(container, last, op, value);
  }

  #changeArray(array: JsonValue[], key: string, op: JsonPatchStep["op"], value: JsonValue | undefined): void {
    const length = array.length;
    const index = op === "add" && key === "-" ? length : this.#index(key, op === "add" ? length : length - 1);
    if (op !== "replace") this.#spend?.((length - index) / MOVED_AT_ONCE);
    if (value === undefined) array.splice(index, 1);
    else if (op === "replace") array[index] = value;
    else if (index === length) array.push(value);
    else array.splice(index, 0, value);
  }

  #changeObject(object: Record<string, JsonValue>, key: string, op: JsonPatchStep["op"], value: JsonValue | undefined): void {
    if (op !== "add" && !Object.hasOwn(object, key)) throw this.#misfit(`there is no ${quote(key)} in the object`);
    if (value === undefined) delete object[key];
    else setMember(object, key, value);
  }

  /** Returns the container to change instead of `value`: a copy the first time, then the same copy. */
  #own(value: JsonValue | undefined): Container {
    if (typeof value !== "object" || value === null) {
      throw this.#misfit(value === undefined ? "there is no value to change it in" : `its path leads into ${describeValueType(value)}`);
    }
    const owned = this.#owned.get(value);
    if (owned !== undefined) return owned;
    if (this.#spend !== undefined) this.#spend(isJsonArray(value) ? value.length : KEY_COSTS * Object.keys(value).length);
    const copy = isJsonArray(value) ? value.slice() : { ...value };
    this.#owned.set(copy, copy);
    return copy;
  }

  #index(key: string, last: number): number {
    if (!INDEX.test(key)) throw this.#misfit(`${quote(key)} is not an index of an array`);
    const index = Number(key);
    if (index > last) throw this.#misfit(`the array has no index ${quote(key)}`);
    return index;
  }

  #readPath(path: string): string[] {
    if (path === "") return [];
    const [before, ...keys] = path.split("/", DEFAULT_MAX_DEPTH + 2);
    if (before !== "") throw this.#misfit('its path does not begin with "/"');
    if (keys.length > DEFAULT_MAX_DEPTH) throw this.#misfit(`its path is longer than ${DEFAULT_MAX_DEPTH} keys`);
    if (!path.includes("~")) return keys;
    if (keys.some((key) => BROKEN_ESCAPE.test(key))) throw this.#misfit('its path has a "~" that is neither "~0" nor "~1"');
    return keys.map(unescapePointerStep);
  }

  #misfit(problem: string): ToolError {
    const at = this.#path === undefined ? "" : ` at ${quote(this.#path)}`;
    return new ToolError("corrupt_record", `Step ${this.#steps} of the patch${at} does not fit: ${problem}.`);
  }
}

const INDEX = /^(?:0|[1-9][0-9]*)$/;
const BROKEN_ESCAPE = /~(?![01])/;

function setMember(object: Record<string, JsonValue>, key: string, value: JsonValue): void {
  if (key !== "__proto__") object[key] = value;
  else Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

const MAX_QUOTE = 200;

function quote(value: JsonValue | undefined): string {
  if (typeof value !== "string") return value === undefined ? "missing" : describeValueType(value);
  return JSON.stringify(firstChars(value, MAX_QUOTE));
}
