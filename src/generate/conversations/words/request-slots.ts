/** Writes the values of a call as parts of a request: `from Oslo`, `on 3 December 2025`, `for order O-12`. */
import type { JsonValue } from "../../../core/base/json.ts";
import { memoize } from "../../../core/base/memoize.ts";
import type { Random } from "../../../core/ports.ts";
import { normalizeName, toSingular } from "../../../schema/example/name-words.ts";
import { MONTHS } from "../../../schema/example/words.ts";
import type { TakenValue } from "../conversation-writer.ts";
import { idNoun, isIdName } from "../id-names.ts";
import { splitUnit } from "./format-field.ts";
import { formatChoice, isProse, label, quoteText, formatDay, formatValue } from "./format-value.ts";

/** One value of a call. */
export interface Slot {
  /** The name of the property. */
  readonly name: string;
  /** The noun that the purpose may have for it: `order` for `order_id`. */
  readonly noun: string;
  /** The words that replace the noun: `order O-12`, `Oslo`, `that booking`; undefined if the noun cannot be replaced. */
  readonly inPlace: string | undefined;
  /** The words that are added at the end otherwise. */
  readonly added: string;
  readonly kind: SlotKind;
  /** The value by itself: `201.59`, `EUR`. */
  readonly bare: string;
}

/** The kinds of slots, in the order in which they are added; those of the kind `with` are joined. */
export const SLOT_KINDS = ["thing", "from", "to", "in", "about", "when", "until", "with", "flag", "how"] as const;
export type SlotKind = (typeof SLOT_KINDS)[number];

interface Wording {
  readonly kind: SlotKind;
  readonly pattern: RegExp;
  /** The words, in which `_` is the value. */
  readonly words: string;
}

const TEXT_WORDINGS: readonly Wording[] = [
  wording(
    "from",
    "(?:start|begin|from|since|after)(?:_date|_day|_time|_datetime)?|date_from|time_min|.*_(?:start|from)_date|starts?_at",
    "from _",
  ),
  wording("until", "(?:end|to|until|before)_(?:date|day|time|datetime)|end|until|before|date_to|time_max|ends?_at", "until _"),
  wording("from", "origin|source|src|departure|(?:origin|departure|source|from)_\\w+|\\w+_from", "from _"),
  wording("to", "to|destination|dest|target|arrival|(?:destination|arrival|target|to)_\\w+|\\w+_to|recipient|receiver", "to _"),
  wording("in", "city|town|location|place|country|state|region|city_name|country_name|area|neighbou?rhood", "in _"),
  wording("in", "address|street_address|venue", "at _"),
  wording("about", "query|q|search|keywords?|search_term|search_query|term|search_text|phrase", "matching _"),
  wording("how", "units?|unit_system|measurement_units?", "in _ units"),
  wording("when", "date|day|on|travel_dates?|departure_date|appointment_date|meeting_date|booking_date|event_date", "on _"),
  wording("when", "time|at|hour|start_time", "at _"),
  wording("when", "year", "for the year _"),
  wording("when", "month", "for the month _"),
  wording("how", "sort|sort_by|order_by|sorting", "sorted by _"),
  wording("how", "(?:output_)?format|response_format", "in the format _"),
  wording("about", "name|full_name", "named _"),
  wording("about", "title", "titled _"),
];
const NUMBER_WORDINGS: readonly Wording[] = [
  wording("when", "year", "for _"),
  wording("when", "month", "for _"),
  wording(
    "how",
    "limit|limite|count|max_results|page_size|per_?page|(?:hits|items|results)_?per_?page|top|top_k|top_n|num|num_results|max_items|max|size",
    "with at most _ results",
  ),
  wording("how", "page|page_number|page_no|page_num|pageno|pagenum", "on page _"),
  wording("how", "offset|skip|start_index", "leaving out the first _"),
  wording("when", "days|num_days", "for _ days"),
  wording("about", "nights", "for _ nights"),
  wording("when", "years|term_years|loan_term", "over _ years"),
  wording("when", "months|term_months", "over _ months"),
  wording("about", "guests|adults|people|passengers|party_size|persons|group_size|number_of_people", "for _ people"),
];
const SINGULARS: ReadonlyMap<string, string> = new Map([
  ["people", "person"],
  ["days", "day"],
  ["nights", "night"],
  ["years", "year"],
  ["months", "month"],
  ["results", "result"],
]);
const SHORT_CODE = /^[a-z]{2,3}$/u;

function wording(kind: SlotKind, names: string, words: string): Wording {
  return { kind, pattern: new RegExp(`^(?:${names})$`, "u"), words };
}

/** How values with one name are written. */
interface NameWordings {
  readonly ofNumber: Wording | undefined;
  readonly ofText: Wording | undefined;
  /** The thing that a name belongs to: `hotel` for `hotel_name`. */
  readonly owner: string | undefined;
}

const getWordings = memoize((plain): NameWordings => {
  const owner = /^(.+)_name$/u.exec(plain)?.[1];
  const isPlainName = owner === undefined || /^(?:first|last|user|full|given|family|middle|display|file|host|domain)$/u.test(owner);
  return {
    ofNumber: NUMBER_WORDINGS.find(({ pattern }) => pattern.test(plain)),
    ofText: TEXT_WORDINGS.find(({ pattern }) => pattern.test(plain)),
    owner: isPlainName ? undefined : owner,
  };
});

/** Names of the most results of a tool that reads; a tool that orders or changes a thing takes another number by them. */
const LIMITS_OF_LISTS = /^(?:count|top|num|max|size)$/u;

/** Returns the slot of a value that the user states. */
export function createGivenSlot(name: string, value: JsonValue, context: SlotContext): Slot {
  const { toolNoun, spokenDays } = context;
  const plain = normalizeName(name);
  if (typeof value === "boolean") return createFlagSlot(name, value);
  const isId = isIdName(name);
  if (isId) return createIdSlot(name, formatValue(value), toolNoun);
  const wordings = getWordings(plain);
  const isNumber = typeof value === "number" || (typeof value === "string" && /^\d{1,4}$/u.test(value));
  const found = isNumber && (context.readsThings || !LIMITS_OF_LISTS.test(plain)) ? wordings.ofNumber : undefined;
  const [unitless, amount] = typeof value === "number" && found === undefined ? splitUnit(name, value) : [name, ""];
  const bare =
    plain === "month" && typeof value === "number" ? monthName(value) : amount === "" ? formatPlainValue(value, spokenDays, plain) : amount;
  const worded = found ?? (typeof value === "string" ? textWording(wordings.ofText, value) : undefined);
  const noun = context.findLabel?.(name) ?? label(unitless);
  const isScalar = typeof value === "string" || typeof value === "number";
  const inPlace = isScalar ? (bare.startsWith('"') ? `the ${noun} ${bare}` : bare) : undefined;
  if (worded !== undefined) return { name, noun, inPlace, bare, kind: worded.kind, added: fillWording(worded.words, bare) };
  const { owner } = wordings;
  if (owner !== undefined && typeof value === "string") {
    const phrase = bare.toLowerCase().includes(label(owner)) ? bare : `${label(owner)} ${bare}`;
    return { name, noun: label(owner), inPlace: phrase, bare, kind: "about", added: `for ${phrase}` };
  }
  return { name, noun, inPlace, bare, kind: "with", added: `the ${noun} ${bare}` };
}

/** Returns the wording for a text. Lowercase codes of two or three letters are not written like places, and only some unit systems have names. */
function textWording(found: Wording | undefined, value: string): Wording | undefined {
  if (found?.kind === "in" && SHORT_CODE.test(value)) return undefined;
  return found?.words === "in _ units" && !/^(?:metric|imperial|standard|us|si)$/iu.test(value) ? undefined : found;
}

/** Fills in the value, with a singular noun after 1: `for 1 night`. */
function fillWording(words: string, bare: string): string {
  const phrase = words.replace("_", () => bare);
  return bare === "1" ? phrase.replace(/(?<=\b1 )\p{L}+/u, (word) => SINGULARS.get(word) ?? word) : phrase;
}

function monthName(value: JsonValue): string {
  return MONTHS[Number(value) - 1] ?? String(value);
}

/** Returns the slot of a value from a result. */
export function createTakenSlot(name: string, { noun, ofList, isId, value }: TakenValue, context: SlotContext): Slot {
  const { toolNoun, random } = context;
  const thing = noun === "" ? "result" : noun.replaceAll("_", " ");
  if (!isId && value !== undefined) return createGivenSlot(name, value, context);
  if (!isId) return { name, noun: label(name), inPlace: `that ${label(name)}`, bare: "", kind: "with", added: `the same ${label(name)}` };
  const phrase = ofList ? `the first ${thing}` : `that ${thing}`;
  const words = value === undefined || random.next() < NOUN_PROBABILITY ? phrase : withNoun(thing, formatValue(value));
  const direction = findDirection(name);
  return {
    name,
    noun: nounOf(name, toolNoun),
    inPlace: words,
    bare: words,
    kind: direction ?? "thing",
    added: `${direction ?? "for"} ${words}`,
  };
}

const NOUN_PROBABILITY = 0.6;

/** Returns `order 12`; only the id if it contains the noun, such as `order_12`. */
function withNoun(noun: string, id: string): string {
  const last = noun.slice(noun.lastIndexOf(" ") + 1).toLowerCase();
  return last !== "" && id.toLowerCase().startsWith(last) ? id : `${noun} ${id}`;
}

const DIRECTIONS: readonly (readonly [RegExp, "from" | "to"])[] = [
  [/^(?:from|source|origin|sender)_/u, "from"],
  [/^(?:to|target|destination|dest|recipient|receiver)_/u, "to"],
];

/** Returns whether an id is where something comes from or goes to; undefined if neither. */
function findDirection(name: string): "from" | "to" | undefined {
  return DIRECTIONS.find(([pattern]) => pattern.test(normalizeName(name)))?.[1];
}

export interface SlotContext {
  /** The subject of the tool: `order`. */
  readonly toolNoun: string;
  /** Whether the tool reads, so that it may return several results. */
  readonly readsThings: boolean;
  /** Returns the label of an input whose name is not a word. */
  readonly findLabel?: (name: string) => string | undefined;
  readonly random: Random;
  /** Whether dates are written out: `3 December 2025`. */
  readonly spokenDays: boolean;
}

function createIdSlot(name: string, bare: string, toolNoun: string): Slot {
  const noun = nounOf(name, toolNoun);
  const isBareId = noun === "" || noun === label(name);
  const words = isBareId ? `${label(name)} ${bare}` : withNoun(noun, bare);
  const phrase = bare.includes(" ") || noun === "" ? `the ${label(name)} ${bare}` : words;
  return {
    name,
    noun,
    inPlace: phrase,
    bare,
    kind: isBareId ? "with" : (findDirection(name) ?? "thing"),
    added: isBareId ? `the ${label(name)} ${bare}` : `${findDirection(name) ?? "for"} ${phrase}`,
  };
}

/** Returns `order` for `order_id`, and the tool's noun for `id`. */
function nounOf(name: string, toolNoun: string): string {
  const own = idNoun(name).replace(/^(?:from|to|source|target|destination|origin)_(?=.)/u, "");
  return (own === "" ? toolNoun : own).replaceAll("_", " ");
}

function createFlagSlot(name: string, value: boolean): Slot {
  const words = normalizeName(name).replace(/^(?:is|has|with|include|enable|show|use|want|wants|allow)_/u, "");
  const phrase = label(words);
  const only = /^(.+) only$/u.exec(phrase)?.[1];
  if (only !== undefined)
    return { name, noun: "", inPlace: undefined, bare: phrase, kind: "flag", added: value ? `(${only} only)` : `(not only ${only})` };
  const added =
    phrase.length <= 3 || phrase === "" ? `with "${phrase}" ${value ? "on" : "off"}` : value ? `with ${phrase}` : `without ${phrase}`;
  return { name, noun: "", inPlace: undefined, bare: phrase, kind: "flag", added };
}

const TITLES = /^(?:title|subject|headline|heading|caption|topic|summary)$/u;

function formatPlainValue(value: JsonValue, spokenDays: boolean, plain: string): string {
  if (typeof value !== "string") return formatValue(value);
  if (TITLES.test(plain) && /\s/u.test(value)) return quoteText(value);
  const day = spokenDays ? formatDay(value) : undefined;
  if (day !== undefined) return day;
  return isProse(value) ? quoteText(value) : formatValue(formatChoice(value));
}

/** Replaces nouns of the purpose by slots; returns the other slots, in order, to be added. @param labels of all inputs, with or without a value */
export function fillPurpose(
  rest: string,
  slots: readonly Slot[],
  labels: readonly string[],
): { readonly text: string; readonly left: readonly Slot[] } {
  let text = omitIdMentions(rest, slots);
  const left: Slot[] = [];
  for (const slot of slots) {
    const filled =
      slot.inPlace === undefined || slot.noun === "" ? undefined : replaceNoun(text, { noun: slot.noun, words: slot.inPlace, labels });
    if (filled === undefined) left.push(slot);
    else text = filled;
  }
  return { text: text.replaceAll(/\b(an?|the) (?:given|specified|provided) /giu, "$1 "), left };
}

const ADJECTIVES = "(?:(?:given|specified|specific|particular|certain|single|desired|provided|new|existing) )?";
const ENDS = "(?=$|[,;]| (?:and|or|by|in|on|from|to|with|for|at|up|via|into|between|is|are|has)\\b)";
const patterns = new Map<string, RegExp>();
const MAX_PATTERNS = 2_000;

/** Replaces a noun with its article, if no word that belongs to it follows. */
function replaceNoun(
  text: string,
  { noun, words, labels }: { readonly noun: string; readonly words: string; readonly labels: readonly string[] },
): string | undefined {
  const word = toSingular(noun);
  if (text.includes('"') || !text.toLowerCase().includes(word.toLowerCase())) return undefined;
  let pattern = patterns.get(noun);
  if (pattern === undefined) {
    const name = word.replaceAll(/[^\p{L}\p{N} ]/gu, ".");
    pattern = new RegExp(
      `(?<![\\w"'])(?:(?:an?|the|one|any|some|each|this|my|your) ${ADJECTIVES}|(?:given|specified|provided) )${name}(?: (?:ID|name|code|number))?${ENDS}`,
      "iu",
    );
    if (patterns.size >= MAX_PATTERNS) patterns.clear();
    patterns.set(noun, pattern);
  }
  const found = pattern.exec(text);
  if (found === null) return undefined;
  const [, next = ""] = /^ (?:and|or) (?:(?:an?|the|optional|optionally) )*(.*)$/isu.exec(text.slice(found.index + found[0].length)) ?? [];
  // a latitude and a longitude belong together
  if (next !== "" && labels.some((one) => next.toLowerCase().startsWith(one.toLowerCase()))) return undefined;
  return text.replace(pattern, () => words);
}

const BY_ID =
  / (?:by|using|with|via|from|for|given|based on) (?:(?:its|their|his|her|the|an?|given|specified|provided|unique|specific) )*(?:\p{L}+ ){0,2}(?:ID|IDs|id|ids|uuid|UUID|identifier|number|code)$/u;

/** Simplifies references to ids whose values follow: `an order by its ID` becomes the order, and `a user's posts` the posts. */
function omitIdMentions(text: string, slots: readonly Slot[]): string {
  const things = slots.filter(({ kind, name }) => kind === "thing" || isIdName(name));
  let result = things.length === 0 ? text : text.replace(BY_ID, "");
  for (const { noun } of things) {
    if (noun === "" || !result.toLowerCase().includes(`${noun}'s`)) continue;
    const owner = new RegExp(`\\b(?:an?|the) ${ADJECTIVES}${noun.replaceAll(/[^\p{L}\p{N} ]/gu, ".")}'s `, "iu");
    result = result.replace(owner, "the ");
  }
  return result;
}
