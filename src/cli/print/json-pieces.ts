import { isJsonArray, type JsonValue } from "../../core/base/json.ts";

/**
 * Yields the text of `JSON.stringify(value, undefined, 2)` in pieces, one for each item of an array of the object, so that the text of a large value
 * is never in memory as a whole: it may be longer than the longest string of JavaScript. Values that are undefined are left out.
 */
export function* jsonPieces(value: Readonly<Record<string, JsonValue | undefined>>): Generator<string, void, undefined> {
  const entries = Object.entries(value).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined);
  if (entries.length === 0) return yield "{}";
  let start = "{\n";
  for (const [key, member] of entries) {
    yield `${start}  ${JSON.stringify(key)}: `;
    if (isJsonArray(member) && member.length > 0) yield* arrayPieces(member);
    else yield indented(member, "  ");
    start = ",\n";
  }
  yield "\n}";
}

function* arrayPieces(items: readonly JsonValue[]): Generator<string, void, undefined> {
  let start = "[\n    ";
  for (const item of items) {
    yield start + indented(item, "    ");
    start = ",\n    ";
  }
  yield "\n  ]";
}

/** Line breaks within strings are escaped in JSON, so each line break is one between values. */
function indented(value: JsonValue, indent: string): string {
  return JSON.stringify(value, undefined, 2).replaceAll("\n", `\n${indent}`);
}
