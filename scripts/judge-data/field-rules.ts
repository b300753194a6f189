/** Rules for one value: what its description and its name promise. Each answers undefined where it has nothing to say. */
import type { JsonObject, JsonValue } from "../../src/core/base/json.ts";
import type { Verdict } from "./verdicts.ts";

export interface Field {
  readonly name: string;
  readonly description: string;
  readonly value: JsonValue;
  /** The schema lists its values. */
  readonly enumerated: boolean;
  readonly schema: JsonObject;
}

type FieldRule = (field: Field) => Verdict;

const MASK =
  /(?<![A-Za-z%])(?:%[YmdHMSBy]|[Yy]{4}|[Yy]{2}|M{2}|m{2}|[Dd]{2}|[Hh]{2}|[Ss]{2})(?:(?:[-/.:, ]|T|'T')?(?:%[YmdHMSy]|[Yy]{4}|[Yy]{2}|M{2}|m{2}|[Dd]{2}|[Hh]{2}|[Ss]{2})){1,5}Z?(?![A-Za-z])/u;
const UNIT = /%[YmdHMSy]|[Yy]{4}|[YyMmDdHhSs]{2}/gu;

/** A regular expression for the dates of a mask such as `DD/MM/YYYY`; undefined where the text has none. */
function maskOf(description: string): RegExp | undefined {
  const mask = MASK.exec(description)?.[0];
  if (mask === undefined || !/[Yy]{4}|%Y|[Hh]{2}|%H|MM/u.test(mask)) return undefined;
  const source = mask
    .replaceAll("'T'", "T")
    .replaceAll(/[.+]/gu, "\\$&")
    .replaceAll(UNIT, (unit) => (/^[Yy]{4}$|%Y/u.test(unit) ? "#4" : "#2"))
    .replaceAll("#4", "\\d{4}")
    .replaceAll("#2", "\\d{2}");
  return new RegExp(`^${source}`, "u");
}

const isText = (value: JsonValue): value is string => typeof value === "string";
const numberIn = (value: JsonValue): number | undefined =>
  typeof value === "number" ? value : isText(value) && /^-?\d+(?:\.\d+)?$/u.test(value) ? Number(value) : undefined;
const intl = (type: "currency" | "language" | "region", code: string): boolean => {
  try {
    const name = new Intl.DisplayNames("en", { type, fallback: "none" }).of(code);
    return name !== undefined && name !== code;
  } catch {
    return false;
  }
};

const QUOTED = /`([^`]{1,40})`|'([^']{1,40})'|"([^"]{1,40})"|\u201c([^\u201d]{1,40})\u201d/gu;
const quoted = (text: string): readonly string[] =>
  [...text.matchAll(QUOTED)].map((found) => found.slice(1).find((one) => one !== undefined) ?? "");
const sentenceAfter = (text: string, lead: RegExp): string | undefined => {
  const found = lead.exec(text);
  return found === null ? undefined : text.slice(found.index + found[0].length).split(/\.(?:\s|$)/u)[0];
};

const ALTERNATIVES =
  /\b(?:one of|(?:accepted|valid|allowed|possible|supported|available) (?:values|options)(?: (?:are|include))?|options(?: (?:are|include))?|either|can be|must be)\b:?/iu;
const LIST_OF_MANY = /comma|separated|list of|multiple|array|combination|such as|e\.g|\blike\b/iu;

const alternatives: FieldRule = ({ description, value, enumerated }) => {
  if (enumerated || (!isText(value) && typeof value !== "number")) return undefined;
  const rest = sentenceAfter(description, ALTERNATIVES);
  if (rest === undefined || LIST_OF_MANY.test(description)) return undefined;
  // Names of other fields are none, and the list follows at once.
  if (/\b(?:fields?|parameters?|endpoints?|list'|group|response)\b/iu.test(rest) || rest.search(/[`'"\u201c]/u) > 25) return undefined;
  const choices = quoted(rest);
  if (choices.length < 2) return undefined;
  return [...choices, ...quoted(description)].some((one) => one.toLowerCase() === String(value).toLowerCase());
};

const BETWEEN =
  /\b(?:between|from|range(?: is| of|:)?)\s+(-?\d+(?:\.\d+)?)\s*(?:and|to|-|\u2013)\s*(-?\d+(?:\.\d+)?)(?![\d/:-])|\((-?\d+(?:\.\d+)?)\s?(?:-|\u2013|to)\s?(\d+(?:\.\d+)?)\)/iu;
const MOST =
  /\b(?:max(?:imum)?(?: (?:value|limit|number|length))?(?: is| of|:|=)? ?|up to |no more than |at most )(\d+)(?![\d.]*[\d/:%kMm-])/iu;

const range: FieldRule = ({ description, value }) => {
  const number = numberIn(value);
  if (number === undefined) return undefined;
  if (/length|characters|digits/iu.test(description)) return undefined;
  const plain = description.replaceAll(/(\d),(\d{3})/gu, "$1$2");
  const found = BETWEEN.exec(plain);
  if (found !== null) {
    const [low, high] = [Number(found[1] ?? found[3]), Number(found[2] ?? found[4])];
    if (low < high) return number >= low && number <= high;
  }
  const most = MOST.exec(plain)?.[1];
  return most === undefined ? undefined : number <= Number(most);
};

const AIRPORTS = new Set(
  "ATL AMS ATH AUH AKL ARN BCN BER BKK BOM BOS BRU BUD CAI CDG CGK CPH CPT DEL DEN DFW DOH DUB DUS DXB EDI EWR EZE FCO FRA GIG GRU GVA HAM HEL HKG HND IAD IAH ICN IST JFK JNB KEF KUL LAS LAX LGA LGW LHR LIM LIN LIS LOS MAD MAN MEL MEX MIA MNL MUC MXP NBO NCE NRT ORD ORY OSL OTP PEK PHL PHX PRG PVG RIX SCL SEA SFO SIN SJC SOF SYD TLL TLV TPE VCE VIE VNO WAW YUL YVR YYZ ZAG ZRH BOG LCY KIX SVO CPT ADD ACC CMN TUN MLA LUX KRK GDN BGO TRD SAN DCA MCO CLT MSP DTW SLC AUS BNA PDX HNL".split(
    " ",
  ),
);
const CURRENCIES = new Set(Intl.supportedValuesOf("currency"));
const ZONES = new Set([...Intl.supportedValuesOf("timeZone"), "UTC", "GMT"]);

const codes: FieldRule = ({ name, description, value }) => {
  if (!isText(value)) return undefined;
  const told = `${name.replaceAll("_", " ")} ${description.split(/\. |default/iu)[0] ?? ""}`;
  if (/crypto|pair|symbols\b|comma|separated|list|name or|or (?:the )?name|^an? flag|search term|'auto'|3-char/iu.test(description))
    return undefined;
  if (/\bcurrency(?: code)?\b.*(?:ISO|code|3[- ]letter|three[- ]letter)|ISO 4217/iu.test(told)) return CURRENCIES.has(value.toUpperCase());
  if (/\bIATA\b/u.test(told) && /airport/iu.test(told)) return AIRPORTS.has(value.toUpperCase());
  if (/airport code/iu.test(told) && !/ICAO/u.test(told)) return AIRPORTS.has(value.toUpperCase());
  if (/time ?zone\b/iu.test(name.replaceAll("_", "")) && value.includes("/")) return ZONES.has(value);
  if (
    /(?:2|two)[- ]letter country|country code|ISO 3166/iu.test(told) &&
    !/3[- ]letter|three|alpha-?3|dial|phone|numeric/iu.test(description)
  )
    return value.length <= 3 && intl("region", value.toUpperCase());
  if (/language code|ISO 639/iu.test(told)) return intl("language", value.toLowerCase().split(/[-_]/u)[0] ?? "");
  return undefined;
};

const dateFormat: FieldRule = ({ description, value, schema }) => {
  if (schema["format"] !== undefined || schema["enum"] !== undefined || schema["default"] !== undefined) return undefined;
  const mask = maskOf(description);
  return mask === undefined || (!isText(value) && typeof value !== "number") ? undefined : mask.test(String(value));
};

/** What kind of thing a description opens with. */
const KINDS: readonly (readonly [string, RegExp, (value: JsonValue) => boolean])[] = [
  [
    "flag",
    /^(?:whether|flag (?:to|indicating)|indicates? (?:whether|if)|if (?:true|set to true)|a? ?boolean|boolean)\b/iu,
    (value) => typeof value === "boolean" || /^(?:true|false|0|1|yes|no|y|n|on|off)$/iu.test(String(value)),
  ],
  [
    "number of",
    /^(?:the )?(?:maximum |minimum |total )?(?:number|count|quantity|amount) of (?!.*\b(?:list|phone|id)\b)|^(?:the )?page (?:number|index)\b|^(?:the )?(?:maximum|max|minimum|min)\.? (?:number|price|value)/iu,
    (value) => numberIn(value) !== undefined,
  ],
  [
    "url",
    /^(?:the |a )?(?:full |target |public )?(?:URL|link)\b(?! (?:of|for|to|slug|path|encod))/iu,
    (value) => isText(value) && /^\w+:\/\/|^www\.|\.\w{2,}/u.test(value),
  ],
  ["email", /^(?:the |a |user'?s? )?e-?mail(?: address)?\b/iu, (value) => isText(value) && value.includes("@")],
  ["ip", /^(?:the |an )?IP(?:v4)? address\b(?! or)/iu, (value) => isText(value) && /^[\d.]+$|:/u.test(value)],
  ["phone", /^(?:the |a )?(?:phone|mobile|telephone) number\b/iu, (value) => /\d{4}/u.test(String(value))],
  ["latitude", /^(?:the )?latitude\b(?!.*longitude)/iu, (value) => Math.abs(numberIn(value) ?? 999) <= 90],
  ["longitude", /^(?:the )?longitude\b/iu, (value) => Math.abs(numberIn(value) ?? 999) <= 180],
  ["year", /^(?:the )?year\b(?! (?:range|s))/iu, (value) => /^(?:19|20)\d\d$/u.test(String(value))],
  ["percentage", /^(?:the )?percent(?:age)?\b/iu, (value) => (numberIn(String(value).replace("%", "")) ?? 999) <= 100],
  ["uuid", /^(?:the )?UUID\b/u, (value) => /^[0-9a-f-]{32,36}$/iu.test(String(value))],
  ["hex colour", /\bhex(?:adecimal)? colou?r|colou?r .*\bhex\b/iu, (value) => /^#?[0-9a-f]{3,8}$/iu.test(String(value))],
  ["id", /^(?:the )?(?:unique )?(?:id|identifier)\b(?!.*name)/iu, (value) => !String(value).includes(" ")],
  ["username", /^(?:the )?(?:\w+ )?username\b/iu, (value) => !String(value).includes(" ")],
  ["unix time", /\bunix (?:time|epoch)/iu, (value) => (numberIn(value) ?? 0) > 1e8],
  ["list", /^(?:the |a )?(?:list|array) of\b/iu, (value) => Array.isArray(value) || isText(value)],
  ["country", /^(?:the )?(?:name of the )?country(?: name)?\b(?! code)/iu, (value) => !/\d/u.test(String(value))],
  ["date", /^(?:the )?(?:\w+ )?date\b(?! (?:range|format|of last|string))/iu, (value) => /\d/u.test(String(value))],
];

const contradiction: FieldRule = ({ description, value, enumerated, schema }) => {
  if (enumerated || schema["default"] !== undefined || typeof value === "object") return undefined;
  for (const [, pattern, fits] of KINDS) if (pattern.test(description)) return fits(value);
  return undefined;
};

/** The class of a text: digits, capitals, words. */
function classOf(text: string): string {
  if (/^-?\d+(?:\.\d+)?$/u.test(text)) return "number";
  if (/^[A-Z]{2,5}$/u.test(text)) return `code ${text.length}`;
  if (/\d{4}-\d\d-\d\d|\d\d\/\d\d\/\d{4}/u.test(text)) return "date";
  if (text.includes("://")) return "url";
  return "";
}

const EXAMPLE = /\b(?:e\.g\.?,?|for example,?|for instance,?|example:|such as)\s/iu;

const exampleShape: FieldRule = ({ description, value, enumerated, schema }) => {
  if (enumerated || schema["default"] !== undefined || typeof value === "object" || value === null) return undefined;
  const at = EXAMPLE.exec(description);
  if (at === null) return undefined;
  const shown = quoted(
    description
      .slice(at.index)
      .split(/\.(?:\s|$)/u)
      .slice(0, 2)
      .join("."),
  );
  const classes = new Set(shown.map(classOf).filter((one) => one !== ""));
  if (shown.length === 0 || classes.size !== 1 || shown.some((one) => classOf(one) === "")) return undefined;
  return (
    quoted(description).includes(String(value)) ||
    classes.has(classOf(String(value))) ||
    ([...classes][0]?.startsWith("code") === true && /^[A-Z]{2,5}$/u.test(String(value)))
  );
};

export const FIELD_RULES: Readonly<Record<string, FieldRule>> = {
  "date format": dateFormat,
  "range told": range,
  "alternatives told": alternatives,
  "codes are known": codes,
  contradiction: contradiction,
  "like the example": exampleShape,
};
