/** Reads from the input of a call which records it is about: changes, filters, page. */
import { type JsonObject, type JsonValue, isJsonObject } from "../../core/base/json.ts";
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { normalizeName } from "../../schema/example/name-words.ts";
import type { Tool } from "../../core/tool.ts";
import type { GeneratedRecord } from "./records.ts";
import type { Identity } from "./tool-intent.ts";

const LIMITS = new Set("limit,count,size,page_size,per_page,max_results,max_items,top,top_k,top_n,num_results,n_results".split(","));
const OFFSETS = new Set("offset,skip,start_index".split(","));
const PAGES = new Set("page,page_number".split(","));
const CURSORS = new Set("cursor,page_token,next_cursor,next_page_token,after_cursor,starting_after".split(","));
const PAGING = new Set([
  ...LIMITS,
  ...OFFSETS,
  ...PAGES,
  ...CURSORS,
  ..."start,sort,sort_by,order_by,order,token,api_key,fields,include".split(","),
]);
/** Inputs that say where to look, and are not values of the records. */
const FOLDERS = new Set("path,directory,dir,folder".split(","));
const TEXT_SEARCH = new Set("query,q,search,keyword,keywords,term,text".split(","));
/** Properties that hold the changes of an update. */
const CHANGES = new Set("changes,updates,fields,data,patch,values,properties,attributes,body".split(","));

/** Whether an input of this name selects a part of a list. */
export function isPaging(name: string): boolean {
  const plain = normalizeName(name);
  return plain !== "size" && (LIMITS.has(plain) || OFFSETS.has(plain) || PAGES.has(plain) || CURSORS.has(plain));
}

/** Whether a tool can return a part of a list. */
export function acceptsPaging({ inputSchema }: Tool): boolean {
  const properties = typeof inputSchema === "object" ? inputSchema["properties"] : undefined;
  return typeof properties === "object" && properties !== null && Object.keys(properties).some(isPaging);
}

/** Number of items that the call asks for; undefined if it does not say. */
export function readLimit(input: JsonObject): number | undefined {
  for (const [name, value] of Object.entries(input)) {
    const wanted = typeof value === "string" && /^\d{1,6}$/u.test(value) ? Number(value) : value;
    if (LIMITS.has(normalizeName(name)) && typeof wanted === "number" && Number.isInteger(wanted) && wanted >= 0) return wanted;
  }
  return undefined;
}

/** Number of items before the requested ones; infinite if it is known only from an earlier answer. */
export function readOffset(input: JsonObject): number {
  const limit = readLimit(input);
  let offset = 0;
  for (const [name, value] of Object.entries(input)) {
    const plain = normalizeName(name);
    const wanted = typeof value === "string" && /^\d{1,9}$/u.test(value) ? Number(value) : value;
    const count = typeof wanted === "number" && wanted > 0 ? Math.floor(wanted) : 0;
    if (OFFSETS.has(plain)) offset = Math.max(offset, count);
    else if (PAGES.has(plain) && count > 1) offset = Math.max(offset, limit === undefined ? Infinity : (count - 1) * limit);
    else if (CURSORS.has(plain) && typeof value === "string" && value !== "")
      offset = Math.max(offset, typeof wanted === "number" ? count : Infinity);
  }
  return offset;
}

/** The fields that an update sets: the input without its id, and the members of an object of changes; `new_name` sets `name`. */
export function readChanges(input: JsonObject, { key }: Identity, noun: string): JsonObject {
  const changes: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(input)) {
    const plain = normalizeName(name);
    if (name === key || name === "__proto__") continue;
    if (isJsonObject(value) && (CHANGES.has(plain) || plain === noun)) Object.assign(changes, value);
    else changes[plain.startsWith("new_") && plain.length > 4 ? plain.slice(4) : name] = value;
  }
  return changes;
}

/** Identifies the search of a call, whichever page it asks for. */
export function searchKeyOf(toolName: string, input: JsonObject): string {
  const filters = Object.entries(input).filter(([name]) => !PAGING.has(normalizeName(name)));
  const text = canonicalJson([toolName, Object.fromEntries(filters)]);
  return text.length <= MAX_QUERY ? text : text.slice(0, MAX_QUERY);
}

const MAX_QUERY = 500;

/** Whether a search finds a record: no filter contradicts it, and it contains the search text or was found by this search before. */
export function matchesSearch({ values, queries }: GeneratedRecord, input: JsonObject, query: string | undefined): boolean {
  const wasFound = query !== undefined && queries.includes(query);
  let known: ReadonlyMap<string, JsonValue> | undefined;
  for (const [name, wanted] of Object.entries(input)) {
    const plain = normalizeName(name);
    if (typeof wanted === "object" || PAGING.has(plain) || FOLDERS.has(plain)) continue;
    known ??= new Map(Object.entries(values).map(([key, value]) => [normalizeName(key), value]));
    const value = known.get(plain);
    if (value !== undefined && typeof value !== "object" && lowerCaseText(value) !== lowerCaseText(wanted)) return false;
    if (value === undefined && TEXT_SEARCH.has(plain) && !wasFound && !containsText(values, lowerCaseText(wanted))) return false;
  }
  return true;
}

function lowerCaseText(value: JsonValue): string {
  return String(value).toLowerCase();
}

function containsText(values: JsonObject, wanted: string): boolean {
  return Object.values(values).some((value) => typeof value === "string" && value.toLowerCase().includes(wanted));
}
