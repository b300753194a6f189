/** Writes the assistant's answer, only from fields of results. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../../core/base/json.ts";
import type { Random } from "../../../core/ports.ts";
import type { ToolResult } from "../../../core/result.ts";
import type { Tool } from "../../../core/tool.ts";
import { capital } from "../../../core/base/wording.ts";
import { isSeveralWords } from "../../../engine/example/tool-intent.ts";
import { toolSubject } from "../tool-subject.ts";
import { nameWords, plainName, plural } from "../../../schema/example/name-words.ts";
import type { AnsweredCall, AnsweredTurn } from "../conversation-writer.ts";
import { isIdName } from "../id-names.ts";
import { purposeOf, purposeText } from "./purpose-words.ts";
import {
  briefWords,
  clauseWords,
  excerpt,
  flagAnswer,
  flagSentence,
  flagWords,
  scalarWords,
  sentence,
  singularLast,
} from "./field-words.ts";
import { SAYS_NOTHING, isHead, isSaid, rankOfName } from "./telling-names.ts";
import { joined, label, oneOf } from "./value-words.ts";
import { CLAIM, MAX_WANTED, unmadeWords } from "./unmade-words.ts";
import { withWholeNames } from "./whole-names.ts";

/** Writes one or more sentences for each call of the turn. */
export function answerWords({ calls, unmade }: AnsweredTurn, random: Random): string {
  const told = new Set<string>();
  const said = calls.map((call, index) => callWords(call, { random, isFirst: index === 0, told }));
  if (unmade.length > 0) said.push(unmadeWords(unmade, random));
  return [...new Set(said)].join(" ");
}

interface Saying {
  readonly random: Random;
  readonly isFirst: boolean;
  /** Fields that the answer has already mentioned. */
  readonly told: Set<string>;
}

function callWords({ tool, input, result }: AnsweredCall, saying: Saying): string {
  const { noun } = toolSubject(result.name);
  const thing = spokenThing(noun, tool);
  if (result.status !== "ok" && result.status !== "partial") return failureWords(result, tool, saying.random);
  const value = outputOf(result);
  if (value === null && answersNothing(tool)) return doneWords(saying);
  if (isNothing(value)) return nothingWords(thing, saying.random);
  if (!isJsonObject(value) && !isJsonArray(value)) return plainWords(value, thing, saying.random);
  if (isJsonArray(value)) return listWords(value, thing, saying.random);
  return objectWords(value, { ...saying, thing, name: result.name, input });
}

/** Whether the tool's answers are always empty, such as those with status 204. */
function answersNothing(tool: Tool | undefined): boolean {
  return isJsonObject(tool?.outputSchema) && tool.outputSchema["type"] === "null";
}

/** Returns the noun of a tool; `""` if it is several words run together, such as `getcurrentbyvalue`. */
function spokenThing(noun: string, tool: Tool | undefined): string {
  const last = noun.split("_").at(-1) ?? "";
  if (isSeveralWords(last) && tool?.description.toLowerCase().includes(last) !== true) return "";
  return [...new Set(noun.split("_"))].join(" ");
}

/** Returns the output of a result, else the text of its content; null if it has neither. */
export function outputOf({ output, content }: ToolResult): JsonValue {
  if (output !== undefined) return output;
  const texts = (content ?? []).flatMap((part) => (part.type === "text" ? [part.text] : []));
  return texts.length === 0 ? null : texts.join("\n");
}

function failureWords({ name, error }: ToolResult, tool: AnsweredCall["tool"], random: Random): string {
  const why = sentence(error?.message ?? "");
  const wanted = tool === undefined ? "" : purposeText(purposeOf(tool));
  const isClean = wanted !== "" && wanted.length <= MAX_WANTED && !CLAIM.test(wanted);
  const opening = isClean
    ? oneOf(random, [`I couldn't ${wanted}`, `I was not able to ${wanted}`, `I tried to ${wanted}, but it failed`])
    : oneOf(random, ["That did not work", `The call of ${label(name.slice(name.lastIndexOf(":") + 1))} failed`]);
  return why === "" ? `${opening}.` : `${opening}: ${why}`;
}

function nothingWords(thing: string, random: Random): string {
  return thing === ""
    ? oneOf(random, ["Nothing was found.", "There is nothing.", "I found nothing."])
    : oneOf(random, [`I found no ${plural(thing)}.`, `There are no ${plural(thing)}.`, `No ${plural(thing)} were found.`]);
}

/** Writes a result that is a single value. The input is not repeated, because it is in no result. */
function plainWords(value: JsonValue, thing: string, random: Random): string {
  if (typeof value === "boolean") return value ? "Yes." : "No.";
  const text = excerpt(String(value));
  if (/[.!?]$/u.test(text) && /\s/u.test(text)) return oneOf(random, [text, `It says: ${text}`]);
  return oneOf(random, [
    `The ${thing === "" ? "result" : thing} is ${text}.`,
    `The result is ${text}.`,
    `I get ${text}.`,
    `It is ${text}.`,
    `That gives ${text}.`,
    `It comes to ${text}.`,
    `Here it is: ${text}.`,
  ]);
}

const MAX_SHOWN = 3;

function listWords(items: readonly JsonValue[], thing: string, random: Random): string {
  if (items.length === 0) return nothingWords(thing, random);
  const isPlain = thing !== "" && !/\d|(?:ing|ed)$/u.test(thing) && !UNCOUNTED.test(thing) && thing.split(" ").length <= 3;
  const things = isPlain ? plural(thing) : "results";
  const one = isPlain ? thing : "result";
  const shown = items.slice(0, items.length <= MAX_SHOWN ? items.length : MAX_SHOWN - 1).map(itemWords);
  if (shown.some((words) => words === "")) return `I found ${countWords(items.length, { one, things })}.`;
  if (items.length === 1) return `${oneOf(random, [`I found one ${one}:`, `There is one ${one}:`])} ${shown[0]}.`;
  const opening = oneOf(random, [
    `I found ${items.length} ${things}`,
    `There are ${items.length} ${things}`,
    `Here are ${items.length} ${things}`,
  ]);
  const all = shown.length === items.length;
  return `${opening}${all ? ":" : `. The first ${shown.length === 1 ? "is" : "are"}`} ${separated(shown)}.`;
}

const UNCOUNTED =
  /(?:music|news|weather|information|data|equipment|advice|traffic|history|feedback|content|inventory|metadata|software|media|result)$/u;

function countWords(count: number, { one, things }: { readonly one: string; readonly things: string }): string {
  return count === 1 ? `one ${one}` : `${count} ${things}`;
}

function separated(parts: readonly string[]): string {
  return parts.some((part) => part.includes(",") || part.includes(" and ")) ? parts.join("; ") : joined(parts);
}

/** A field of an object that an answer may mention. */
interface Field {
  readonly name: string;
  readonly value: string | number | boolean;
}

const MAX_ITEM_FIELDS = 3;

/** Writes an item, such as `Aurora Air (flight ID F-12, price 94)`. */
function itemWords(item: JsonValue): string {
  if (item === null) return "";
  if (isJsonArray(item)) return item.every((one) => typeof one !== "object") ? joined(item.slice(0, MAX_SHOWN).map(scalarWords)) : "";
  if (!isJsonObject(item)) return scalarWords(item);
  const fields = fieldsIn(withWholeNames(item));
  const texts = fields.filter(
    ({ name, value }) => typeof value === "string" && value.length <= MAX_HEAD && !isIdName(name) && !NO_HEAD.test(value),
  );
  const head =
    texts.find(({ name }) => isHead(name)) ?? texts.find(({ name }) => !/(?:status|state|url|currency|unit|type)$/u.test(plainName(name)));
  const rest = ranked(fields.filter((field) => field !== head)).slice(0, MAX_ITEM_FIELDS - 1);
  const told = rest.map(({ name, value }) => (typeof value === "boolean" ? flagWords(name, value) : briefWords(name, value, "")));
  if (head === undefined) return told.join(", ");
  return told.length === 0 ? scalarWords(head.value) : `${scalarWords(head.value)} (${told.join(", ")})`;
}

const MAX_HEAD = 80;
/** Matches dates, URLs and numbers, which are not names. */
const NO_HEAD = /^(?:[\d\s:.,+-]+|-?[\d.]+ [A-Z]{3}|\d{4}-\d\d-\d\d.*|https?:.*)$/u;

interface ObjectSaying extends Saying {
  readonly thing: string;
  readonly name: string;
  readonly input: JsonValue;
}

/** Fields that only say that a call succeeded. */
const OF_THE_CALL = new Set("success,ok,status_code,error,errors,request_id,http_status,code".split(","));
const CARRIERS = new Set("data,result,response,item,record,body,payload,object,entity,output,resource".split(","));
const MAX_DEPTH = 4;

function objectWords(output: JsonObject, saying: ObjectSaying): string {
  const { thing, random, name } = saying;
  const [inside, list] = carried(output, thing);
  if (list !== undefined && !(CHANGING.has(toolSubject(name).verb) && Object.hasOwn(output, "status")))
    return listWords(list.items, list.thing, random);
  const fields = fieldsIn(withWholeNames(inside)).filter(({ name: field }) => !OF_THE_CALL.has(plainName(field)));
  if (fields.length === 0) return bareWords(inside, saying);
  const sent = isJsonObject(saying.input) ? new Set(Object.values(saying.input)) : new Set();
  const message = fields.find(
    ({ name: field, value }) => plainName(field) === "message" && typeof value === "string" && /\s/u.test(value) && !sent.has(value),
  );
  const told = newest(
    fields.filter((field) => field !== message),
    saying,
  );
  const [only] = told;
  if (message === undefined && told.length === 1 && only !== undefined && isResult(only)) return plainWords(only.value, "", random);
  const sentences = message === undefined ? [] : [sentence(excerpt(String(message.value)))];
  if (told.length > 0)
    sentences.push(
      fieldSentence(told, { ...saying, all: fields, changes: CHANGING.has(toolSubject(name).verb), hasMessage: message !== undefined }),
    );
  return sentences.join(" ");
}

/** Whether it is the field of a result that has nothing else to mention. */
function isResult({ name, value }: Field): boolean {
  return typeof value !== "boolean" && /^(?:result|answer|value|output)$/u.test(plainName(name));
}

const CHANGING: ReadonlySet<string> = new Set(["create", "update", "remove"]);
const MAX_FIELDS = 5;

/** Returns the most informative fields, without values of the input and fields mentioned before, unless nothing else is left. */
function newest(fields: readonly Field[], { input, told }: ObjectSaying): readonly Field[] {
  const asked = isJsonObject(input)
    ? new Map(Object.entries(input).map(([name, value]) => [plainName(name), value]))
    : new Map<string, JsonValue>();
  const keyOf = ({ name, value }: Field): string => `${plainName(name)} ${value}`;
  const fresh = fields.filter((field) => asked.get(plainName(field.name)) !== field.value && !told.has(keyOf(field)));
  const chosen = ranked(fresh.length > 0 ? fresh : fields).slice(0, MAX_FIELDS);
  for (const field of chosen) told.add(keyOf(field));
  return chosen;
}

/** Returns the nested object that describes the thing, and the array if the output is essentially one. */
function carried(
  output: JsonObject,
  thing: string,
): readonly [JsonObject, { readonly items: readonly JsonValue[]; readonly thing: string } | undefined] {
  let at = output;
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const entries = Object.entries(at);
    const scalars = entries.filter(
      ([name, value]) => typeof value !== "object" && !OF_THE_CALL.has(plainName(name)) && !OF_A_LIST.test(plainName(name)),
    );
    const lists = entries.filter((entry): entry is [string, readonly JsonValue[]] => isJsonArray(entry[1]));
    const list = lists.length === 1 ? lists[0] : undefined;
    if (list !== undefined && scalars.length <= 1) {
      const own = listName(list[0]);
      return [at, { items: list[1], thing: own === "" ? thing : own }];
    }
    const inner = entries.find(([name, value]) => isJsonObject(value) && (CARRIERS.has(plainName(name)) || label(name) === thing));
    const only = entries.length === 1 ? entries[0] : inner;
    if (only === undefined || !isJsonObject(only[1]) || scalars.length > 2) return [at, undefined];
    at = only[1];
  }
  return [at, undefined];
}

const OF_A_LIST =
  /^(?:total|count|page|limit|offset|size|has_more|next.*|per_page|pages|status|message|total_.*|.*_count|num_.*|list_length)$/u;

function listName(name: string): string {
  const words = nameWords(name);
  if (
    /^(?:data|results?|items|records|list|values|entries|objects|rows|hits|matches|elements|content|response|info)$/u.test(words.join("_"))
  )
    return "";
  const all = words.join(" ");
  if (/\d/u.test(all)) return "";
  return all.endsWith("s") && !/(?:ss|us|is|news|series)$/u.test(all) ? singularLast(words) : "";
}

function bareWords(output: JsonObject, { thing, random, isFirst }: ObjectSaying): string {
  const entries = Object.entries(output);
  if (entries.length === 0) return nothingWords(thing, random);
  const ok = entries.find(([name]) => /^(?:success|ok)$/u.test(plainName(name)));
  if (ok?.[1] === false) return "It did not succeed.";
  const nested = entries.flatMap(([name, value]) => {
    const words = isJsonObject(value) ? itemWords(value) : isJsonArray(value) ? listed(value, label(name)) : "";
    return words === "" ? [] : [isJsonArray(value) ? words : `${label(name)}: ${words}`];
  });
  if (nested.length > 0) return sentence(capital(nested.slice(0, MAX_SHOWN).join("; ")));
  const status = entries.find(([name, value]) => typeof value === "string" && /^(?:error|code)$/u.test(plainName(name)));
  if (status?.[1] === "none")
    return sentence(
      oneOf(random, [
        "There was no error",
        `No error with the ${thing === "" ? "request" : thing}`,
        `The ${thing === "" ? "call" : thing} went well`,
      ]),
    );
  if (status !== undefined) return `The ${label(status[0])} is ${scalarWords(status[1] as string)}.`; // it is a string
  return doneWords({ isFirst });
}

function doneWords({ isFirst }: Pick<Saying, "isFirst">): string {
  return isFirst ? "Done." : "That is done, too.";
}

function listed(items: readonly JsonValue[], name: string): string {
  if (items.length === 0) return `no ${name}`;
  const shown = items.slice(0, MAX_SHOWN).map(itemWords);
  if (shown.some((words) => words === "")) return "";
  return items.length <= MAX_SHOWN ? `${name}: ${separated(shown)}` : `${items.length} ${name}, such as ${separated(shown)}`;
}

/** Returns the scalar fields, including those of nested objects, without arrays. */
function fieldsIn(value: JsonObject, depth = 0): readonly Field[] {
  const fields: Field[] = [];
  for (const name of Object.keys(value)) {
    const one = value[name];
    if (one === undefined || one === null || one === "" || isJsonArray(one) || !isSaid(name)) continue;
    if (!isJsonObject(one)) fields.push({ name, value: one });
    else if (depth < 1)
      for (const inner of fieldsIn(one, depth + 1).slice(0, 2)) fields.push({ ...inner, name: `${label(name)} ${inner.name}` });
  }
  return fields;
}

/** Sorts ids, names, states and amounts before other fields, otherwise keeping the order. */
function ranked(fields: readonly Field[]): readonly Field[] {
  if (fields.length < 2) return fields;
  const ranks = fields.map(rankOf);
  const order = [...fields.keys()].sort((one, other) => (ranks[one] ?? 0) - (ranks[other] ?? 0) || one - other);
  return order.flatMap((index) => fields[index] ?? []);
}

function rankOf({ name, value }: Field): number {
  const rank = rankOfName(name);
  if (rank < SAYS_NOTHING) return rank;
  if (typeof value === "string" && value.length > MAX_HEAD) return 5;
  if (rank > SAYS_NOTHING) return rank;
  return typeof value === "number" ? 2 : 3;
}

interface FieldSaying extends ObjectSaying {
  /** All fields of the output, including those not mentioned. */
  readonly all: readonly Field[];
  readonly changes: boolean;
  readonly hasMessage: boolean;
}

/** Writes fields, such as `Done. The booking ID is B-12, the status is confirmed and the price is 94.` */
function fieldSentence(fields: readonly Field[], saying: FieldSaying): string {
  const { random, changes, hasMessage, thing } = saying;
  const [only] = fields;
  if (only !== undefined && fields.length === 1 && plainName(only.name) === "status" && !hasMessage)
    return statusSentence(only.value, saying);
  const flags = fields.filter(({ value }) => typeof value === "boolean");
  const plain = fields.filter(({ value }) => typeof value !== "boolean");
  const isBrief = plain.length > 1 && random.next() < BRIEF;
  const said = plain.map(({ name, value }) => (isBrief ? briefWords(name, value, thing) : clauseWords(name, value, thing)));
  if (plain.length === 0 && flags.length === 1 && only !== undefined && !hasMessage && !changes) return flagAnswer(only, { thing, random });
  const flagged = flags.map(({ name, value }) => flagSentence(name, value === true));
  const all = separated([...said, ...flagged]);
  if (isBrief)
    return sentence(
      changes && !hasMessage
        ? `${oneOf(random, ["Done:", "That is done:", "It is done:"])} ${all}`
        : `${oneOf(random, ["Here is what I found:", "Here you go:", "I found this:"])} ${all}`,
    );
  const words = sentence(capital(all));
  if (!changes || hasMessage) return words;
  return random.next() < BRIEF ? sentence(`${oneOf(random, ["Done:", "That is done:", "All set:"])} ${all}`) : words;
}

/** Writes a status, such as `Order 81405 is cancelled.`, with the name or the id in the result. */
function statusSentence(status: Field["value"], { random, thing, all }: FieldSaying): string {
  const noun = thing === "" ? "request" : thing;
  const id = all.find(({ name, value }) => typeof value !== "boolean" && isIdName(name));
  const head = all.find(({ name, value }) => typeof value === "string" && value.length <= MAX_HEAD && isHead(name));
  const subject =
    id !== undefined ? `${noun} ${String(id.value)}` : head === undefined ? `the ${noun}` : `the ${noun} ${scalarWords(head.value)}`;
  if (typeof status === "boolean" || DONE.test(String(status)))
    return sentence(
      capital(
        status === false ? `${subject} did not work` : oneOf(random, [`${subject} is done`, `done: ${subject}`, `${subject} went through`]),
      ),
    );
  const said = scalarWords(status);
  if (!/(?:ed|ent)$/u.test(said))
    return sentence(capital(oneOf(random, [`the status of ${subject} is ${said}`, `${subject} has the status ${said}`])));
  const words = [
    `${subject} is ${said}`,
    `${subject} has been ${said}`,
    `${subject} is now ${said}`,
    `done: ${subject} is ${said}`,
  ] as const;
  return sentence(capital(oneOf(random, words)));
}

const DONE = /^(?:success|succeeded|ok|done|200)$/iu;

const BRIEF = 0.3;

function isNothing(value: JsonValue): boolean {
  return value === null || value === "" || (isJsonArray(value) && value.length === 0);
}
