/** Writes names and values as people do. */
import { isJsonArray, isJsonObject, type JsonValue } from "../../../core/base/json.ts";
import { memoize } from "../../../core/base/memoize.ts";
import type { Random } from "../../../core/ports.ts";
import { nameWords } from "../../../schema/example/name-words.ts";
import { MONTHS } from "../../../schema/example/words.ts";

/** Converts `id:ID,ip:IP` to a map. */
export function parsePairs(pairs: string): ReadonlyMap<string, string> {
  return new Map(pairs.split(",").map((pair) => pair.split(":") as [string, string])); // each pair has one colon
}

const ACRONYMS = parsePairs(
  "id:ID,ids:IDs,url:URL,urls:URLs,uri:URI,uuid:UUID,ip:IP,api:API,iban:IBAN,vat:VAT,sku:SKU,isbn:ISBN,gps:GPS,bmi:BMI,html:HTML,json:JSON,pdf:PDF,utc:UTC",
);
/** Abbreviations, and the words for them. */
const ABBREVIATIONS = parsePairs(
  "q:query,lat:latitude,lon:longitude,lng:longitude,long:longitude,lang:language,src:source,dst:destination,num:number,qty:quantity,desc:description,tgt:target,addr:address,dob:date of birth,msg:message,pwd:password,cc:CC",
);
const MAX_LABEL_WORDS = 8;

/** Returns a label: `created at` for `created_at`, `order ID` for `orderId`, `latitude` for `lat`. */
export const label = memoize((name) => {
  const words = nameWords(name).slice(0, MAX_LABEL_WORDS);
  if (words.length === 0) return name.trim() === "" ? "value" : name;
  return words
    .map((word, at) => ACRONYMS.get(word) ?? (at === words.length - 1 || word !== "long" ? ABBREVIATIONS.get(word) : undefined) ?? word)
    .join(" ");
});

/** Joins parts: `a, b and c`. */
export function joinList(parts: readonly string[], word = "and"): string {
  const last = parts.at(-1) ?? "";
  return parts.length < 2 ? last : `${parts.slice(0, -1).join(", ")} ${word} ${last}`;
}

/** Picks one of the items at random. */
export function pickOne<Item>(random: Random, items: readonly [Item, ...Item[]]): Item {
  return items[Math.min(items.length - 1, Math.floor(random.next() * items.length))] ?? items[0];
}

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/u;

/** Returns `3 December 2025` for `2025-12-03`; undefined if the text is not a date. */
export function formatDay(text: string): string | undefined {
  const [, year = "", month = "", day = ""] = DATE.exec(text) ?? [];
  const name = MONTHS[Number(month) - 1];
  return name === undefined || Number(day) < 1 || Number(day) > 31 ? undefined : `${Number(day)} ${name} ${year}`;
}

/** Whether a text is prose or a phrase that needs quotation marks. */
export function isProse(text: string): boolean {
  return /\s/u.test(text) && (text.length > 40 || /[.,;:!?"]/u.test(text));
}

export function quoteText(text: string): string {
  return `"${text.trim()}"`;
}

const MAX_FIELDS = 8;

/** Writes a value in words. Ids and texts stay unchanged; objects that are large or contain objects are written as JSON. */
export function formatValue(value: JsonValue): string {
  if (value === null) return "nothing";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return String(value);
  if (typeof value === "string") return value.trim() === "" ? '""' : isProse(value) ? quoteText(value) : value;
  if (isJsonArray(value)) return value.length === 0 ? "none" : formatArray(value);
  if (!isJsonObject(value)) return JSON.stringify(value);
  const fields = Object.entries(value);
  if (fields.length === 0) return "nothing";
  if (fields.length > MAX_FIELDS || !fields.every(([, one]) => isScalar(one))) return JSON.stringify(value);
  return joinList(fields.map(([name, one]) => `${label(name)} ${formatValue(one)}`));
}

/** Writes an array of scalars or of flat objects, such as `(1) article tea and count 2, (2) article milk and count 1`. */
function formatArray(values: readonly JsonValue[]): string {
  if (values.every(isScalar)) return joinList(values.map(formatValue));
  const isFlatObject = (value: JsonValue): boolean =>
    isJsonObject(value) && Object.keys(value).length > 0 && Object.keys(value).length <= MAX_FIELDS && Object.values(value).every(isScalar);
  if (!values.every(isFlatObject)) return JSON.stringify(values);
  const [only] = values;
  return values.length === 1 && only !== undefined
    ? formatValue(only)
    : values.map((value, index) => `(${index + 1}) ${formatValue(value)}`).join(", ");
}

/** Whether a value is empty. */
export function isEmptyValue(value: JsonValue): boolean {
  return (
    value === null || value === "" || (isJsonArray(value) && value.length === 0) || (isJsonObject(value) && Object.keys(value).length === 0)
  );
}

function isScalar(value: JsonValue): boolean {
  return value === null || typeof value !== "object";
}

/** Returns `in progress` for `in_progress`; other texts stay unchanged. */
export function formatChoice(text: string): string {
  return /^[a-z]+(?:_[a-z]+)+$/u.test(text) ? text.replaceAll("_", " ") : text;
}
