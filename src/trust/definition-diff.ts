/** Describes as text how two definitions of a tool differ: the old and new value of each part. */
import { getOwn } from "../core/base/get-own.ts";
import { isJsonArray, isJsonObject, formatJsonPath, type JsonValue } from "../core/base/json.ts";
import { DEFINITION_FIELDS, fieldHash, type Definition } from "../schema/definition-fingerprint.ts";
import type { PinnedTool } from "./pinned-tool.ts";
import { quoteExcerpt, escapeInvisibleJson } from "../core/base/escape-invisible.ts";
import { firstChars } from "../core/base/truncate-text.ts";

/** Maximum number of lines, enough to decide; an error has at most twenty. */
const MAX_LINES = 16;
/** Maximum number of characters shown of each value. */
const SHOWN_LENGTH = 300;
/** Maximum depth; deeper parts are compared as a whole. */
const MAX_DEPTH = 32;

/** One line for each difference, at most 16, and then a last line that says there are more. Empty if there is none. */
export function definitionDiff(pinned: PinnedTool, current: Definition): readonly string[] {
  const lines: string[] = [];
  for (const line of listDifferences(pinned, current)) {
    if (lines.length === MAX_LINES) return [...lines, "… and more"];
    lines.push(line);
  }
  return lines;
}

function* listDifferences(pinned: PinnedTool, current: Definition): Generator<string> {
  for (const fault of current.faults) yield escapeInvisibleJson(fault);
  for (const field of DEFINITION_FIELDS) {
    const before = pinned.fields.get(field);
    const after = current.fields.get(field);
    if (before === undefined || "value" in before) yield* compareValues(before?.value, after, [field], MAX_DEPTH);
    else if (after === undefined) yield `${field}: was ${before.bytes} bytes long, now gone`;
    else if (fieldHash(after) !== before.sha256)
      yield `${field}: is different; it was ${before.bytes} bytes long, and only its hash was kept. Now ${formatValue(after)}`;
  }
}

type Path = readonly (string | number)[];

function* compareValues(before: JsonValue | undefined, after: JsonValue | undefined, path: Path, depthLeft: number): Generator<string> {
  if (before === after || (before === undefined && after === undefined)) return;
  if (depthLeft > 0 && isJsonArray(before) && isJsonArray(after)) {
    for (let index = 0; index < Math.max(before.length, after.length); index++)
      yield* compareValues(before[index], after[index], [...path, index], depthLeft - 1);
  } else if (depthLeft > 0 && isJsonObject(before) && isJsonObject(after)) {
    for (const key of unionKeys(before, after))
      yield* compareValues(getOwn(before, key), getOwn(after, key), [...path, key], depthLeft - 1);
  } else if (before === undefined) yield `${formatPath(path)}: new, ${formatValue(after)}`;
  else if (after === undefined) yield `${formatPath(path)}: was ${formatValue(before)}, now gone`;
  else if (typeof before === "string" && typeof after === "string") {
    const at = findFirstDifference(before, after);
    yield `${formatPath(path)}: was ${quoteExcerpt(before, SHOWN_LENGTH, at)}, now ${quoteExcerpt(after, SHOWN_LENGTH, at)}`;
  } else if (typeof before !== "object" || typeof after !== "object" || fieldHash(before) !== fieldHash(after))
    yield `${formatPath(path)}: was ${formatValue(before)}, now ${formatValue(after)}`;
}

function unionKeys(before: object, after: object): readonly string[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
}

function findFirstDifference(before: string, after: string): number {
  let at = 0;
  while (at < before.length && before.charCodeAt(at) === after.charCodeAt(at)) at++;
  return at;
}

/** `["inputSchema", "properties", "a b"]` → `inputSchema.properties["a b"]`. */
export function formatPath(path: Path): string {
  const text = formatJsonPath(path).slice(1);
  return escapeInvisibleJson(text.startsWith(".") ? text.slice(1) : text);
}

function formatValue(value: JsonValue | undefined): string {
  if (typeof value === "string") return quoteExcerpt(value, SHOWN_LENGTH);
  return escapeInvisibleJson(firstChars(JSON.stringify(value) ?? "", SHOWN_LENGTH));
}
