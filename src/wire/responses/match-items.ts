/** Finds the streamed items in the output at the end of a response, also if the server gives them other ids or positions there. */
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";
import { parseInput } from "../reply-builder.ts";
import { itemType } from "./items.ts";

/** The known parts of a streamed item. */
export interface StreamedItem {
  /** The complete item. */
  readonly item: JsonObject | undefined;
  /** The item as it was when it began. */
  readonly begun: JsonObject | undefined;
  /** The type of an item of which only text was received. */
  readonly words: "message" | "reasoning" | undefined;
}

/**
 * Returns the streamed item that each item of the output is: the one with the same id, else the first one with the same content. No streamed item is
 * returned twice, so an item that the stream left out has none.
 */
export function matchItems<Streamed extends StreamedItem>(
  output: readonly JsonObject[],
  streamed: readonly Streamed[],
): ReadonlyMap<JsonObject, Streamed> {
  const left = new Set(streamed);
  const found = new Map<JsonObject, Streamed>();
  /** Takes the first streamed item that is left of a group. */
  const take = (item: JsonObject, group: Streamed[] = []): void => {
    for (let one = found.has(item) ? undefined : group.pop(); one !== undefined; one = found.has(item) ? undefined : group.pop())
      if (left.delete(one)) found.set(item, one);
  };
  const byId = groupByKeys(streamed, ({ item, begun }) => [item, begun].flatMap((one) => (one === undefined ? [] : idsOf(one))));
  for (const item of output) for (const id of idsOf(item)) take(item, byId.get(id));
  if (left.size === 0 || found.size === output.length) return found;
  const byContent = groupByKeys([...left], (one) => [contentKey(one)]);
  for (const item of output)
    if (!found.has(item))
      for (const known of [{ item }, { begun: item }, { words: itemType(item) }]) take(item, byContent.get(contentKey(known)));
  return found;
}

/** Groups values by their keys, each group from the last to the first. */
function groupByKeys<Value>(values: readonly Value[], keysOf: (value: Value) => readonly string[]): Map<string, Value[]> {
  const groups = new Map<string, Value[]>();
  for (const value of values) for (const key of keysOf(value)) getOrAdd(groups, key, (): Value[] => []).push(value);
  for (const group of groups.values()) group.reverse();
  return groups;
}

function idsOf(item: JsonObject): readonly string[] {
  return [item["id"], item["call_id"]].flatMap((id) => (typeof id === "string" && id !== "" ? [`${itemType(item)} ${id}`] : []));
}

/** Returns the same text for a streamed item and for the item of the output that has the same content, as far as that is known. */
function contentKey({
  item,
  begun,
  words = "",
}: {
  item?: JsonObject | undefined;
  begun?: JsonObject | undefined;
  words?: string | undefined;
}): string {
  if (item !== undefined) return `item ${itemType(item)} ${contentOf(item)}`;
  if (begun !== undefined) return `begun ${itemType(begun)} ${JSON.stringify(begun["name"] ?? null)}`;
  return `words ${words}`;
}

/** Returns what is compared of an item: of a message its text, of a call what is called with which input, of other items all but the ids. */
function contentOf(item: JsonObject): string {
  const type = itemType(item);
  if (type === "message") return textOf(item["content"]);
  const { id: _id, call_id: _callId, status: _status, ...rest } = item;
  if (type !== "function_call" && type !== "custom_tool_call") return canonicalJson(rest);
  const { name = null, namespace = null, input = null } = rest;
  return canonicalJson([name, namespace, input, parseInput(rest["arguments"])]);
}

function textOf(content: JsonValue | undefined): string {
  if (typeof content === "string") return content;
  if (!isJsonArray(content)) return "";
  const texts = content.map((part) => (isJsonObject(part) ? (part["text"] ?? part["refusal"]) : undefined));
  return texts.map((text) => (typeof text === "string" ? text : "")).join("");
}
