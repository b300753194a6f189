/** JSON values: their types, and a frozen copy with limits. */
import { isInstanceOfClass, findOpaqueProblem, limitBytes } from "./class-instance.ts";
import { ToolError, type ToolErrorOptions } from "../error.ts";
import { ignoreRejections } from "../system/ignore-rejections.ts";
import type { JsonLimits } from "./json-limits.ts";
import { firstChars } from "./truncate-text.ts";

/** A JSON value that contains no other. */
export type JsonPrimitive = string | number | boolean | null;
/** Any JSON value. */
export type JsonValue = JsonPrimitive | readonly JsonValue[] | JsonObject;
/** A JSON object. */
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** Objects with more keys than this count towards `maxWideKeys`. */
export const WIDE_OBJECT_KEYS = 1_000;

export const DEFAULT_MAX_DEPTH = 64;
export const DEFAULT_MAX_NODES = 1_000_000;
export const DEFAULT_MAX_CHARS = 16 * 1024 * 1024;

interface CopyState {
  readonly maxDepth: number;
  nodesLeft: number;
  charsLeft: number;
  wideKeysLeft: number;
  /** Whether to leave out what exceeds a limit, instead of throwing. */
  readonly fits: boolean;
  wasCut: boolean;
  readonly lookFor: TextTest | undefined;
  found: boolean;
  /** The object at which the quick copy gave up, and its keys up to there: listing all of its keys would take as long again. */
  readonly listed: QuickCopy["listed"];
  readonly dropped: string[];
  /** The arrays and objects around the current value. */
  readonly ancestors: Set<object>;
}

export interface JsonCopy {
  readonly value: JsonValue;
  /** The `$` paths of keys that were left out because they could reach a prototype (`__proto__`). */
  readonly dropped: readonly string[];
}

/**
 * Copies a value to deeply frozen plain JSON; depth and size are checked before going further.
 *
 * Follows `JSON.stringify` where nothing is lost: `toJSON` is called, `undefined` properties are left out, an `undefined` item is `null`, `-0` is 0,
 * an instance of a class becomes its own enumerable fields except functions. Throws `not_json` where data would be lost: bigint, symbol, function,
 * NaN, Infinity, Map, Set, other objects whose content is not in fields, invalid dates, cycles, throwing getters. A `__proto__` key is left out and
 * listed in `dropped`.
 *
 * @throws ToolError `not_json` with the `$` path, or `too_large` if a limit is exceeded.
 */
export function copyJson(value: unknown, limits: JsonLimits = NO_LIMITS): JsonCopy {
  const quick = new QuickCopy(limits, undefined);
  const copied = quick.copy(value, limits.maxDepth ?? DEFAULT_MAX_DEPTH);
  if (copied !== NEEDS_SLOW_COPY) return { value: copied, dropped: NOTHING_DROPPED };
  const state = copyState(limits, quick, false);
  return { value: copySlowly(value, state), dropped: state.dropped };
}

/** Tests a text; called for texts of at least `MIN_TESTED_CHARS` UTF-16 units. */
export type TextTest = (text: string) => boolean;

/** Minimum length of texts passed to a `TextTest`. */
const MIN_TESTED_CHARS = 24;

export interface FittedJson {
  readonly value: JsonValue;
  /** Whether something was left out because of a limit. */
  readonly wasCut: boolean;
  /** Whether `lookFor` returned true for a text. */
  readonly found: boolean;
  /** An upper bound for the bytes of its JSON text; undefined if not computed. */
  readonly maxBytes: number | undefined;
}

/**
 * Copies a value like `copyJson`, but truncates it at the limits: keeps the first items of arrays, the first members of objects, the beginning of a
 * text. Values nested too deep are replaced by a text that says so.
 *
 * @throws ToolError `not_json` with the `$` path
 */
export function fitJson(value: unknown, limits: JsonLimits, lookFor: TextTest): FittedJson {
  const quick = new QuickCopy(limits, lookFor);
  const copied = quick.copy(value, limits.maxDepth ?? DEFAULT_MAX_DEPTH);
  if (copied !== NEEDS_SLOW_COPY) return { value: copied, wasCut: false, found: quick.found, maxBytes: quick.maxBytes(limits) };
  const state = copyState(limits, quick, true);
  return { value: copySlowly(value, state), wasCut: state.wasCut, found: state.found, maxBytes: undefined };
}

const NO_LIMITS: JsonLimits = Object.freeze({});
const NEEDS_SLOW_COPY = Symbol("unusual");

/** Copies values that are already plain JSON. Gives up at the first one that needs a decision, a message or a path. */
class QuickCopy {
  #nodesLeft: number;
  #charsLeft: number;
  #wideKeysLeft: number;
  readonly lookFor: TextTest | undefined;
  found = false;
  listed: { readonly object: object; readonly keys: readonly string[] } | undefined = undefined;

  constructor(limits: JsonLimits, lookFor: TextTest | undefined) {
    this.#nodesLeft = limits.maxNodes ?? DEFAULT_MAX_NODES;
    this.#charsLeft = limits.maxChars ?? DEFAULT_MAX_CHARS;
    this.#wideKeysLeft = limits.maxWideKeys ?? Infinity;
    this.lookFor = lookFor;
  }

  /** An upper bound for the copy's JSON text: at most `\uXXXX` for each character and, for each value, a number or quotes, brackets and a comma. */
  maxBytes({ maxNodes = DEFAULT_MAX_NODES, maxChars = DEFAULT_MAX_CHARS }: JsonLimits): number {
    return (maxChars - this.#charsLeft) * 6 + (maxNodes - this.#nodesLeft + 1) * 30;
  }

  copy(value: unknown, depthLeft: number): JsonValue | typeof NEEDS_SLOW_COPY {
    // Not a switch: V8 calls a function for `typeof` in a switch, and compares in place here.
    if (typeof value === "string") {
      if (value.length >= MIN_TESTED_CHARS && !this.found && this.lookFor?.(value) === true) this.found = true;
      return (this.#charsLeft -= value.length) < 0 ? NEEDS_SLOW_COPY : value;
    }
    if (typeof value === "number") return Number.isFinite(value) ? value + 0 : NEEDS_SLOW_COPY; // JSON text has no -0
    if (typeof value === "boolean" || value === null) return value;
    if (typeof value !== "object" || depthLeft === 0) return NEEDS_SLOW_COPY;
    return this.#copyObject(value, depthLeft - 1);
  }

  #copyObject(value: object, depthLeft: number): JsonValue | typeof NEEDS_SLOW_COPY {
    try {
      if (Array.isArray(value)) return this.#copyArray(value, depthLeft);
      const prototype: unknown = Object.getPrototypeOf(value);
      if (prototype !== null && (prototype !== Object.prototype || !isObjectPrototypeClean())) return NEEDS_SLOW_COPY;
      return this.#copyFields(value as Readonly<Record<string, unknown>>, depthLeft); // own keys can be read of any object
    } catch {
      return NEEDS_SLOW_COPY; // a getter or a proxy threw: the slow copy reports where
    }
  }

  /** Iterates over the object itself, which allocates no array of keys and reads fields by position: half the time of `Object.keys`. */
  #copyFields(fields: Readonly<Record<string, unknown>>, depthLeft: number): JsonValue | typeof NEEDS_SLOW_COPY {
    const copy: Record<string, JsonValue> = {};
    let width = 0;
    let chars = 0;
    for (const key in fields) {
      if (++width > WIDE_OBJECT_KEYS && this.#isTooWide(width)) {
        this.listed = { object: fields, keys: [...Object.keys(copy), key] };
        return NEEDS_SLOW_COPY;
      }
      const item = this.copy(fields[key], depthLeft);
      if (item === NEEDS_SLOW_COPY || key === "__proto__") return NEEDS_SLOW_COPY;
      chars += key.length;
      copy[key] = item;
    }
    if ((this.#nodesLeft -= width) < 0 || (this.#charsLeft -= chars) < 0) return NEEDS_SLOW_COPY;
    return Object.freeze(copy);
  }

  /** For an object with many keys, whether there is no room for the next one. */
  #isTooWide(width: number): boolean {
    this.#wideKeysLeft -= width === WIDE_OBJECT_KEYS + 1 ? width : 1;
    return this.#wideKeysLeft < 0 || width > this.#nodesLeft;
  }

  #copyArray(value: readonly unknown[], depthLeft: number): JsonValue | typeof NEEDS_SLOW_COPY {
    const { length } = value;
    if (typeof length !== "number" || (this.#nodesLeft -= length) < 0) return NEEDS_SLOW_COPY; // a proxy may have any length
    const copy = new Array<JsonValue>(length); // oxlint-disable-line unicorn/no-new-array -- one that grows keeps room for 17
    for (let index = 0; index < length; index++) {
      const item = this.copy(value[index], depthLeft);
      if (item === NEEDS_SLOW_COPY) return NEEDS_SLOW_COPY;
      copy[index] = item;
    }
    return Object.freeze(copy);
  }
}

/** Whether iterating over a plain object visits only its own keys, because `Object.prototype` has no enumerable ones. */
export function isObjectPrototypeClean(): boolean {
  for (const _ in Object.prototype) return false;
  return true;
}

function copyState(limits: JsonLimits, quick: QuickCopy, fits: boolean): CopyState {
  return {
    maxDepth: limits.maxDepth ?? DEFAULT_MAX_DEPTH,
    nodesLeft: limits.maxNodes ?? DEFAULT_MAX_NODES,
    charsLeft: limits.maxChars ?? DEFAULT_MAX_CHARS,
    wideKeysLeft: limits.maxWideKeys ?? Infinity,
    fits,
    wasCut: false,
    lookFor: quick.lookFor,
    found: false,
    listed: quick.listed,
    dropped: NOTHING_DROPPED,
    ancestors: new Set(),
  };
}

/** Makes the same copy, with a decision for everything that is not plain JSON and a path for every error. */
function copySlowly(value: unknown, state: CopyState): JsonValue {
  try {
    const copy = copyValue(value, 0, state, ROOT);
    if (copy === undefined) throw notJsonError("undefined is not JSON", ROOT);
    if (state.wasCut && state.wideKeysLeft > 0) ignoreRejections(value); // of what was left out; so many keys would take long to list again
    return copy;
  } catch (error: unknown) {
    if (!(error instanceof ToolError && error.code === "too_large")) ignoreRejections(value);
    throw error instanceof ToolError ? error : notJsonError("looking into it threw", ROOT, { cause: error }); // a proxy trap threw
  }
}

const NOTHING_DROPPED: string[] = [];

/** The path to a value, as a linked list, so that it is only formatted for an error. */
interface Place {
  readonly parent: Place | undefined;
  readonly step: string | number;
}

const ROOT: Place = { parent: undefined, step: "$" };

/** Undefined if a `toJSON()` returned undefined: the value is then left out, like `undefined` itself. */
function copyValue(value: unknown, depth: number, state: CopyState, place: Place): JsonValue | undefined {
  switch (typeof value) {
    case "string":
      return copyText(value, state, place);
    case "number":
      if (!Number.isFinite(value)) throw notJsonError(`${value} is not a JSON number`, place);
      return value + 0;
    case "boolean":
      return value;
    case "object":
      return value === null ? null : copyObject(value, depth, state, place);
    case "bigint":
      throw notJsonError("a bigint is not JSON", place, { hint: "Give it as a string: String(value)." });
    default:
      throw notJsonError(value === undefined ? "undefined is not JSON" : `a ${typeof value} is not JSON`, place);
  }
}

function copyText(text: string, state: CopyState, place: Place): string {
  if (text.length >= MIN_TESTED_CHARS && !state.found && state.lookFor?.(text) === true) state.found = true;
  const room = state.charsLeft;
  if ((state.charsLeft -= text.length) >= 0) return text;
  recordOverflow("more text than is allowed", state, place);
  state.charsLeft = state.nodesLeft = 0;
  const splitsPair = room > 0 && /^[\ud800-\udbff][\udc00-\udfff]/.test(text.slice(room - 1, room + 1));
  return text.slice(0, splitsPair ? room - 1 : room);
}

/** Records that something does not fit. @throws ToolError `too_large`, if everything must fit */
function recordOverflow(what: string, state: CopyState, place: Place): void {
  if (!state.fits) throw tooLargeError(what, place);
  state.wasCut = true;
}

/** Counts one more value, and returns whether there is room for it: earlier values keep all of their content. */
function reserveValue(state: CopyState, place: Place): boolean {
  if (--state.nodesLeft >= 0) return true;
  recordOverflow("more values than is allowed", state, place);
  state.nodesLeft = 0;
  return false;
}

/** Returns the keys to copy; for a wide object, as many as there is room for. */
function keysToCopy(value: object, state: CopyState, place: Place): readonly string[] {
  const { listed, wideKeysLeft: room, nodesLeft } = state;
  // An object used twice was listed in part when there was no room left; before that, there is room for all of its keys.
  const keys = listed?.object === value && listed.keys.length > Math.min(room, nodesLeft) ? listed.keys : Object.keys(value);
  if (keys.length <= WIDE_OBJECT_KEYS || (state.wideKeysLeft -= keys.length) >= 0) return keys;
  recordOverflow("more keys than is allowed", state, place);
  state.wideKeysLeft = 0;
  return keys.slice(0, room);
}

function copyObject(value: object, depth: number, state: CopyState, place: Place): JsonValue | undefined {
  if (state.ancestors.has(value)) throw notJsonError("is circular: it contains itself", place);
  if (depth >= state.maxDepth) {
    const problem = `nesting deeper than ${state.maxDepth} levels`;
    recordOverflow(problem, state, place);
    return `[left out: ${problem}]`;
  }
  state.ancestors.add(value);
  const copy = Array.isArray(value) ? copyArray(value, depth, state, place) : copyFields(value, depth, state, place);
  state.ancestors.delete(value);
  return copy;
}

function copyFields(value: object, depth: number, state: CopyState, place: Place): JsonValue | undefined {
  const toJson = readProperty(value, "toJSON", place);
  if (typeof toJson === "function" && !(value instanceof Date && Number.isNaN(value.getTime()))) {
    const replaced: unknown = callToJson(toJson, limitBytes(value, state.nodesLeft + 1), place);
    if (replaced === undefined) return undefined;
    if (replaced !== value) return copyValue(replaced, depth + 1, state, place);
  }
  const isInstance = isInstanceOfClass(value);
  const keys = ArrayBuffer.isView(value) ? [] : keysToCopy(value, state, place); // bytes would be a key each, and are refused
  const opaque = isInstance ? findOpaqueProblem(value, keys) : undefined;
  if (opaque !== undefined) throw notJsonError(opaque.problem, place, { hint: opaque.hint });
  const copy: Record<string, JsonValue> = {};
  for (const key of keys) {
    if (!reserveValue(state, place)) break;
    if ((state.charsLeft -= key.length) < 0) {
      recordOverflow("more text than is allowed", state, place);
      state.charsLeft = state.nodesLeft = 0;
      break;
    }
    const item = readProperty(value, key, place);
    if (item === undefined || (isInstance && typeof item === "function")) continue;
    if (key === "__proto__") {
      recordDropped(state, formatPath(place, key));
      continue;
    }
    const copied = copyValue(item, depth + 1, state, { parent: place, step: key });
    if (copied !== undefined) copy[key] = copied;
  }
  return Object.freeze(copy);
}

function copyArray(value: readonly unknown[], depth: number, state: CopyState, place: Place): JsonValue {
  const copy: JsonValue[] = [];
  for (let index = 0; index < value.length; index++) {
    if (!reserveValue(state, place)) break;
    const item = value[index];
    copy.push(item === undefined ? null : (copyValue(item, depth + 1, state, { parent: place, step: index }) ?? null));
  }
  return Object.freeze(copy);
}

function callToJson(toJson: Function, value: object, place: Place): unknown {
  try {
    return Reflect.apply(toJson, value, [""]);
  } catch (error: unknown) {
    throw notJsonError("its toJSON() threw", place, { cause: error });
  }
}

function readProperty(value: object, key: string, place: Place): unknown {
  try {
    return Reflect.get(value, key);
  } catch (error: unknown) {
    throw notJsonError(`reading ${JSON.stringify(key)} threw`, place, { cause: error });
  }
}

function recordDropped(state: CopyState, path: string): void {
  if (state.dropped === NOTHING_DROPPED) Object.assign(state, { dropped: [] });
  state.dropped.push(path);
}

function formatPath(place: Place, step?: string | number): string {
  const steps: (string | number)[] = step === undefined ? [] : [step];
  for (let at = place; at.parent !== undefined; at = at.parent) steps.push(at.step);
  return formatJsonPath(steps.reverse());
}

const PLAIN_KEY = /^[A-Za-z_$][\w$-]*$/;

/** Formats a `$` path: `formatJsonPath(["a", 1, "b c"])` is `$.a[1]["b c"]`. */
export function formatJsonPath(steps: readonly (string | number)[]): string {
  let path = "$";
  for (const step of steps) {
    if (typeof step === "number") path += `[${step}]`;
    else path += PLAIN_KEY.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`;
  }
  return path;
}

function notJsonError(problem: string, place: Place, options: ToolErrorOptions = {}): ToolError {
  return new ToolError("not_json", `${firstChars(formatPath(place), MAX_SHOWN_PATH)}: ${problem}`, options);
}

function tooLargeError(what: string, place: Place): ToolError {
  return new ToolError("too_large", `${firstChars(formatPath(place), MAX_SHOWN_PATH)}: ${what}`);
}

const MAX_SHOWN_PATH = 160;

/** `Array.isArray` for JSON: narrows readonly arrays, which `Array.isArray` does not. */
export function isJsonArray(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** Whether the value is an array of strings only. */
export function isStringArray(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/** Whether a value is an object, and neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
