/** Writes each step of a conversation once, however many requests repeat it: the JSON of a long history is not made again each round. */
import { deepFreeze } from "../core/base/frozen.ts";
import { isJsonArray, type JsonObject, type JsonValue } from "../core/base/json.ts";
import { strictJson } from "../core/base/strict-json.ts";
import { getOrAdd } from "../core/base/get-or-add.ts";

/** A hidden property, as a WeakMap takes ten times as long to ask and each request asks for each message of its history. */
const WRITINGS = Symbol("writings");
const TEXT = Symbol("text");

/** Of one step: more than one conversation has in use. A program may make a model, and so rules, for each request of a long session. */
const MAX_WRITINGS = 16;

/** The written form of a settled step, by the writer and its rules; the oldest go first. */
type Writings = { readonly by: object; readonly written: readonly JsonObject[] }[];

interface Step {
  readonly [WRITINGS]?: Writings;
}

/** The JSON text of what was written, once it was asked for. */
interface Text {
  json: string | undefined;
}

interface Written {
  readonly [TEXT]?: Text;
}

/** Of what was frozen already when it was written: blocks that go back to a provider as they came. */
const FROZEN_TEXTS = new WeakMap<object, Text>();

/** Says that nothing of a step changes any more, and that later requests will bring the same object. */
export function settle(step: object): void {
  if (!isSettled(step)) Object.defineProperty(step, WRITINGS, { value: [] satisfies Writings });
}

export function isSettled(step: object): boolean {
  return writingsOf(step) !== undefined;
}

function writingsOf(step: object & Step): Writings | undefined {
  return step[WRITINGS];
}

/**
 * Remembers what `write` makes of a settled step. That is frozen, as later requests hold it too; of any other step nothing is kept.
 *
 * @param write returns the same whenever step and rules are the same objects
 */
export function writtenOnce<S extends object, Rules extends object | void = void>(
  write: (step: S, rules: Rules) => readonly JsonObject[],
): (step: S, rules: Rules) => readonly JsonObject[] {
  const marks = new WeakMap<object, object>();
  let last: { readonly rules: Rules; readonly mark: object } | undefined;
  return (step, rules) => {
    const writings = writingsOf(step);
    if (writings === undefined) return write(step, rules);
    if (last === undefined || last.rules !== rules) last = { rules, mark: getOrAdd(marks, rules ?? marks, () => ({})) };
    for (const { by, written } of writings) if (by === last.mark) return written;
    const written = write(step, rules).map(remembered);
    if (writings.length === MAX_WRITINGS) writings.shift();
    writings.push({ by: last.mark, written: Object.freeze(written) });
    return written;
  };
}

function remembered(object: JsonObject): JsonObject {
  if (Object.isFrozen(object)) FROZEN_TEXTS.set(object, { json: undefined });
  else Object.defineProperty(object, TEXT, { value: { json: undefined } });
  return deepFreeze(object);
}

function textOf(object: JsonObject & Written): Text | undefined {
  return object[TEXT] ?? (Object.isFrozen(object) ? FROZEN_TEXTS.get(object) : undefined);
}

/** The body of a request, the arrays in it, their items, and the arrays in those: they hold the steps as they were written. */
const DEPTH = 2;

/** The same text as `JSON.stringify` gives, without writing a step again, and without half surrogate pairs, which providers refuse. */
export function requestText(body: JsonObject): string {
  return strictJson(objectText(body, DEPTH));
}

function objectText(object: JsonObject, depthLeft: number): string {
  const known = textOf(object);
  if (known !== undefined) return (known.json ??= JSON.stringify(object));
  if (depthLeft === 0) return JSON.stringify(object);
  let fields = "";
  for (const key of Object.keys(object)) {
    const value: JsonValue | undefined = object[key];
    const text = isJsonArray(value) ? arrayText(value, depthLeft - 1) : JSON.stringify(value);
    // JSON.stringify has no text for undefined, and leaves the field out
    if (typeof text === "string") fields += `${fields === "" ? "" : ","}${JSON.stringify(key)}:${text}`;
  }
  return `{${fields}}`;
}

/** Put together with `+`, which copies no text: that is done once, when all of it is sent. */
function arrayText(items: readonly JsonValue[], depthLeft: number): string {
  let texts = "";
  for (const item of items) texts += texts === "" ? itemText(item, depthLeft) : `,${itemText(item, depthLeft)}`;
  return `[${texts}]`;
}

function itemText(item: JsonValue, depthLeft: number): string {
  if (typeof item === "object" && item !== null && !isJsonArray(item)) return objectText(item, depthLeft);
  return JSON.stringify(item) ?? "null";
}
