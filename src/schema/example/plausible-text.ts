/** Generates strings by a property's name and description, and by the topic of the tool. */
import { formatDate } from "./date-mask.ts";
import type { ParsedDescription } from "./parsed-description.ts";
import type { Literal } from "./described-literals.ts";
import { TEXT_KINDS, freeText } from "./free-text.ts";
import { nameWords, normalizeName, toSingular } from "./name-words.ts";
import { isIntegerByName, plausibleNumber } from "./plausible-number.ts";
import type { RandomStream } from "./random-stream.ts";
import { findFieldTextMaker, findFileTextMaker } from "./field-texts.ts";
import { type NamedMaker, type TextMaker, createIdMaker, findMaker, makeThing, unixTime } from "./text-makers.ts";
import { type Topic, findTopic } from "./topics.ts";
import { CURRENCIES, SETTINGS } from "./words.ts";
import { makerLikeExample, similarId, randomMoment } from "./word-sets.ts";

export interface TextNames {
  readonly name: string;
  readonly description: string;
  readonly parsedDescription: ParsedDescription;
  /** The topic of the tool. */
  readonly topic: Topic | undefined;
}

const CURRENCY_SIDE = /^(?:base|quote|from|to|source|target|symbols?|counter)$/iu;
const MAX_KEPT = 20_000;
const MAX_DESCRIPTION = 1_000;
const makerCache = new Map<string, { readonly make: TextMaker; readonly topic: Topic | undefined }>();

/** Returns a string for a property of this name; never empty. */
export function plausibleText(names: TextNames, random: RandomStream): string {
  const { name, description, topic } = names;
  const key = `${name}\n${description}`;
  let known = makerCache.get(key);
  if (known === undefined) {
    const own = findTopic(name) ?? findTopic(names.parsedDescription.noun);
    known = { make: createMaker(names), topic: own };
    if (makerCache.size >= MAX_KEPT) makerCache.clear();
    if (key.length < MAX_DESCRIPTION) makerCache.set(key, known);
  }
  const isSide = topic?.noun === "currency" && CURRENCY_SIDE.test(names.name) && names.parsedDescription.mask === undefined;
  if (isSide && !/date|time/u.test(names.parsedDescription.noun)) return random.pick(CURRENCIES);
  // `article` in a shop does not mean that of a newspaper
  const isOfTool = topic?.words.includes(name) === true;
  return known.make(random, isOfTool ? topic : (known.topic ?? topic));
}

function createMaker(names: TextNames): TextMaker {
  const one = createSingleMaker(names);
  const { separator } = names.parsedDescription;
  if (separator === undefined || names.parsedDescription.examples.some(({ text }) => text.includes(separator))) return one;
  return (random, topic) => {
    const count = random.integer(1, 3);
    const texts = new Set(Array.from({ length: count }, (_, index) => one(random.branch(index), topic)));
    return [...texts].join(separator);
  };
}

function createSingleMaker(names: TextNames): TextMaker {
  const { parsedDescription } = names;
  const joined = nameWords(names.name).join("_");
  const { mask, examples, defaultValue, choices } = parsedDescription;
  if (parsedDescription.separator !== undefined && choices.length > 1) return (random) => random.pick(choices).text;
  if (mask !== undefined)
    return /birth|dob/u.test(joined)
      ? (random) => formatDate(mask, randomBirthDate(random))
      : (random) => formatDate(mask, randomMoment(random));
  if (parsedDescription.unit === "unix") return unixTime;
  const named = findNamedMaker(joined, parsedDescription.noun);
  const isDescribedAsId = /(?:^|_)(?:ids?|identifier)$/u.test(parsedDescription.noun);
  const isId = isDescribedAsId || /(?:^|_)(?:ids?|identifiers?|asin|key|uid|mid)$/u.test(joined);
  if (parsedDescription.type === "boolean" || (isFlagName(names.name) && examples.length === 0 && parsedDescription.noun === ""))
    return flagTextMaker(defaultValue);
  if (examples.length > 0) return makerFromExamples(examples, { joined, named, isId });
  const counted = isId ? undefined : numberTextMaker(names, named);
  if (counted !== undefined) return counted;
  const kind = defaultValue === undefined ? undefined : makerLikeExample(defaultValue.text, joined);
  const free = FORM.test(parsedDescription.noun) ? undefined : findFreeTextMaker(joined, parsedDescription.noun, named);
  const file = defaultValue === undefined ? findFileTextMaker(joined, names.description) : undefined;
  if (file !== undefined && !isDescribedAsId) return file;
  const field =
    defaultValue === undefined
      ? (findFieldTextMaker(joined) ?? (named === undefined ? findFieldTextMaker(parsedDescription.noun) : undefined))
      : undefined;
  if (field !== undefined && !isDescribedAsId) return field;
  if (kind !== undefined && free === undefined) return kind;
  if (isDescribedAsId || (isId && (named === undefined || named.certainty === "weak")))
    return defaultValue === undefined
      ? createIdMaker(idOwner(joined, parsedDescription.noun))
      : (random) => similarId(defaultValue.text, random);
  if (free !== undefined && named?.certainty !== "open") return free;
  if (defaultValue !== undefined && (named === undefined || named.certainty !== "open")) return () => defaultValue.text;
  return named?.make ?? fallbackMaker(joined, parsedDescription.noun);
}

const FLAG_TEXTS: readonly (readonly [string, string])[] = [
  ["true", "false"],
  ["True", "False"],
  ["1", "0"],
  ["yes", "no"],
  ["on", "off"],
];

/** Whether a name is that of a flag, such as `has_garden` or `includeDeleted`. */
export function isFlagName(name: string): boolean {
  return /^(?:has|include|includes|exclude|show|hide|enable|enabled|disable|allow|with|without|only|do|use|is)_(?!id$|by|mode|type|fields?$|domains?$|sources?$)/u.test(
    normalizeName(name),
  );
}

function flagTextMaker(fallback: Literal | undefined): TextMaker {
  const pair = FLAG_TEXTS.find((one) => one.some((text) => text === fallback?.text)) ?? FLAG_TEXTS[0];
  return (random) => random.pick(pair ?? []);
}

/** Returns a maker of numbers as strings, if the description says that the value is a number. */
function numberTextMaker({ name, parsedDescription }: TextNames, named: NamedMaker | undefined): TextMaker | undefined {
  const { defaultValue, type, bounds } = parsedDescription;
  const isDescribedAsNumber = type === "number" || bounds.maximum < Infinity || /^-?\d{1,9}(?:\.\d{1,6})?$/u.test(defaultValue?.text ?? "");
  const isNumber = type === "number" ? named?.certainty !== "open" : named === undefined || named.certainty === "weak";
  if (!isDescribedAsNumber || !isNumber) return undefined;
  const numberBounds = { ...bounds, belowMaximum: false, multiplesOf: [], whole: isIntegerByName({ name, parsedDescription }) };
  return (random) => String(plausibleNumber({ name, parsedDescription }, numberBounds, random) ?? random.integer(1, 9));
}

/** Names for any text, for which the description is more specific. */
const GENERAL = /^(?:text|input|string|content|data|phrase|term|value|words?)$/u;

/** Names that are too vague without their description. */
const VAGUE =
  /^(?:from|to|code|value|values|type|name|number|symbol|symbols|key|start|end|source|target|base|quote|unit|units|input|data|param|parameter|s|t|q|c|d|l|a|b|x|y|n|in|out|at|on|by|item|items|is_\w+|of|iso|abbreviation)$/u;

/** Descriptions with such a noun determine the form of a value, whatever its name: the email address of a `recipient`. */
const FORM =
  /(?:^|_)(?:codes?|e?mail|e?mail_address|user_?name|url|link|uuid|dates?|timestamp|time_?zone|ip_address|phone_number|latitude|longitude|(?:latitude|longitude)_coordinate|abbreviation|symbol|iata)$/u;

/** Names of parts of a person's name: the "first name of the user" is not a user name. */
const PERSONAL = /(?:^|_)(?:first|last|given|family|middle|full|sur|fore)_?name$/u;

/** Returns the maker for a name. The name takes precedence over the description, unless it is vague or the description states the form. */
function findNamedMaker(joined: string, head: string): NamedMaker | undefined {
  const byForm = FORM.test(head) && !PERSONAL.test(joined) ? findMaker(head) : undefined;
  if (byForm !== undefined && byForm.certainty !== "weak") return byForm;
  const byName = findMaker(joined);
  if (byName !== undefined && byName.certainty !== "weak" && !VAGUE.test(joined)) return byName;
  const byHead = head === "" ? undefined : findMaker(head);
  return byHead !== undefined && byHead.certainty !== "weak" ? byHead : (byName ?? byHead);
}

interface ExampleHints {
  readonly joined: string;
  readonly named: NamedMaker | undefined;
  readonly isId: boolean;
}

/** Returns a maker of values of the same kind as the examples if the kind is known, else of the examples themselves. */
function makerFromExamples(examples: readonly Literal[], { joined, named, isId }: ExampleHints): TextMaker {
  const makers = examples.map(({ text }): TextMaker => {
    const kind = makerLikeExample(text, joined);
    if (kind !== undefined) return kind;
    return isId ? (random) => similarId(text, random) : () => text;
  });
  const isOpen = named?.certainty === "open" && examples.every(({ text }) => /[A-Za-z]|\d\s*[+*/]\s*\d/u.test(text));
  return (random, topic) => {
    const make = random.pick(makers);
    return isOpen && random.next() < 0.6 ? named.make(random, topic) : make(random);
  };
}

function findFreeTextMaker(joined: string, head: string, named: NamedMaker | undefined): TextMaker | undefined {
  const byHead = named === undefined || GENERAL.test(joined) ? freeTextMaker(head) : undefined;
  return GENERAL.test(joined) ? (byHead ?? freeTextMaker(joined)) : (freeTextMaker(joined) ?? byHead);
}

function freeTextMaker(joined: string): TextMaker | undefined {
  const found = TEXT_KINDS.find(([pattern]) => pattern.test(joined));
  if (found === undefined) return undefined;
  const [, kind] = found;
  if (kind === "title") return (random, topic) => (topic?.named === "works" ? makeThing(random, topic) : freeText("title", topic, random));
  return (random, topic) => freeText(kind, topic, random);
}

/** Returns a maker of things if the name denotes a thing. */
function fallbackMaker(joined: string, head: string): TextMaker {
  const isNamed = /(?:^|_)names?$/u.test(joined) || /(?:^|_)names?$/u.test(head);
  if (isNamed || findTopic(joined.split("_").at(-1) ?? "") !== undefined) return makeThing;
  return findTopic(head.split("_").at(-1) ?? "") === undefined ? (random) => random.pick(SETTINGS) : makeThing;
}

const NOT_ID_OWNERS = new Set("is,min,max,next,last,first,since,before,after,from,to,minimum,maximum,unique".split(","));

function idOwner(joined: string, head: string): string | undefined {
  const words = joined.split("_");
  const own = words.length > 1 && !NOT_ID_OWNERS.has(words.at(-2) ?? "") ? words.at(-2) : head.split("_").at(-2);
  return own === undefined || own === "" || NOT_ID_OWNERS.has(own) ? undefined : toSingular(own);
}

function randomBirthDate(random: RandomStream): number {
  return Date.UTC(random.integer(1960, 2004), random.integer(0, 11), random.integer(1, 28));
}
