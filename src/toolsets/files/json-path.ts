/** Places in a JSON document, written `a.b[0].c`: reads or replaces the value there. */
import { ToolError } from "../../core/error.ts";
import { isJsonArray, isJsonObject, formatJsonPath, type JsonValue } from "../../core/base/json.ts";
import { getChild, describeOutline, parsePathSteps, type JsonStep } from "../../core/base/json-steps.ts";

/**
 * Parses `a.b[0]["c.d"]`, with or without a leading `$`. An empty text or `$` alone is the whole document. At most 64 steps.
 *
 * @throws ToolError `invalid_input`
 */
export function parseJsonPath(text: string): readonly JsonStep[] {
  const steps = parsePathSteps(text);
  if (steps !== undefined) return steps;
  throw new ToolError("invalid_input", `${JSON.stringify(text.slice(0, 200))} is not a place in a JSON document.`, {
    hint: 'Write it as a.b[0].c, a key with other characters as ["my.key"], and "" for the whole document; at most 64 steps.',
  });
}

/** @throws ToolError `execution_failed` naming the first step without a value, and what is there instead */
export function getValueAt(document: JsonValue, steps: readonly JsonStep[]): JsonValue {
  let value = document;
  for (const [depth, step] of steps.entries()) {
    const next = getChild(value, step);
    if (next === undefined) throw noValueError(value, steps.slice(0, depth), step);
    value = next;
  }
  return value;
}

/**
 * Returns the document with one value replaced or added; the given document is not changed.
 *
 * Missing objects along the path are created, and arrays if the next step is an index in brackets. An index one past the end of its array adds an
 * item.
 */
export function withValueAt(document: JsonValue | undefined, steps: readonly JsonStep[], value: JsonValue): JsonValue {
  return replaceAt({ steps, value }, document, 0);
}

/** Recurses once per step of the path. */
function replaceAt(
  change: { readonly steps: readonly JsonStep[]; readonly value: JsonValue },
  within: JsonValue | undefined,
  depth: number,
): JsonValue {
  const step = change.steps[depth];
  if (step === undefined) return change.value;
  const container = within ?? (typeof step === "number" ? [] : {});
  const child = replaceAt(change, getChild(container, step), depth + 1);
  if (isJsonArray(container)) {
    const index = toArrayIndex(step);
    if (index === undefined || index > container.length) throw noValueError(container, change.steps.slice(0, depth), step);
    return index === container.length ? [...container, child] : container.with(index, child);
  }
  if (!isJsonObject(container)) throw noValueError(container, change.steps.slice(0, depth), step);
  return { ...container, [String(step)]: child }; // a computed key is always an own property, even "__proto__"
}

/** Returns the index that a step is in an array, undefined if it is none. */
export function toArrayIndex(step: JsonStep): number | undefined {
  if (typeof step === "number") return step;
  return /^\d{1,9}$/u.test(step) ? Number(step) : undefined;
}

function noValueError(container: JsonValue, path: readonly JsonStep[], step: JsonStep): ToolError {
  const name = typeof step === "number" ? `index ${step}` : `key ${JSON.stringify(step)}`;
  return new ToolError("execution_failed", `${formatJsonPath(path)} has no ${name}: it is ${describeOutline(container)}.`, {
    outcome: "failed",
  });
}
