/** Writes a field of a result: `the price is 94`, `there are 3 bedrooms`, `it is open`. */
import { memoize } from "../../../core/base/memoize.ts";
import type { Random } from "../../../core/ports.ts";
import { capitalize, singleLine } from "../../../core/base/wording.ts";
import { nameWords, normalizeName } from "../../../schema/example/name-words.ts";
import { isIdName } from "../id-names.ts";
import { formatChoice, label, pickOne, parsePairs } from "./format-value.ts";

/** Units at the end of names, as they are written after the value. */
const UNITS = parsePairs(
  "seconds:seconds,minutes:minutes,hours:hours,days:days,weeks:weeks,months:months,years:years,km:km,cm:cm,mm:mm,m:m,kg:kg,mg:mg,sqm:square metres,bytes:bytes,percent:%,hpa:hPa,ms:ms,mb:MB,kb:KB,gb:GB,miles:miles,inches:inches,feet:feet,celsius:°C,fahrenheit:°F,px:px,kwh:kWh,kcal:kcal",
);

/** How fields with one name are written. */
interface FieldForm {
  readonly label: string;
  /** Whether it is the number of things: `bedrooms`. */
  readonly isCount: boolean;
  readonly singular: string;
  /** The unit as it is written after a number, undefined if there is none; `unitless` is the name without it. */
  readonly unit: string | undefined;
  readonly unitless: string;
  /** The verb, such as `created` for `created_by`. */
  readonly byVerb: string | undefined;
  /** The noun and `available`, `left` or `remaining`, such as `seats` and `available` for `seats_available`. */
  readonly availability: { readonly label: string; readonly singular: string; readonly how: string } | undefined;
  /** The beginning of the clause for a time: `it was created at`, `it starts at`. */
  readonly timeClause: string | undefined;
}

const getFieldForm = memoize(readFieldForm);

function readFieldForm(name: string): FieldForm {
  const words = nameWords(name);
  const plain = normalizeName(name);
  const unit = findUnit(words);
  const [, availability = "", how = ""] = /^(.+s)_(available|left|remaining)$/u.exec(plain) ?? [];
  const [, verb = "", on = ""] = /^([a-z]+)_(at|on)$/u.exec(plain) ?? [];
  const isPast = verb.endsWith("ed") || verb === "paid" || verb === "sent";
  return {
    label: label(name),
    isCount: !isIdName(name) && !hasUnit(words) && isOrAre(name) === "are" && label(name).split(" ").length <= 2,
    singular: singularizeLast(words),
    unit,
    unitless: unit === undefined ? name : words.slice(0, -1).join("_"),
    byVerb: /^([a-z]+ed)_by$/u.exec(plain)?.[1],
    availability: availability === "" ? undefined : { label: label(availability), singular: singularizeLast(nameWords(availability)), how },
    timeClause: isPast ? `it was ${verb} ${on}` : verb.endsWith("s") ? `it ${verb} ${on}` : undefined,
  };
}

function findUnit(words: readonly string[]): string | undefined {
  const last = words.at(-1) ?? "";
  if (words.length < 2 || NOT_A_NOUN.test(words.slice(0, -1).join("_"))) return undefined;
  const isDegree = (last === "c" || last === "f") && words.at(-2)?.startsWith("temp") === true;
  return isDegree ? `°${last.toUpperCase()}` : UNITS.get(last);
}

/** Returns the name without its unit, and the value with it. */
export function splitUnit(name: string, value: string | number | boolean): readonly [name: string, words: string] {
  const { unit, unitless } = getFieldForm(name);
  if (unit === undefined || typeof value !== "number") return [name, formatScalar(value)];
  const unitText = value === 1 && unit.length > 3 ? unit.replace(/s$/u, "") : unit;
  return [unitless, unit === "%" ? `${String(value)}%` : `${String(value)} ${unitText}`];
}

/** Names that are not nouns without their unit. */
const NOT_A_NOUN = /^(?:remaining|total|used|left|available|number_of|max|min|maximum|minimum)$/u;

export function formatBrief(name: string, value: string | number | boolean, thing: string): string {
  const counted = formatCountedField(name, value);
  if (counted !== undefined) return counted;
  const [bare, words] = splitUnit(name, value);
  return `${fieldLabel(bare, thing)} ${words}`;
}

/** Writes a clause: `the price is 94`, `there are 3 bedrooms`, `it starts at 2025-03-01T09:00:00Z`. */
export function formatClause(name: string, value: string | number | boolean, thing: string): string {
  const counted = formatCountedField(name, value);
  if (counted !== undefined) return `there ${value === 1 ? "is" : "are"} ${counted}`;
  const { byVerb, availability, timeClause } = getFieldForm(name);
  if (byVerb !== undefined) return `it was ${byVerb} by ${formatScalar(value)}`;
  if (availability !== undefined && typeof value === "number")
    return `${value} ${value === 1 ? availability.singular : availability.label} ${value === 1 ? "is" : "are"} ${availability.how}`;
  if (timeClause !== undefined) return `${timeClause} ${formatScalar(value)}`;
  const [bare, words] = splitUnit(name, value);
  return `the ${fieldLabel(bare, thing)} ${isOrAre(bare)} ${words}`;
}

/** Writes a count, such as `3 bedrooms`; undefined if the field is not one. */
function formatCountedField(name: string, value: string | number | boolean): string | undefined {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0) return undefined;
  const { isCount, singular, label: words } = getFieldForm(name);
  return isCount ? `${value} ${value === 1 ? singular : words}` : undefined;
}

function hasUnit(words: readonly string[]): boolean {
  return words.length > 1 && UNITS.has(words.at(-1) ?? "") && !NOT_A_NOUN.test(words.slice(0, -1).join("_"));
}

const isOrAre = memoize((name): "is" | "are" => {
  const words = label(name);
  return /(?<!s|u|i)s$/u.test(words) && !/status|address|news|series$/u.test(words) ? "are" : "is";
});

function fieldLabel(name: string, thing: string): string {
  const own = label(name);
  return own === "ID" && thing !== "" ? `${thing} ID` : own;
}

export function formatFlagClause(name: string, value: boolean): string {
  const [first = "", ...rest] = nameWords(name);
  const not = value ? "" : "not ";
  if (first === "is" || first === "was") return `it ${first} ${not}${rest.join(" ")}`;
  if (first === "has") return value ? `it has ${rest.join(" ")}` : `it has no ${rest.join(" ")}`;
  if (first === "can") return `it can ${not}${rest.join(" ")}`;
  if (ADJECTIVE.test(name)) return `it is ${not}${label(name)}`;
  return `${label(name)}: ${value ? "yes" : "no"}`;
}

/** Writes an answer about a boolean, such as `Yes, the card number is valid.` */
export function formatFlagAnswer(
  { name, value }: { readonly name: string; readonly value: unknown },
  { thing, random }: { readonly thing: string; readonly random: Random },
): string {
  const subject = thing === "" ? "it" : `the ${thing}`;
  const clause = formatFlagClause(name, value === true).replace(/^it /u, () => `${subject} `);
  const answer = value === true ? "yes" : "no";
  return endSentence(
    capitalize(pickOne(random, [clause, `${answer}, ${clause}`, `as far as I can see, ${clause}`, `the answer is ${answer}: ${clause}`])),
  );
}

const ADJECTIVE = /^(?:in|on|out|open|sold)_|(?:ed|able|ible|valid|active|open|public|private|new|online|empty|free)$/iu;

export function formatFlag(name: string, value: boolean): string {
  const words = label(name.replace(/^(?:is|has)(?=[_A-Z])_?/u, ""));
  return value ? words : `not ${words}`;
}

export function formatScalar(value: string | number | boolean): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return String(value);
  const text = excerpt(value);
  if (AMOUNT.test(text)) return text;
  return /\s/u.test(text) && /[.,;:!?]/u.test(text) ? `"${text.replaceAll('"', "'")}"` : formatChoice(text);
}

const AMOUNT = /^-?\d+(?:\.\d+)? [A-Z]{3}$/u;
const MAX_EXCERPT = 240;

/** Returns the beginning of a long text, up to the end of a word. */
export function excerpt(text: string): string {
  const trimmed = singleLine(text);
  if (trimmed.length <= MAX_EXCERPT) return trimmed;
  const cut = trimmed.slice(0, MAX_EXCERPT);
  const end = Math.max(cut.lastIndexOf(". ") + 1, 0);
  return end > MAX_EXCERPT / 2 ? cut.slice(0, end) : `${cut.slice(0, Math.max(cut.lastIndexOf(" "), MAX_EXCERPT / 2))} …`;
}

export function endSentence(text: string): string {
  const trimmed = text.trim();
  return trimmed === "" || /[.!?…]["')]?$/u.test(trimmed) ? trimmed : `${trimmed}.`;
}

export function singularizeLast(words: readonly string[]): string {
  const last = words.at(-1) ?? "";
  const stem = last.endsWith("ies") ? `${last.slice(0, -3)}y` : /(?:s|x|z|ch|sh)es$/u.test(last) ? last.slice(0, -2) : last.slice(0, -1);
  return [...words.slice(0, -1), stem].join(" ");
}
