/** Finds the record and the array in generated answers, and builds the usual answers of tools without an output schema. */
import { type JsonObject, type JsonValue, isJsonArray, isJsonObject } from "../../core/base/json.ts";
import type { JsonSchema, Tool } from "../../core/tool.ts";
import { makeConsistent } from "../../schema/example/make-consistent.ts";
import { type Subject, holdsSubject, isSubjectList, isPersonSpecificName } from "../../schema/example/given-values.ts";
import { nameWords, normalizeName, toPlural } from "../../schema/example/name-words.ts";
import { isPersonNoun } from "../../schema/example/person-nouns.ts";
import type { RandomStream } from "../../schema/example/random-stream.ts";
import { isPaging } from "./read-input.ts";
import type { ToolIntent, Verb } from "./tool-intent.ts";
import { nounFields, usualFields } from "./usual-fields.ts";
import { capitalize } from "../../core/base/wording.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";

const MAX_DEPTH = 3;
/** Fields of an answer that describe the call, not the record. */
const CALL_FIELDS = new Set("success,ok,error,errors,status_code,request_id".split(","));
/** Fields that describe the call if the record is in an object inside the answer. */
const WRAPPER_FIELDS = new Set("status,message,code,total,count,page,limit".split(","));

/** The record that an answer describes: its own properties, and those of a nested object that holds it. */
export function extractRecord(output: JsonValue, subject: Subject): JsonObject {
  const values: Record<string, JsonValue> = {};
  for (let at: JsonValue | undefined = output, depth = 0; isJsonObject(at) && depth < MAX_DEPTH; depth++) {
    let inner: JsonValue | undefined;
    const entries = Object.entries(at);
    for (const [name, value] of entries) if (isJsonObject(value) && holdsSubject(name, subject)) inner ??= value;
    for (const [name, value] of entries) {
      const plain = normalizeName(name);
      const isOfCall = (depth === 0 && CALL_FIELDS.has(plain)) || (inner !== undefined && WRAPPER_FIELDS.has(plain));
      if (!isOfCall && !(isJsonObject(value) && holdsSubject(name, subject))) setValue(values, name, value);
    }
    at = inner;
  }
  return values;
}

function setValue(values: Record<string, JsonValue>, name: string, value: JsonValue): void {
  if (name !== "__proto__") values[name] = value;
}

/** The array of the subject's records in an answer; undefined if there is none. */
export function findList(output: JsonValue, subject: Subject, name = "", depth = 0): readonly JsonValue[] | undefined {
  if (isJsonArray(output)) return isSubjectList(name, subject) ? output : undefined;
  if (!isJsonObject(output) || depth >= MAX_DEPTH) return undefined;
  for (const [key, value] of Object.entries(output)) {
    const found = key === "" ? undefined : findList(value, subject, key, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Facts about a page and its array, under the usual names. */
export function pageFacts({
  total,
  shown,
  offset,
  limit,
}: { readonly [Key in "total" | "shown" | "offset" | "limit"]: number }): JsonObject {
  const isMore = Number.isFinite(offset) && offset + shown < total;
  const pages = limit > 0 ? Math.ceil(total / limit) : 1;
  const facts: Record<string, JsonValue> = {};
  for (const name of TOTALS) facts[name] = total;
  for (const name of COUNTS) facts[name] = shown;
  for (const name of PAGES) facts[name] = Math.max(1, pages);
  for (const name of MORE_FLAGS) facts[name] = isMore;
  if (isMore) for (const name of CURSORS) facts[name] = String(offset + shown);
  facts["page"] = 1;
  return facts;
}

const TOTALS = "total,total_count,total_results,total_items,total_size,num_results,number_of_results,matches".split(",");
const COUNTS = "count,result_count,results_count,item_count,returned,length".split(",");
const PAGES = "total_pages,num_pages,page_count".split(",");
const MORE_FLAGS = "has_more,has_next,has_next_page,more,is_truncated".split(",");
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
const DONE_STATES = ["success", "succeeded", "ok", "completed", "done"];

const statesCache = new WeakMap<ToolIntent, { readonly states: readonly string[] | undefined }>();

/** The states that a record may have after the call, the most likely first; undefined if it may have any. */
export function possibleStates(intent: ToolIntent): readonly string[] | undefined {
  return getOrAdd(statesCache, intent, () => ({ states: deriveStates(intent) })).states;
}

function deriveStates({ verb, word }: ToolIntent): readonly string[] | undefined {
  const implied = STATE_AFTER.get(word);
  const usual = STATES[verb];
  if (implied === undefined && usual === undefined) return verb === "list" ? DONE_STATES : undefined;
  return [implied ?? [], usual ?? [], DONE_STATES].flat().flatMap((state) => [state, state.toUpperCase(), capitalize(state)]);
}

/** The state of the record after a call of this verb, whatever it was before; undefined if the verb does not imply one. */
export function impliedState({ word }: ToolIntent): string | undefined {
  return STATE_AFTER.get(word);
}

/** The fields of an answer that describe the call itself: a message and flags. */
export function callStatusFields({ verb, word, noun, isPlural }: ToolIntent, { name, description }: Tool): JsonObject {
  if (!isChange(verb)) {
    if (TEXT_TOOL.test(name) || TEXT_TOOL.test(description.slice(0, MAX_DESCRIPTION_CHARS))) return NO_ERROR;
    const thing = (noun === "" ? "data" : isPlural || verb === "list" ? toPlural(noun) : noun).replaceAll("_", " ");
    const message = `${capitalize(thing)} ${READ_WORDS[name.length % READ_WORDS.length] ?? "found"}.`;
    return { ...NO_ERROR, message, msg: message, detail: message, messages: message, status_message: message, info: message };
  }
  const state = STATE_AFTER.get(word) ?? STATUS_AFTER[verb];
  const message = `${capitalize((noun === "" ? "item" : noun).replaceAll("_", " "))} ${state}.`;
  return {
    ...NO_ERROR,
    message,
    ...(verb === "remove" && REMOVED_FLAGS),
    ...(STATE_AFTER.has(word) && { [state]: true, [`is_${state}`]: true }),
  };
}

function isChange(verb: Verb): boolean {
  return verb === "create" || verb === "update" || verb === "remove";
}

const NO_ERROR: JsonObject = { error: "none", error_message: "none", error_msg: "none", errors: [] };
/** Matches tools whose answer is a text. */
const TEXT_TOOL =
  /message|sms|e?-?mail|chat|joke|quote|fact|advice|riddle|horoscope|text|translat|generat|comment|lyric|story|answer|conversation/iu;
const READ_WORDS = ["found", "retrieved", "loaded", "returned", "ready", "retrieved successfully", "loaded successfully"];
const MAX_DESCRIPTION_CHARS = 200;

/** The fields of an answer to a removal, besides the state. */
const REMOVED_FLAGS: JsonObject = { deleted: true, removed: true, cancelled: true, canceled: true, is_deleted: true, archived: true };
const SECRET_FIELD = /(?:password|secret|token|api_?key|credential)/iu;

const PERSON = { type: "string", description: "full name of the person" };
/** People who are listed for the person that the call names, such as their followers. */
const RELATION_NOUNS = new Set("follower,follow,following,friend,member,subscriber,contact,connection,fan,colleague,attendee".split(","));

/** Whether the items of an array are people; only one, if the call asks for the person with a user name or an address. */
export function detectPeople({ noun }: ToolIntent, input: JsonObject): Pick<Subject, "isAboutPeople" | "atMost"> {
  if (!isPeopleNoun(noun)) return {};
  if (findRequestedPerson(input) !== undefined) return { atMost: 1 };
  const isAsked = !RELATION_NOUNS.has(lastWord(noun)) && Object.keys(input).some(isPersonSpecificName);
  return isAsked ? { atMost: 1 } : { isAboutPeople: true };
}

const PERSON_SEARCH_FIELDS = new Set("name,full_name,query,q,search,keyword,keywords,search_term,search_query,term".split(","));
const FULL_NAME = /^[A-Z][a-z]{1,20} [A-Z][a-z]{1,20}$/u;

/** The names of the person that a search for people asks for; undefined if it names none. */
export function findRequestedPerson(input: JsonObject): JsonObject | undefined {
  const [first, last] = [input["first_name"], input["last_name"]];
  const both = typeof first === "string" && typeof last === "string" ? `${first} ${last}` : undefined;
  const asked =
    both ??
    Object.entries(input).find(
      ([name, value]) => PERSON_SEARCH_FIELDS.has(normalizeName(name)) && typeof value === "string" && FULL_NAME.test(value),
    )?.[1];
  if (typeof asked !== "string" || !FULL_NAME.test(asked)) return undefined;
  const [given = "", family = ""] = asked.split(" ");
  return { name: asked, full_name: asked, first_name: given, last_name: family };
}

function isPeopleNoun(noun: string): boolean {
  return isPersonNoun(noun) || RELATION_NOUNS.has(lastWord(noun));
}

function lastWord(noun: string): string {
  return noun.split("_").at(-1) ?? "";
}

/** Number of fields of a generated answer, and of each item of an array besides its id and name. */
const READ_FIELDS = 4;
const LIST_ITEM_FIELDS = 2;
const KNOWN_NOUN_ITEM_FIELDS = 4;
/** Matches tools that act on the record: `return_items` returns nothing to the caller. */
const ACTION_NAME = /^(?:return|exchange)_/u;
const DONE_STATUS = { const: "completed" };
/** Matches descriptions of tools that do something and have no other result. */
const ACTION_DESCRIPTION =
  /^(?:this (?:tool|function|endpoint) )?(?:activate|apply|assign|attach|block|cancel|clear|click|close|connect|control|copy|customi[sz]e|deactivate|deploy|detach|disable|disconnect|drag|enable|execute|fill|fire|follow|force|go|hover|insert|install|invite|kill|launch|like|lock|log|mark|merge|move|mute|navigate|notify|pause|play|press|print|publish|push|redirect|reload|rename|replace|reset|resize|restart|restore|resume|rotate|run|save|scroll|select|set|share|shut|skip|snooze|start|stop|submit|subscribe|switch|sync|tap|terminate|toggle|transfer|trigger|turn|type|unblock|unfollow|uninstall|unlock|unmute|unsubscribe|wait|wake|write)(?:s|es)?\b/iu;

/** The schema of the usual answer of such a tool, with its names. @param isNamed whether the call names the record that it is about */
export function usualSchema(tool: Tool, { verb, noun, isPlural, word }: ToolIntent, isNamed: boolean): JsonSchema {
  const status = { const: STATE_AFTER.get(word) ?? STATUS_AFTER[verb] };
  if (verb === "list") {
    const listed = isPlural && noun !== "" ? toPlural(noun) : "results";
    const fields = {
      id: ID,
      ...(nounFields(noun) === undefined && { name: isPeopleNoun(noun) ? PERSON : { type: "string" } }),
      ...usualFields(tool, {
        noun,
        maxFields: nounFields(noun) === undefined ? LIST_ITEM_FIELDS : KNOWN_NOUN_ITEM_FIELDS,
        isAllowed: (field) => isPeopleNoun(noun) || !isPersonSpecificName(field),
      }),
    };
    const item = { type: "object", properties: fields, required: Object.keys(fields) };
    const properties = { [listed]: { type: "array", items: item }, total: { type: "integer", minimum: 0 } };
    return { type: "object", properties, required: [listed, "total"] };
  }
  const isAct = ACTION_NAME.test(tool.name) || (verb === "other" && ACTION_DESCRIPTION.test(tool.description.trim()));
  if (isAct && (verb === "other" || verb === "read")) return { type: "object", properties: { status: DONE_STATUS }, required: ["status"] };
  if (verb === "read" || verb === "other") {
    const properties = usualFields(tool, { noun, maxFields: READ_FIELDS });
    return { type: "object", properties, required: Object.keys(properties) };
  }
  const isNew = verb === "create" && !isNamed;
  return { type: "object", properties: { ...(isNew && { id: ID }), status }, required: isNew ? ["id", "status"] : ["status"] };
}

interface KnownValues {
  readonly known: JsonObject;
  readonly subject: Subject;
  readonly random: RandomStream;
  readonly verb: Verb;
}

/**
 * Puts the known values of the call and the record into an answer of the usual schema. Generated values stay where nothing is known, and are made
 * consistent with the known ones. The owner of an array is next to the array.
 */
export function withKnownValues(output: JsonValue, { known: all, subject, random, verb }: KnownValues): JsonValue {
  if (!isJsonObject(output)) return output;
  const known = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null && value !== ""));
  const list = findList(output, subject);
  const { records = [] } = subject;
  if (list === undefined) {
    const whole = withConsistentValues({ ...output, ...withoutSecrets(known) }, known, random);
    return Object.fromEntries(Object.entries(whole).filter(([name]) => Object.hasOwn(output, name) || isChange(verb) || isEchoed(name)));
  }
  const items = list.map((item, index) => withoutSecrets(records[index] ?? (isJsonObject(item) ? item : {})));
  const whose = Object.entries(subject.atMost === 1 ? {} : withoutSecrets(known)).filter(([name]) => isPersonSpecificName(name));
  return Object.fromEntries([...whose, ...Object.entries(output).map(([name, value]) => [name, value === list ? items : value] as const)]);
}

/** Whether an input is repeated in the answer: not if it only says how to answer. */
function isEchoed(name: string): boolean {
  return (
    !isPaging(name) &&
    (normalizeName(name).length > 2 || /^(?:id|to)$/u.test(normalizeName(name))) &&
    !FORMAT_OPTIONS.test(normalizeName(name))
  );
}

const FORMAT_OPTIONS =
  /^(?:.*format|lang|language|locale|units?|sort.*|order|order_by|fields|include.*|exclude.*|callback|verbose|pretty|version|min_.*|max_.*|filter.*|query|q|search|keywords?)$/u;

function withConsistentValues(values: JsonObject, known: JsonObject, random: RandomStream): JsonObject {
  const entries = new Map(Object.entries(values));
  makeConsistent({
    entries,
    random,
    isGenerated: (name) => !Object.hasOwn(known, name),
    replace: (name, value) => entries.set(name, value),
    redraw: () => undefined,
    parsedDescription: () => undefined,
    valueFromCall: () => undefined,
  });
  return Object.fromEntries(entries);
}

function withoutSecrets(values: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([name]) => !SECRET_FIELD.test(nameWords(name).join("_"))));
}
