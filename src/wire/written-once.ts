/** Writes each step of a conversation once, however many requests repeat it: the JSON of a long history is not made again each round. */
import { deepFreeze } from "../core/base/frozen.ts";
import { isJsonArray } from "../core/base/json.ts";
import type { JsonObject, JsonValue } from "../core/base/json.ts";

/** Steps that stay as they are for as long as their conversation is held. */
const SETTLED = new WeakSet<object>();
/** What was written of those, and its JSON text once that was asked for. */
const TEXTS = new WeakMap<object, string | undefined>();
const NO_RULES = Object.freeze({});

/** Says that nothing of a step changes any more, and that later requests will bring the same object. */
export function settle(step: object): void {
  SETTLED.add(step);
}

export function isSettled(step: object): boolean {
  return SETTLED.has(step);
}

/**
 * Remembers what `write` makes of a settled step. That is frozen, as later requests hold it too; of any other step nothing is kept.
 *
 * @param write comes to the same whenever step and rules are the same objects
 */
export function writtenOnce<Step extends object, Rules extends object | void = void>(
  write: (step: Step, rules: Rules) => readonly JsonObject[],
): (step: Step, rules: Rules) => readonly JsonObject[] {
  const byRules = new WeakMap<object, WeakMap<Step, readonly JsonObject[]>>();
  return (step, rules) => {
    if (!SETTLED.has(step)) return write(step, rules);
    const key = rules ?? NO_RULES;
    let known = byRules.get(key);
    if (known === undefined) byRules.set(key, (known = new WeakMap()));
    let written = known.get(step);
    if (written === undefined) {
      written = deepFreeze(write(step, rules));
      for (const object of written) TEXTS.set(object, undefined);
      known.set(step, written);
    }
    return written;
  };
}

/** The body of a request, the arrays in it, their items, and the arrays in those: there stands what was written of steps. */
const DEPTH = 2;

/** The same text as `JSON.stringify` gives, without writing anew what was written of a step before. */
export function requestText(body: JsonObject): string {
  return objectText(body, DEPTH);
}

function objectText(object: JsonObject, depthLeft: number): string {
  if (TEXTS.has(object)) return knownText(object);
  if (depthLeft === 0) return JSON.stringify(object);
  const fields: string[] = [];
  for (const key of Object.keys(object)) {
    const value: JsonValue | undefined = object[key];
    const text = isJsonArray(value) ? arrayText(value, depthLeft - 1) : JSON.stringify(value);
    // JSON.stringify has no text for undefined, and leaves the field out
    if (typeof text === "string") fields.push(`${JSON.stringify(key)}:${text}`);
  }
  return `{${fields.join(",")}}`;
}

function arrayText(items: readonly JsonValue[], depthLeft: number): string {
  return `[${items.map((item) => itemText(item, depthLeft)).join(",")}]`;
}

function itemText(item: JsonValue, depthLeft: number): string {
  if (typeof item === "object" && item !== null && !isJsonArray(item)) return objectText(item, depthLeft);
  return JSON.stringify(item) ?? "null";
}

function knownText(object: JsonObject): string {
  const known = TEXTS.get(object);
  if (known !== undefined) return known;
  const text = JSON.stringify(object);
  TEXTS.set(object, text);
  return text;
}
