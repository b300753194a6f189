/** Describes as text how two definitions of a tool differ: the old and new value of each part. */
import { own } from "../core/base/own.ts";
import { isJsonArray, isJsonObject, jsonPath, type JsonValue } from "../core/base/json.ts";
import { DEFINITION_FIELDS, fieldHash, type Definition } from "../schema/definition-fingerprint.ts";
import type { PinnedTool } from "./pinned-tool.ts";
import { quoted, visibleJson } from "../core/base/visible-text.ts";
import { beginning } from "../core/base/short-text.ts";

/** Maximum number of lines, enough to decide; an error has at most twenty. */
const MAX_LINES = 16;
/** Maximum number of characters shown of each value. */
const SHOWN_LENGTH = 300;
/** Maximum depth; deeper parts are compared as a whole. */
const MAX_DEPTH = 32;

/** One line for each difference, at most 16, and then a last line that says there are more. Empty if there is none. */
export function definitionDiff(pinned: PinnedTool, current: Definition): readonly string[] {
  const lines: string[] = [];
  for (const line of differences(pinned, current)) {
    if (lines.length === MAX_LINES) return [...lines, "… and more"];
    lines.push(line);
  }
  return lines;
}

function* differences(pinned: PinnedTool, current: Definition): Generator<string> {
  for (const fault of current.faults) yield visibleJson(fault);
  for (const field of DEFINITION_FIELDS) {
    const before = pinned.fields.get(field);
    const after = current.fields.get(field);
    if (before === undefined || "value" in before) yield* compare(before?.value, after, [field], MAX_DEPTH);
    else if (after === undefined) yield `${field}: was ${before.bytes} bytes long, now gone`;
    else if (fieldHash(after) !== before.sha256)
      yield `${field}: is different; it was ${before.bytes} bytes long, and only its hash was kept. Now ${shown(after)}`;
  }
}

type Path = readonly (string | number)[];

function* compare(before: JsonValue | undefined, after: JsonValue | undefined, path: Path, depthLeft: number): Generator<string> {
  if (before === after || (before === undefined && after === undefined)) return;
  if (depthLeft > 0 && isJsonArray(before) && isJsonArray(after)) {
    for (let index = 0; index < Math.max(before.length, after.length); index++)
      yield* compare(before[index], after[index], [...path, index], depthLeft - 1);
  } else if (depthLeft > 0 && isJsonObject(before) && isJsonObject(after)) {
    for (const key of keysOf(before, after)) yield* compare(own(before, key), own(after, key), [...path, key], depthLeft - 1);
  } else if (before === undefined) yield `${spell(path)}: new, ${shown(after)}`;
  else if (after === undefined) yield `${spell(path)}: was ${shown(before)}, now gone`;
  else if (typeof before === "string" && typeof after === "string") {
    const at = firstDifference(before, after);
    yield `${spell(path)}: was ${quoted(before, SHOWN_LENGTH, at)}, now ${quoted(after, SHOWN_LENGTH, at)}`;
  } else if (typeof before !== "object" || typeof after !== "object" || fieldHash(before) !== fieldHash(after))
    yield `${spell(path)}: was ${shown(before)}, now ${shown(after)}`;
}

function keysOf(before: object, after: object): readonly string[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
}

function firstDifference(before: string, after: string): number {
  let at = 0;
  while (at < before.length && before.charCodeAt(at) === after.charCodeAt(at)) at++;
  return at;
}

/** `["inputSchema", "properties", "a b"]` → `inputSchema.properties["a b"]`. */
export function spell(path: Path): string {
  const text = jsonPath(path).slice(1);
  return visibleJson(text.startsWith(".") ? text.slice(1) : text);
}

function shown(value: JsonValue | undefined): string {
  if (typeof value === "string") return quoted(value, SHOWN_LENGTH);
  return visibleJson(beginning(JSON.stringify(value) ?? "", SHOWN_LENGTH));
}
