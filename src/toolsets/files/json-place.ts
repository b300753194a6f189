/** Places in a JSON document, spelled `a.b[0].c`: read one, or replace one. */
import { ToolError } from "../../core/error.ts";
import { isJsonObject, jsonPath } from "../../core/base/json.ts";
import type { JsonObject, JsonValue } from "../../core/base/json.ts";
import { plural, typeInWords } from "../../core/base/wording.ts";

const MAX_STEPS = 64;
const MAX_PLACE_CHARS = 16_384;
const MAX_NAMED_KEYS = 20;

/** A key, or an index that was written in brackets. */
export type Step = string | number;

/** One step: `.key`, `[0]`, `["any key"]`, or the first key without its dot. */
const STEP = /\.?([^.[\]"]+)|\[(\d{1,9})\]|\[("(?:[^"\\]|\\.)*")\]/uy;

/**
 * Reads `a.b[0]["c.d"]`, with or without a leading `$`; nothing or `$` alone is the whole document.
 *
 * @throws ToolError `invalid_input`
 */
export function parsePlace(text: string): readonly Step[] {
  if (text.length > MAX_PLACE_CHARS) throw new ToolError("invalid_input", `The place has more than ${MAX_PLACE_CHARS} characters.`);
  const steps: Step[] = [];
  STEP.lastIndex = text.startsWith("$") ? 1 : 0;
  while (STEP.lastIndex < text.length) {
    const at = STEP.lastIndex;
    const [, key, index, quoted] = STEP.exec(text) ?? [];
    if (key !== undefined && (at === 0 || text[at] === ".")) steps.push(key);
    else if (index !== undefined) steps.push(Number(index));
    else if (quoted !== undefined) steps.push(unquote(quoted, text));
    else throw unreadable(text);
    if (steps.length > MAX_STEPS) throw new ToolError("invalid_input", `The place has more than ${MAX_STEPS} steps.`);
  }
  return steps;
}

function unquote(quoted: string, text: string): string {
  return quoted.slice(1, -1).replace(/\\(.)/gu, (_escape, character: string) => {
    if (character !== '"' && character !== "\\") throw unreadable(text);
    return character;
  });
}

function unreadable(text: string): ToolError {
  return new ToolError("invalid_input", `${JSON.stringify(text.slice(0, 200))} is not a place in a JSON document.`, {
    hint: 'Write it as a.b[0].c, a key with other characters as ["my.key"], and "" for the whole document.',
  });
}

/** @throws ToolError `execution_failed` naming the first step that leads nowhere, and what is there instead */
export function valueAt(document: JsonValue, steps: readonly Step[]): JsonValue {
  let value = document;
  for (const [depth, step] of steps.entries()) {
    const next = childOf(value, step);
    if (next === undefined) throw nothingThere(value, steps.slice(0, depth), step);
    value = next;
  }
  return value;
}

/**
 * Returns the document with one value replaced or added; the one given is left as it is.
 *
 * Missing objects on the way are made, and arrays where the next step is an index in brackets. An index may be
 * one past the end of its array, which adds an item.
 */
export function withValueAt(document: JsonValue | undefined, steps: readonly Step[], value: JsonValue): JsonValue {
  return replaceAt({ steps, value }, document, 0);
}

/** Goes one level deeper a step, at most `MAX_STEPS` levels. */
function replaceAt(
  change: { readonly steps: readonly Step[]; readonly value: JsonValue },
  within: JsonValue | undefined,
  depth: number,
): JsonValue {
  const step = change.steps[depth];
  if (step === undefined) return change.value;
  const container = within ?? (typeof step === "number" ? [] : {});
  const child = replaceAt(change, childOf(container, step), depth + 1);
  if (isArray(container)) {
    const index = indexOf(step);
    if (index === undefined || index > container.length) throw nothingThere(container, change.steps.slice(0, depth), step);
    return index === container.length ? [...container, child] : container.with(index, child);
  }
  if (!isJsonObject(container)) throw nothingThere(container, change.steps.slice(0, depth), step);
  return { ...container, [String(step)]: child }; // a computed key is always an own property, "__proto__" included
}

function childOf(container: JsonValue, step: Step): JsonValue | undefined {
  if (isArray(container)) return container[indexOf(step) ?? -1];
  if (!isJsonObject(container) || !Object.hasOwn(container, step)) return undefined;
  return container[step];
}

/** Array.isArray does not narrow readonly arrays. */
function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function indexOf(step: Step): number | undefined {
  if (typeof step === "number") return step;
  return /^\d{1,9}$/u.test(step) ? Number(step) : undefined;
}

function nothingThere(container: JsonValue, way: readonly Step[], step: Step): ToolError {
  const name = typeof step === "number" ? `index ${step}` : `key ${JSON.stringify(step)}`;
  return new ToolError("execution_failed", `${jsonPath(way)} has no ${name}: it is ${describe(container)}.`, { outcome: "failed" });
}

function describe(value: JsonValue): string {
  if (isArray(value)) return `an array of ${plural(value.length, "item")}`;
  if (isJsonObject(value)) return describeKeys(value);
  return typeInWords(value);
}

function describeKeys(object: JsonObject): string {
  const keys = Object.keys(object);
  if (keys.length === 0) return "an empty object";
  const named = keys.slice(0, MAX_NAMED_KEYS).map((key) => JSON.stringify(key.slice(0, 100)));
  return `an object with ${named.join(", ")}${keys.length > MAX_NAMED_KEYS ? " and more" : ""}`;
}
