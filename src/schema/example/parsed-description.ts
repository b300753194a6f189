/** Reads a description: choices, examples, the default, bounds, the format of dates, and the noun for the value. */
import { wordSet } from "../../core/base/wording.ts";
import { type DateMask, parseMask, findMask } from "./date-mask.ts";
import { type Literal, findLiterals } from "./described-literals.ts";
import { type DescribedBounds, findBounds } from "./described-numbers.ts";
import { nameWords } from "./name-words.ts";

/** The facts that a description states. */
export interface ParsedDescription {
  /** All allowed values. */
  readonly choices: readonly Literal[];
  readonly examples: readonly Literal[];
  /** The default value. */
  readonly defaultValue: Literal | undefined;
  readonly bounds: DescribedBounds;
  readonly mask: DateMask | undefined;
  /** The separator of several values in one string. */
  readonly separator: string | undefined;
  /** The type of the value, used if the schema has none. */
  readonly type: "boolean" | "number" | "array" | undefined;
  /** The noun that the description begins with, as a name: `currency_code` for "The ISO currency code to convert from"; `""` if there is none. */
  readonly noun: string;
  /** The unit of a number: `celsius`, `minutes`; `""` if there is none. */
  readonly unit: string;
}

/** Maximum number of characters of a description that are read. */
const MAX_LENGTH = 600;
const MAX_KEPT = 20_000;
const descriptionCache = new Map<string, ParsedDescription>();

export function parseDescription(description: string): ParsedDescription {
  const known = descriptionCache.get(description);
  if (known !== undefined) return known;
  const read = parseUncached(description.slice(0, MAX_LENGTH));
  if (descriptionCache.size >= MAX_KEPT) descriptionCache.clear();
  if (description.length <= 4 * MAX_LENGTH) descriptionCache.set(description, read);
  return read;
}

function parseUncached(text: string): ParsedDescription {
  const { choices, examples, defaultValue } = findLiterals(text);
  const form = STATED_FORM.exec(text);
  const noun = form === null ? findNoun(text) : findNoun(text.slice(form.index + form[0].length));
  const separator = findSeparator(text);
  return {
    choices: choices.filter((choice) => findMask(choice.text) === undefined),
    examples,
    defaultValue,
    bounds: findBounds(text),
    mask: findDateMask(text, noun),
    separator,
    type: findType(text, noun),
    noun,
    unit: findUnit(text),
  };
}

const ISO_DATE = /\bISO[- ]?8601\b(?![^.]{0,20}duration)|\bRFC ?3339\b/iu;

function findDateMask(text: string, head: string): DateMask | undefined {
  const shown = findMask(text);
  if (shown !== undefined || !ISO_DATE.test(text)) return shown;
  const isDay = head.endsWith("date") && !/time/iu.test(text);
  return parseMask(isDay ? "YYYY-MM-DD" : "YYYY-MM-DDTHH:MM:SSZ");
}

const SEPARATED =
  /\b(comma|semi-?colon|pipe|space)[- ](?:separated|delimited)\b|\b(?:separated|delimited) (?:by|with) (?:a )?(commas?|semi-?colons?|pipes?|spaces?)\b/iu;

function findSeparator(text: string): string | undefined {
  const found = SEPARATED.exec(text);
  const word = (found?.[1] ?? found?.[2])?.toLowerCase();
  if (word === undefined) return undefined;
  return word.startsWith("comma") ? "," : word.startsWith("semi") ? ";" : word.startsWith("pipe") ? "|" : " ";
}

const FLAG =
  /^(?:(?:an? )?(?:optional )?(?:boolean|flag)\b|(?:specif(?:y|ies)|indicates?|determines?|controls?|defines?|sets?|choose) (?:whether|if)\b|whether\b|when (?:true|set to true)\b|if (?:this is )?(?:true\b|set to (?:true|1))|true (?:to|if|for)|set (?:this )?to (?:true|`true`)|(?:enables?|disables?) )/iu;
const LISTED = /^(?:an? |the )?(?:\w+ )?(?:list|array|collection|sequence) of\b/iu;
const COUNTED =
  /(?:^|_)(?:number|concentration|modifier|decimals|multiplier|factor|elevation|altitude|count|quantity|amount|limit|maximum|minimum|max|min|page|offset|size|price|latitude|longitude|width|height|weight|length|temperature|percentage|radius|distance|age|year|score|rating|rate|index|duration|speed|mass|volume|salary|principal|depth|degrees|integer|population|budget|cost)$/u;
const NOT_COUNTED =
  /(?:^|_)(?:phone|account|card|serial|tracking|flight|license|licence|contact|mobile|vin|registration|sort|min_max)_\w{1,64}$/u;

function findType(text: string, head: string): ParsedDescription["type"] {
  const start = text.trimStart();
  if (FLAG.test(start)) return "boolean";
  if (LISTED.test(start) && findSeparator(text) === undefined) return "array";
  if (/^(?:the |an? )?(?:maximum |minimum |total )?(?:number|count|amount|quantity) of\b/iu.test(start) && !/phone/iu.test(text))
    return "number";
  return COUNTED.test(head) && !NOT_COUNTED.test(head) ? "number" : undefined;
}

const UNITS: readonly (readonly [string, RegExp])[] = [
  ["celsius", /\bcelsius\b|°C/iu],
  ["fahrenheit", /\bfahrenheit\b|°F/iu],
  ["kelvin", /\bkelvins?\b/iu],
  ["milliseconds", /\bin (?:milliseconds|ms)\b|\(ms\)/iu],
  ["unix", /\bunix\b|\bepoch\b/iu],
  ["seconds", /\bin seconds\b|\(seconds\)|\s\(s\)/iu],
  ["minutes", /\bin minutes\b|\(minutes\)|\(min\)/iu],
  ["hours", /\bin hours\b|\(hours\)/iu],
  ["days", /\bin days\b|\(days\)/iu],
  ["years", /\bin years\b|\(years\)/iu],
  ["percent", /\bin percent(?:age)?\b|\bpercentage\b|\(%\)|\bas a percent/iu],
  ["centimeters", /\bin (?:centimet(?:er|re)s|cm)\b|\(cm\)/iu],
  ["kilometers", /\bin (?:kilomet(?:er|re)s|km)\b|\(km\)/iu],
  ["meters", /\bin met(?:er|re)s\b|\(m\)/iu],
  ["inches", /\bin inches\b/iu],
  ["pixels", /\bin pixels\b|\(px\)/iu],
  ["kilograms", /\bin (?:kilograms|kg)\b|\(kg\)/iu],
  ["pounds", /\bin (?:pounds|lbs)\b/iu],
  [
    "other",
    /\bin (?:parts per|micrograms|milligrams|grams|ounces|lit(?:er|re)s|miles|feet|yards|watts|kilowatts|volts|amperes|joules|newtons|decibels|bytes|kilobytes|megabytes|weeks|months)\b/iu,
  ],
  ["degrees", /\bin degrees\b/iu],
];

function findUnit(text: string): string {
  return UNITS.find(([, pattern]) => pattern.test(text))?.[0] ?? "";
}

const MAX_HEAD_WORDS = 7;
/** Words to skip before the noun of a description. */
const SKIPPED_WORDS = wordSet(
  "the a an optional required your their its this that user's users specific specified given desired particular valid unique enter specify specifies provide by sets set represents contains input full exact current requested filtering single",
);
/** First words of a description that says what a tool does with the value, not what the value is. */
const ACTION_WORDS = wordSet(
  "get gets return returns show shows fetch retrieve retrieves display displays list lists limit limits exclude excludes include includes only allows allow use uses used add adds make makes if when determines indicates controls defines whether",
);
/** Words that end the noun: after them, the description says how the value is used. */
const NOUN_END_WORDS = wordSet(
  "for to in which that where when whose with from on at used as is are was being using until after before during and or if so must should can will may between than about via into under per against formatted representing identifying indicating specifying containing associated related corresponding belonging describing denoting such",
);
/** Words that mean little without the noun after "of". */
const OF_WORDS = wordSet(
  "name names title code codes id ids identifier number symbol type address url date time value price amount abbreviation list array part format username language currency unit text kind",
);
const QUALITIES =
  /^(?:\d+|two|three|2|3|letter|character|digit|alpha|iso|numeric|short|official|english|first|second|third|new|old|original)$/u;

/** Matches "The country, specified as a 2-letter country code": the stated form counts. */
const STATED_FORM = /\b(?:specified|given|expressed|provided|entered|written|represented) as (?:an? |the )(?=[^.,]{0,40}\bcode\b)/iu;

/** Returns the noun that a description begins with, as a name. */
function findNoun(text: string): string {
  const [sentence = ""] = text.trim().split(/[.:;(\n[{]|,\s|\s-\s|--|\be\.?g\b/u, 1);
  const all = nameWords(sentence.replaceAll(/[`'"*]/gu, "").replaceAll(/\b([Ee])-mail/gu, "$1mail"));
  const by = /^(?:filters?|sorts?|orders?|search(?:es)?|looks?)$/u.test(all[0] ?? "") ? all.slice(0, 4).indexOf("by") : -1;
  const words = all.slice(by + 1);
  if (ACTION_WORDS.has(words[0] ?? "")) return "";
  let from = 0;
  while (from < words.length - 1 && SKIPPED_WORDS.has(words[from] ?? "")) from++;
  let end = from;
  while (end < words.length && !NOUN_END_WORDS.has(words[end] ?? "") && words[end] !== "of" && end - from < MAX_HEAD_WORDS) end++;
  const nouns = words.slice(from, end).filter((word) => !QUALITIES.test(word));
  if (words[end] !== "of" || !OF_WORDS.has(nouns.at(-1) ?? "")) return nouns.join("_");
  const whole = findNoun(words.slice(end + 1, end + 1 + MAX_HEAD_WORDS).join(" "));
  const last = nouns.at(-1) ?? "";
  return last === "list" || last === "array" ? whole : `${whole}_${nouns.join("_")}`;
}
