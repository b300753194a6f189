/** Writes the assistant's answer, only from fields of results. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../../core/base/json.ts";
import type { Random } from "../../../core/ports.ts";
import type { ToolResult } from "../../../core/result.ts";
import type { Tool } from "../../../core/tool.ts";
import { capitalize } from "../../../core/base/wording.ts";
import { isSeveralWords } from "../../../engine/example/tool-intent.ts";
import { toolSubject } from "../tool-subject.ts";
import { normalizeName, toPlural, toSingular } from "../../../schema/example/name-words.ts";
import type { AnsweredCall, AnsweredTurn } from "../conversation-writer.ts";
import { isIdName } from "../id-names.ts";
import { getPurpose, formatPurpose } from "./tool-purpose.ts";
import {
  formatBrief,
  formatClause,
  excerpt,
  formatFlagAnswer,
  formatFlagClause,
  formatFlag,
  formatScalar,
  endSentence,
} from "./format-field.ts";
import { NEUTRAL_RANK, isTitleName, isMentionable, rankFieldName } from "./field-rank.ts";
import { joinList, label, pickOne } from "./format-value.ts";
import { CLAIM_PATTERN, MAX_MENTIONED_PURPOSE, formatUnfinishedCall, formatUnmadeCalls } from "./format-unmade-calls.ts";
import { mergeRelatedFields } from "./merge-related-fields.ts";
import { CALL_STATUS_FIELDS, unwrapOutput } from "./unwrap-output.ts";

/** Writes one or more sentences for each call of the turn. */
export function formatAnswer({ calls, unmade }: AnsweredTurn, random: Random): string {
  const mentioned = new Set<string>();
  const sentences = calls.map((call, index) => formatCallAnswer(call, { random, isFirst: index === 0, mentioned }));
  if (unmade.length > 0) sentences.push(formatUnmadeCalls(unmade, random));
  return [...new Set(sentences)].join(" ");
}

interface AnswerContext {
  readonly random: Random;
  readonly isFirst: boolean;
  /** Fields that the answer has already mentioned. */
  readonly mentioned: Set<string>;
}

function formatCallAnswer({ tool, input, result }: AnsweredCall, context: AnswerContext): string {
  const { noun } = toolSubject(result.name);
  const thing = nounPhrase(noun, tool);
  if (result.status === "pending") return formatUnfinishedCall(context.random);
  if (result.status !== "ok" && result.status !== "partial") return formatFailure(result, tool, context.random);
  const value = readOutput(result);
  if (value === null && alwaysReturnsNull(tool)) return formatDone(context);
  if (isEmptyOutput(value)) return formatNothingFound(thing, context.random);
  if (!isJsonObject(value) && !isJsonArray(value)) return formatScalarOutput(value, thing, context.random);
  if (isJsonArray(value)) return formatList(value, thing, context.random);
  return formatObject(value, { ...context, thing, name: result.name, input });
}

/** Whether the tool's answers are always empty, such as those with status 204. */
function alwaysReturnsNull(tool: Tool | undefined): boolean {
  return isJsonObject(tool?.outputSchema) && tool.outputSchema["type"] === "null";
}

/** Returns the noun of a tool; `""` if it is several words run together, such as `getcurrentbyvalue`. */
function nounPhrase(noun: string, tool: Tool | undefined): string {
  const last = noun.split("_").at(-1) ?? "";
  if (isSeveralWords(last) && tool?.description.toLowerCase().includes(last) !== true) return "";
  const words = [...new Set(noun.split("_"))];
  return words.filter((word, index) => toSingular(word) !== words[index + 1]).join(" "); // `customers_customer_source`, as in names after paths
}

/** Returns the output of a result, else the text of its content; null if it has neither. */
export function readOutput({ output, content }: ToolResult): JsonValue {
  if (output !== undefined) return output;
  const texts = (content ?? []).flatMap((part) => (part.type === "text" ? [part.text] : []));
  return texts.length === 0 ? null : texts.join("\n");
}

function formatFailure({ name, error }: ToolResult, tool: AnsweredCall["tool"], random: Random): string {
  const why = endSentence(error?.message ?? "");
  const wanted = tool === undefined ? "" : formatPurpose(getPurpose(tool));
  const isClean = wanted !== "" && wanted.length <= MAX_MENTIONED_PURPOSE && !CLAIM_PATTERN.test(wanted);
  const opening = isClean
    ? pickOne(random, [`I couldn't ${wanted}`, `I was not able to ${wanted}`, `I tried to ${wanted}, but it failed`])
    : pickOne(random, ["That did not work", `The call of ${label(name.slice(name.lastIndexOf(":") + 1))} failed`]);
  return why === "" ? `${opening}.` : `${opening}: ${why}`;
}

function formatNothingFound(thing: string, random: Random): string {
  return thing === ""
    ? pickOne(random, ["Nothing was found.", "There is nothing.", "I found nothing."])
    : pickOne(random, [`I found no ${toPlural(thing)}.`, `There are no ${toPlural(thing)}.`, `No ${toPlural(thing)} were found.`]);
}

/** Writes a result that is a single value. The input is not repeated, because it is in no result. */
function formatScalarOutput(value: JsonValue, thing: string, random: Random): string {
  if (typeof value === "boolean") return value ? "Yes." : "No.";
  const text = excerpt(String(value));
  if (/[.!?]$/u.test(text) && /\s/u.test(text)) return pickOne(random, [text, `It says: ${text}`]);
  return pickOne(random, [
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

function formatList(items: readonly JsonValue[], thing: string, random: Random): string {
  if (items.length === 0) return formatNothingFound(thing, random);
  const isPlain = thing !== "" && !/\d|(?:ing|ed)$/u.test(thing) && !UNCOUNTABLE.test(thing) && thing.split(" ").length <= 3;
  const things = isPlain ? toPlural(thing) : "results";
  const one = isPlain ? thing : "result";
  const shown = items.slice(0, items.length <= MAX_SHOWN ? items.length : MAX_SHOWN - 1).map(formatItem);
  if (shown.some((words) => words === "")) return `I found ${formatCount(items.length, { one, things })}.`;
  if (items.length === 1) return `${pickOne(random, [`I found one ${one}:`, `There is one ${one}:`])} ${shown[0]}.`;
  const opening = pickOne(random, [
    `I found ${items.length} ${things}`,
    `There are ${items.length} ${things}`,
    `Here are ${items.length} ${things}`,
  ]);
  const all = shown.length === items.length;
  return `${opening}${all ? ":" : `. The first ${shown.length === 1 ? "is" : "are"}`} ${joinParts(shown)}.`;
}

const UNCOUNTABLE =
  /(?:music|news|weather|information|data|equipment|advice|traffic|history|feedback|content|inventory|metadata|software|media|result)$/u;

function formatCount(count: number, { one, things }: { readonly one: string; readonly things: string }): string {
  return count === 1 ? `one ${one}` : `${count} ${things}`;
}

function joinParts(parts: readonly string[]): string {
  return parts.some((part) => part.includes(",") || part.includes(" and ")) ? parts.join("; ") : joinList(parts);
}

/** A field of an object that an answer may mention. */
interface Field {
  readonly name: string;
  readonly value: string | number | boolean;
}

const MAX_ITEM_FIELDS = 3;

/** Writes an item, such as `Aurora Air (flight ID F-12, price 94)`. */
function formatItem(item: JsonValue): string {
  if (item === null) return "";
  if (isJsonArray(item)) return item.every((one) => typeof one !== "object") ? joinList(item.slice(0, MAX_SHOWN).map(formatScalar)) : "";
  if (!isJsonObject(item)) return formatScalar(item);
  const fields = collectFields(mergeRelatedFields(item));
  const texts = fields.filter(
    ({ name, value }) => typeof value === "string" && value.length <= MAX_TITLE_CHARS && !isIdName(name) && !NOT_A_TITLE.test(value),
  );
  const head =
    texts.find(({ name }) => isTitleName(name)) ??
    texts.find(({ name }) => !/(?:status|state|url|currency|unit|type)$/u.test(normalizeName(name)));
  const rest = sortByRank(fields.filter((field) => field !== head)).slice(0, MAX_ITEM_FIELDS - 1);
  const details = rest.map(({ name, value }) => (typeof value === "boolean" ? formatFlag(name, value) : formatBrief(name, value, "")));
  if (head === undefined) return details.join(", ");
  return details.length === 0 ? formatScalar(head.value) : `${formatScalar(head.value)} (${details.join(", ")})`;
}

const MAX_TITLE_CHARS = 80;
/** Matches dates, URLs and numbers, which are not names. */
const NOT_A_TITLE = /^(?:[\d\s:.,+-]+|-?[\d.]+ [A-Z]{3}|\d{4}-\d\d-\d\d.*|https?:.*)$/u;

interface ObjectContext extends AnswerContext {
  readonly thing: string;
  readonly name: string;
  readonly input: JsonValue;
}

function formatObject(output: JsonObject, context: ObjectContext): string {
  const { thing, random, name } = context;
  const [inside, list] = unwrapOutput(output, thing);
  if (list !== undefined && !(CHANGING_VERBS.has(toolSubject(name).verb) && Object.hasOwn(output, "status")))
    return formatList(list.items, list.thing, random);
  const fields = collectFields(mergeRelatedFields(inside)).filter(({ name: field }) => !CALL_STATUS_FIELDS.has(normalizeName(field)));
  if (fields.length === 0) return formatStatusOnly(inside, context);
  const sent = isJsonObject(context.input) ? new Set(Object.values(context.input)) : new Set();
  const message = fields.find(
    ({ name: field, value }) => normalizeName(field) === "message" && typeof value === "string" && /\s/u.test(value) && !sent.has(value),
  );
  const chosen = chooseFields(
    fields.filter((field) => field !== message),
    context,
  );
  const [only] = chosen;
  if (message === undefined && chosen.length === 1 && only !== undefined && isBareResult(only))
    return formatScalarOutput(only.value, "", random);
  const sentences = message === undefined ? [] : [endSentence(excerpt(String(message.value)))];
  if (chosen.length > 0)
    sentences.push(
      formatFields(chosen, {
        ...context,
        all: fields,
        changes: CHANGING_VERBS.has(toolSubject(name).verb),
        hasMessage: message !== undefined,
      }),
    );
  return sentences.join(" ");
}

/** Whether it is the field of a result that has nothing else to mention. */
function isBareResult({ name, value }: Field): boolean {
  return typeof value !== "boolean" && /^(?:result|answer|value|output)$/u.test(normalizeName(name));
}

const CHANGING_VERBS: ReadonlySet<string> = new Set(["create", "update", "remove"]);
const MAX_FIELDS = 5;

/** Returns the most informative fields, without values of the input and fields mentioned before, unless nothing else is left. */
function chooseFields(fields: readonly Field[], { input, mentioned }: ObjectContext): readonly Field[] {
  const inputValues = isJsonObject(input)
    ? new Map(Object.entries(input).map(([name, value]) => [normalizeName(name), value]))
    : new Map<string, JsonValue>();
  const keyOf = ({ name, value }: Field): string => `${normalizeName(name)} ${value}`;
  const fresh = fields.filter((field) => inputValues.get(normalizeName(field.name)) !== field.value && !mentioned.has(keyOf(field)));
  const chosen = sortByRank(fresh.length > 0 ? fresh : fields).slice(0, MAX_FIELDS);
  for (const field of chosen) mentioned.add(keyOf(field));
  return chosen;
}

function formatStatusOnly(output: JsonObject, { thing, random, isFirst }: ObjectContext): string {
  const entries = Object.entries(output);
  if (entries.length === 0) return formatNothingFound(thing, random);
  const ok = entries.find(([name]) => /^(?:success|ok)$/u.test(normalizeName(name)));
  if (ok?.[1] === false) return "It did not succeed.";
  const nested = entries.flatMap(([name, value]) => {
    const words = isJsonObject(value) ? formatItem(value) : isJsonArray(value) ? formatNestedList(value, label(name)) : "";
    return words === "" ? [] : [isJsonArray(value) ? words : `${label(name)}: ${words}`];
  });
  if (nested.length > 0) return endSentence(capitalize(nested.slice(0, MAX_SHOWN).join("; ")));
  const status = entries.find(([name, value]) => typeof value === "string" && /^(?:error|code)$/u.test(normalizeName(name)));
  if (status?.[1] === "none")
    return endSentence(
      pickOne(random, [
        "There was no error",
        `No error with the ${thing === "" ? "request" : thing}`,
        `The ${thing === "" ? "call" : thing} went well`,
      ]),
    );
  if (status !== undefined) return `The ${label(status[0])} is ${formatScalar(status[1] as string)}.`; // it is a string
  return formatDone({ isFirst });
}

function formatDone({ isFirst }: Pick<AnswerContext, "isFirst">): string {
  return isFirst ? "Done." : "That is done, too.";
}

function formatNestedList(items: readonly JsonValue[], name: string): string {
  if (items.length === 0) return `no ${name}`;
  const shown = items.slice(0, MAX_SHOWN).map(formatItem);
  if (shown.some((words) => words === "")) return "";
  return items.length <= MAX_SHOWN ? `${name}: ${joinParts(shown)}` : `${items.length} ${name}, such as ${joinParts(shown)}`;
}

/** Returns the scalar fields, including those of nested objects, without arrays. */
function collectFields(value: JsonObject, depth = 0): readonly Field[] {
  const fields: Field[] = [];
  for (const name of Object.keys(value)) {
    const one = value[name];
    if (one === undefined || one === null || one === "" || isJsonArray(one) || !isMentionable(name)) continue;
    if (!isJsonObject(one)) fields.push({ name, value: one });
    else if (depth < 1)
      for (const inner of collectFields(one, depth + 1).slice(0, 2)) fields.push({ ...inner, name: `${label(name)} ${inner.name}` });
  }
  return fields;
}

/** Sorts ids, names, states and amounts before other fields, otherwise keeping the order. */
function sortByRank(fields: readonly Field[]): readonly Field[] {
  if (fields.length < 2) return fields;
  const ranks = fields.map(rankField);
  const order = [...fields.keys()].sort((one, other) => (ranks[one] ?? 0) - (ranks[other] ?? 0) || one - other);
  return order.flatMap((index) => fields[index] ?? []);
}

function rankField({ name, value }: Field): number {
  const rank = rankFieldName(name);
  if (rank < NEUTRAL_RANK) return rank;
  if (typeof value === "string" && value.length > MAX_TITLE_CHARS) return 5;
  if (rank > NEUTRAL_RANK) return rank;
  return typeof value === "number" ? 2 : 3;
}

interface FieldContext extends ObjectContext {
  /** All fields of the output, including those not mentioned. */
  readonly all: readonly Field[];
  readonly changes: boolean;
  readonly hasMessage: boolean;
}

/** Writes fields, such as `Done. The booking ID is B-12, the status is confirmed and the price is 94.` */
function formatFields(fields: readonly Field[], context: FieldContext): string {
  const { random, changes, hasMessage, thing } = context;
  const [only] = fields;
  if (only !== undefined && fields.length === 1 && normalizeName(only.name) === "status" && !hasMessage)
    return formatStatus(only.value, context);
  const flags = fields.filter(({ value }) => typeof value === "boolean");
  const plain = fields.filter(({ value }) => typeof value !== "boolean");
  const isBrief = plain.length > 1 && random.next() < BRIEF_PROBABILITY;
  const clauses = plain.map(({ name, value }) => (isBrief ? formatBrief(name, value, thing) : formatClause(name, value, thing)));
  if (plain.length === 0 && flags.length === 1 && only !== undefined && !hasMessage && !changes)
    return formatFlagAnswer(only, { thing, random });
  const flagged = flags.map(({ name, value }) => formatFlagClause(name, value === true));
  const all = joinParts([...clauses, ...flagged]);
  if (isBrief)
    return endSentence(
      changes && !hasMessage
        ? `${pickOne(random, ["Done:", "That is done:", "It is done:"])} ${all}`
        : `${pickOne(random, ["Here is what I found:", "Here you go:", "I found this:"])} ${all}`,
    );
  const words = endSentence(capitalize(all));
  if (!changes || hasMessage) return words;
  return random.next() < BRIEF_PROBABILITY ? endSentence(`${pickOne(random, ["Done:", "That is done:", "All set:"])} ${all}`) : words;
}

/** Writes a status, such as `Order 81405 is cancelled.`, with the name or the id in the result. */
function formatStatus(status: Field["value"], { random, thing, all }: FieldContext): string {
  const noun = thing === "" ? "request" : thing;
  const id = all.find(({ name, value }) => typeof value !== "boolean" && isIdName(name));
  const head = all.find(({ name, value }) => typeof value === "string" && value.length <= MAX_TITLE_CHARS && isTitleName(name));
  const subject =
    id !== undefined ? `${noun} ${String(id.value)}` : head === undefined ? `the ${noun}` : `the ${noun} ${formatScalar(head.value)}`;
  if (typeof status === "boolean" || DONE_STATUS.test(String(status)))
    return endSentence(
      capitalize(
        status === false
          ? `${subject} did not work`
          : pickOne(random, [`${subject} is done`, `done: ${subject}`, `${subject} went through`]),
      ),
    );
  const statusText = formatScalar(status);
  if (!/(?:ed|ent)$/u.test(statusText))
    return endSentence(
      capitalize(pickOne(random, [`the status of ${subject} is ${statusText}`, `${subject} has the status ${statusText}`])),
    );
  const words = [
    `${subject} is ${statusText}`,
    `${subject} has been ${statusText}`,
    `${subject} is now ${statusText}`,
    `done: ${subject} is ${statusText}`,
  ] as const;
  return endSentence(capitalize(pickOne(random, words)));
}

const DONE_STATUS = /^(?:success|succeeded|ok|done|200)$/iu;

const BRIEF_PROBABILITY = 0.3;

function isEmptyOutput(value: JsonValue): boolean {
  return value === null || value === "" || (isJsonArray(value) && value.length === 0);
}
