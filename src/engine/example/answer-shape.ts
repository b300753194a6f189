/** The parts of made-up answers: the thing they tell of, the list they hold; and what tools without an output schema answer. */
import type { JsonObject, JsonValue } from "../../core/json.ts";
import { isJsonArray, isJsonObject } from "../../core/json.ts";
import type { JsonSchema } from "../../core/tool.ts";
import { type Subject, isCarrier, isListOf } from "../../schema/example/given.ts";
import { nameWords, plainName, plural } from "../../schema/example/name-words.ts";
import type { ToolIntent, Verb } from "./tool-intent.ts";

const MAX_DEPTH = 3;
/** What an answer says of the call, not of the thing. */
const OF_THE_CALL = new Set("success,ok,message,error,errors,status_code,code,request_id,total,count,page,limit".split(","));

/** The thing that an answer tells of: its own properties, and those of the object that holds it once more. */
export function thingIn(output: JsonValue, subject: Subject): JsonObject {
  const values: Record<string, JsonValue> = {};
  for (let at: JsonValue | undefined = output, depth = 0; isJsonObject(at) && depth < MAX_DEPTH; depth++) {
    let inner: JsonValue | undefined;
    for (const [name, value] of Object.entries(at)) {
      if (isJsonObject(value) && isCarrier(name, subject)) inner ??= value;
      else if (depth > 0 || !OF_THE_CALL.has(plainName(name))) set(values, name, value);
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

/** Names of counts, each of which the number is given to. */
export function countsOf(total: number, shown: number): JsonObject {
  const all = Object.fromEntries(TOTALS.map((name) => [name, total]));
  return { ...all, ...Object.fromEntries(COUNTS.map((name) => [name, shown])) };
}

const TOTALS = ["total", "total_count", "total_results", "total_items", "total_size", "num_results", "number_of_results", "matches"];
const COUNTS = ["count", "result_count", "results_count", "item_count", "returned", "length"];

const ID = { type: "string", minLength: 1 };
const STATUS_AFTER: Readonly<Record<Verb, string>> = {
  create: "created",
  read: "active",
  update: "updated",
  remove: "deleted",
  list: "ok",
  other: "ok",
};
const SECRET = /(?:password|secret|token|api_?key|credential)/iu;

/** What a tool of this kind answers where nothing says so. Its names are those of the tool. */
export function usualSchema({ verb, noun }: ToolIntent): JsonSchema {
  const word = noun === "" ? "item" : noun;
  const status = { const: STATUS_AFTER[verb] };
  if (verb === "list") {
    const properties = { id: ID, name: { type: "string" }, status: { type: "string" } };
    const list = { type: "array", items: { type: "object", properties, required: ["id", "name"] } };
    return {
      type: "object",
      properties: { [plural(word)]: list, total: { type: "integer", minimum: 0 } },
      required: [plural(word), "total"],
    };
  }
  if (verb === "other") return { type: "object", properties: { status, message: { type: "string" } }, required: ["status", "message"] };
  const properties = verb === "read" ? { id: ID, name: { type: "string" }, status: { type: "string" } } : { id: ID, status };
  return { type: "object", properties, required: ["id", "status"] };
}

/** An answer of the usual schema with what is known of the call and the thing; what was made up stays where nothing is known. */
export function withKnown(output: JsonValue, known: JsonObject, subject: Subject): JsonValue {
  if (!isJsonObject(output)) return output;
  const list = listIn(output, subject);
  const { records = [] } = subject;
  if (list === undefined) return { ...output, ...open(known) };
  const items = list.map((item, index) => (isJsonObject(item) ? { ...item, ...open(records[index] ?? {}) } : item));
  return Object.fromEntries(Object.entries(output).map(([name, value]) => [name, value === list ? items : value]));
}

function open(values: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([name]) => !SECRET.test(nameWords(name).join("_"))));
}
