/** The parts of made-up answers: the thing they tell of, the list they hold; and what tools without an output schema answer. */
import { type JsonObject, type JsonValue, isJsonArray, isJsonObject } from "../../core/base/json.ts";
import type { JsonSchema } from "../../core/tool.ts";
import { type Subject, isCarrier, isListOf } from "../../schema/example/given.ts";
import { nameWords, plainName, plural } from "../../schema/example/name-words.ts";
import type { ToolIntent, Verb } from "./tool-intent.ts";

const MAX_DEPTH = 3;
/** What an answer says of the call, not of the thing. */
const OF_THE_CALL = new Set("success,ok,error,errors,status_code,request_id".split(","));
/** The same, where the thing is an object inside. */
const OF_THE_WRAPPER = new Set("status,message,code,total,count,page,limit".split(","));

/** The thing that an answer tells of: its own properties, and those of the object that holds it once more. */
export function thingIn(output: JsonValue, subject: Subject): JsonObject {
  const values: Record<string, JsonValue> = {};
  for (let at: JsonValue | undefined = output, depth = 0; isJsonObject(at) && depth < MAX_DEPTH; depth++) {
    let inner: JsonValue | undefined;
    for (const [name, value] of Object.entries(at)) if (isJsonObject(value) && isCarrier(name, subject)) inner ??= value;
    for (const [name, value] of Object.entries(at)) {
      const plain = plainName(name);
      const isOfCall = (depth === 0 && OF_THE_CALL.has(plain)) || (inner !== undefined && OF_THE_WRAPPER.has(plain));
      if (!isOfCall && !(isJsonObject(value) && isCarrier(name, subject))) set(values, name, value);
    }
    at = inner;
  }
  return values;
}

function set(values: Record<string, JsonValue>, name: string, value: JsonValue): void {
  if (name !== "__proto__") values[name] = value;
}

/** The list of the subject in an answer; undefined where it has none. */
export function listIn(output: JsonValue, subject: Subject, name = "", depth = 0): readonly JsonValue[] | undefined {
  if (isJsonArray(output)) return isListOf(name, subject) ? output : undefined;
  if (!isJsonObject(output) || depth >= MAX_DEPTH) return undefined;
  for (const [key, value] of Object.entries(output)) {
    const found = key === "" ? undefined : listIn(value, subject, key, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** What a page says of its list, under the names that are usual. */
export function pageFacts({
  total,
  shown,
  offset,
  limit,
}: { readonly [Key in "total" | "shown" | "offset" | "limit"]: number }): JsonObject {
  const isMore = Number.isFinite(offset) && offset + shown < total;
  const pages = limit > 0 ? Math.ceil(total / limit) : 1;
  const named = (names: readonly string[], value: JsonValue): JsonObject => Object.fromEntries(names.map((name) => [name, value]));
  return {
    ...named(TOTALS, total),
    ...named(COUNTS, shown),
    ...named(PAGES, Math.max(1, pages)),
    ...named(MORE, isMore),
    ...(isMore && named(CURSORS, String(offset + shown))),
    page: 1,
  };
}

const TOTALS = "total,total_count,total_results,total_items,total_size,num_results,number_of_results,matches".split(",");
const COUNTS = "count,result_count,results_count,item_count,returned,length".split(",");
const PAGES = "total_pages,num_pages,page_count".split(",");
const MORE = "has_more,has_next,has_next_page,more,is_truncated".split(",");
const CURSORS = "cursor,next_cursor,next_page_token,page_token,next_token".split(",");

const ID = { type: "string", minLength: 1 };
const STATUS_AFTER: Readonly<Record<Verb, string>> = {
  create: "created",
  read: "ok",
  update: "updated",
  remove: "deleted",
  list: "ok",
  other: "ok",
};
const STATE_AFTER: ReadonlyMap<string, string> = new Map(
  "book:confirmed,reserve:confirmed,buy:confirmed,purchase:confirmed,schedule:scheduled,send:sent,submit:submitted,upload:uploaded,open:open,cancel:cancelled,close:closed,complete:completed,resolve:resolved,approve:approved,reject:rejected,reopen:open"
    .split(",")
    .map((pair) => [pair.slice(0, pair.indexOf(":")), pair.slice(pair.indexOf(":") + 1)]),
);
const STATES: Readonly<Partial<Record<Verb, readonly string[]>>> = {
  create: "created,placed,new,pending,open,opened,confirmed,scheduled,draft,queued,todo,booked,active,processing".split(","),
  remove: "deleted,cancelled,canceled,removed,closed,archived,inactive".split(","),
};
const DONE = ["success", "succeeded", "ok", "completed", "done"];

/** What the state of a thing may be when the call is done, the likeliest first; undefined where any may. */
export function statesAfter({ verb, word }: ToolIntent): readonly string[] | undefined {
  const told = STATE_AFTER.get(word);
  const usual = STATES[verb];
  if (told === undefined && usual === undefined) return verb === "list" ? DONE : undefined;
  return [told ?? [], usual ?? [], DONE].flat().flatMap((state) => [state, state.toUpperCase(), capital(state)]);
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** What the thing is after a call of this verb whatever it was before; undefined for one that says nothing of it. */
export function stateTold({ word }: ToolIntent): string | undefined {
  return STATE_AFTER.get(word);
}

/** What an answer says of the call itself, where it is more than reading. */
export function saidOf({ verb, word, noun }: ToolIntent): JsonObject {
  if (verb !== "create" && verb !== "update" && verb !== "remove") return {};
  const state = STATE_AFTER.get(word) ?? STATUS_AFTER[verb];
  const message = `${capital((noun === "" ? "item" : noun).replaceAll("_", " "))} ${state}.`;
  return { message, ...(verb === "remove" && REMOVED), ...(STATE_AFTER.has(word) && { [state]: true, [`is_${state}`]: true }) };
}

/** What an answer to a removal says of it, besides its state. */
const REMOVED: JsonObject = { deleted: true, removed: true, cancelled: true, canceled: true, is_deleted: true, archived: true };
const SECRET = /(?:password|secret|token|api_?key|credential)/iu;

/** What a tool of this kind answers where nothing says so. Its names are those of the tool. @param isNamed the call names the thing it is about */
export function usualSchema({ verb, noun, isPlural, word }: ToolIntent, isNamed: boolean): JsonSchema {
  const status = { const: (verb === "update" ? STATE_AFTER.get(word) : undefined) ?? STATUS_AFTER[verb] };
  if (verb === "list") {
    const listed = isPlural && noun !== "" ? plural(noun) : "results";
    const item = { type: "object", properties: { id: ID, name: { type: "string" } }, required: ["id", "name"] };
    const properties = { [listed]: { type: "array", items: item }, total: { type: "integer", minimum: 0 } };
    return { type: "object", properties, required: [listed, "total"] };
  }
  const isNew = verb === "create" && !isNamed;
  return { type: "object", properties: { ...(isNew && { id: ID }), status }, required: isNew ? ["id", "status"] : ["status"] };
}

/** An answer of the usual schema with what is known of the call and the thing; what was made up stays where nothing is known. */
export function withKnown(output: JsonValue, known: JsonObject, subject: Subject): JsonValue {
  if (!isJsonObject(output)) return output;
  const list = listIn(output, subject);
  const { records = [] } = subject;
  if (list === undefined) return { ...output, ...open(known) };
  const items = list.map((item, index) => open(records[index] ?? (isJsonObject(item) ? item : {})));
  return Object.fromEntries(Object.entries(output).map(([name, value]) => [name, value === list ? items : value]));
}

function open(values: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([name]) => !SECRET.test(nameWords(name).join("_"))));
}
