/** Writes each step of a conversation once, however many requests repeat it, so that a long history is not converted to JSON again in each round. */
import { deepFreeze } from "../core/base/frozen.ts";
import { isJsonArray, type JsonObject, type JsonValue } from "../core/base/json.ts";
import { replaceLoneSurrogates } from "../core/base/lone-surrogates.ts";
import { getOrAdd } from "../core/base/get-or-add.ts";

/** A hidden property: a look-up in a WeakMap takes ten times as long, and each request looks up each message of its history. */
const RESULTS = Symbol("writings");
const TEXT = Symbol("text");

/** Maximum number of written forms of one step: more than a conversation needs, but a program may create a model, and so rules, per request. */
const MAX_WRITINGS = 16;

/** The written forms of a settled step, each with the writer and rules that made it; the oldest are dropped first. */
type CachedResults = { readonly by: object; readonly written: readonly JsonObject[] }[];

interface Step {
  readonly [RESULTS]?: CachedResults;
}

/** The JSON text of a written object, set when it is first needed. */
interface Text {
  json: string | undefined;
}

interface Written {
  readonly [TEXT]?: Text;
}

/** The texts of objects that were already frozen when they were written: blocks that are sent back to a provider unchanged. */
const FROZEN_TEXTS = new WeakMap<object, Text>();

/** Declares that a step does not change any more, and that later requests will have the same object. */
export function markStable(step: object): void {
  if (!isStable(step)) Object.defineProperty(step, RESULTS, { value: [] satisfies CachedResults });
}

export function isStable(step: object): boolean {
  return cachedResultsOf(step) !== undefined;
}

function cachedResultsOf(step: object & Step): CachedResults | undefined {
  return step[RESULTS];
}

/**
 * Caches the result of `write` for a settled step. The result is frozen, because later requests share it; nothing is cached for other steps.
 *
 * @param write returns the same result whenever step and rules are the same objects
 */
export function withStepCache<S extends object, Rules extends object | void = void>(
  write: (step: S, rules: Rules) => readonly JsonObject[],
): (step: S, rules: Rules) => readonly JsonObject[] {
  const marks = new WeakMap<object, object>();
  let last: { readonly rules: Rules; readonly mark: object } | undefined;
  return (step, rules) => {
    const writings = cachedResultsOf(step);
    if (writings === undefined) return write(step, rules);
    if (last === undefined || last.rules !== rules) last = { rules, mark: getOrAdd(marks, rules ?? marks, () => ({})) };
    for (const { by, written } of writings) if (by === last.mark) return written;
    const written = write(step, rules).map(freezeWithTextCache);
    if (writings.length === MAX_WRITINGS) writings.shift();
    writings.push({ by: last.mark, written: Object.freeze(written) });
    return written;
  };
}

function freezeWithTextCache(object: JsonObject): JsonObject {
  if (Object.isFrozen(object)) FROZEN_TEXTS.set(object, { json: undefined });
  else Object.defineProperty(object, TEXT, { value: { json: undefined } });
  return deepFreeze(object);
}

function textCacheOf(object: JsonObject & Written): Text | undefined {
  return object[TEXT] ?? (Object.isFrozen(object) ? FROZEN_TEXTS.get(object) : undefined);
}

/** Levels of objects searched for written ones: the body, and the items of its arrays, with the items of their arrays. */
const DEPTH = 2;

/** Returns the same text as `JSON.stringify`, reusing the texts of written objects, and without lone surrogates, which providers refuse. */
export function stringifyRequest(body: JsonObject): string {
  return replaceLoneSurrogates(stringifyObject(body, DEPTH));
}

function stringifyObject(object: JsonObject, depthLeft: number): string {
  const known = textCacheOf(object);
  if (known !== undefined) return (known.json ??= JSON.stringify(object));
  if (depthLeft === 0) return JSON.stringify(object);
  let fields = "";
  for (const key of Object.keys(object)) {
    const value: JsonValue | undefined = object[key];
    const text = isJsonArray(value) ? stringifyArray(value, depthLeft - 1) : JSON.stringify(value);
    // JSON.stringify returns undefined for undefined, and the field is left out
    if (typeof text === "string") fields += `${fields === "" ? "" : ","}${JSON.stringify(key)}:${text}`;
  }
  return `{${fields}}`;
}

/** Concatenates with `+`, which copies no text until the whole request is sent. */
function stringifyArray(items: readonly JsonValue[], depthLeft: number): string {
  let texts = "";
  for (const item of items) texts += texts === "" ? stringifyItem(item, depthLeft) : `,${stringifyItem(item, depthLeft)}`;
  return `[${texts}]`;
}

function stringifyItem(item: JsonValue, depthLeft: number): string {
  if (typeof item === "object" && item !== null && !isJsonArray(item)) return stringifyObject(item, depthLeft);
  return JSON.stringify(item) ?? "null";
}
