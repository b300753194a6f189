/** Given values, which an example uses for properties of the same name. */
import { type JsonObject, type JsonValue, isJsonObject } from "../../core/base/json.ts";
import { memoize } from "../../core/base/memoize.ts";
import { isoDayOf } from "./date-text.ts";
import { nameWords, normalizeName, toPlural, toSingular } from "./name-words.ts";

/** Names whose meaning depends on the object: they apply only to the object that the given values describe. */
const OBJECT_DEPENDENT_NAMES = new Set(
  "id,name,type,status,title,description,value,key,code,date,text,message,label,url,count,total,number,state,content,kind,index,created_at,updated_at,time,data,result,results,items,size,limit,page,offset,note,body,tags".split(
    ",",
  ),
);
/** Names of a property that holds the subject itself. */
const SUBJECT_NAMES = new Set("data,result,response,item,record,body,payload,object,entity,output,resource".split(","));
/** Names of a property that holds a list. */
const LIST_NAMES = new Set("data,results,result,items,records,list,values,entries,objects,rows,hits,matches,elements,content".split(","));
const MAX_NAMES = 200;
/** Names of values that are unique to one person. */
const PERSON_SPECIFIC = /(?:^|_)(?:user_?name|login|handle|screen_name|nick_?name|e_?mail(?:_address)?|phone(?:_number)?)$/u;

const NO_NAMES: readonly string[] = [];
const UNBOUNDED = { least: -Infinity, most: Infinity };

/** Names of dates that are not those a call asks for. */
const UNRELATED_DATES = /(?:^|_)(?:created|updated|modified|opened|joined|registered|last|birth|birthday|dob|expires|expiry|as_of)(?=_|$)/u;

/** The thing that an example describes. */
export interface Subject {
  /** Its noun in the singular, such as `order`. */
  readonly noun: string;
  /** The first items of its list. */
  readonly records?: readonly JsonObject[];
  /** Maximum length of its list. @default as without a subject */
  readonly atMost?: number;
  /** Number of items in its list in addition to `records`. @default as without a subject */
  readonly more?: number;
  /** Values that belong to its list rather than to the items, by name. */
  readonly ofList?: JsonObject;
  /** Whether its items are people, each with their own name and email address. */
  readonly isAboutPeople?: boolean;
  /** The names of the single person that its list belongs to. */
  readonly named?: JsonObject | undefined;
  /** Its lists that were drawn before for the same answer, by the seed of their place: each is drawn only once. */
  readonly lists?: Map<number, readonly JsonValue[]>;
  /** Whether its list is complete: properties that lead to a next page are empty. */
  readonly isLastPage?: boolean;
  /** The id of the thing, if no property of it contains the id. */
  readonly id?: string | number;
  /** Returns the known values of other things, by id. */
  readonly readFacts?: (id: string) => JsonObject | undefined;
  /** Its states, most likely first, used if nothing else determines the state. */
  readonly states?: readonly string[];
}

/** Names that mean the same; nearest first. */
const SYNONYMS: readonly (readonly string[])[] = [
  ["city", "city_name", "town", "location", "place"],
  ["location", "place", "city"],
  ["origin", "from", "departure_city", "departure_airport", "origin_airport"],
  ["destination", "to", "arrival_city", "arrival_airport", "destination_airport"],
  ["currency", "currency_code"],
  ["unit_price", "price"],
  ["departs_at", "departure_time", "departure_date_time"],
  ["start", "start_time", "starts_at", "start_datetime", "start_date_time"],
  ["end", "end_time", "ends_at", "end_datetime", "end_date_time"],
];
const SYNONYMS_BY_NAME: ReadonlyMap<string, readonly string[]> = new Map(
  SYNONYMS.flatMap((names) => names.map((name) => [name, names.filter((other) => other !== name)] as const)),
);
/** Generated items of a list get the values that the list was filtered by under these names, too. */
const FILTERS = new Set("status,state,type,kind".split(","));
const STATES = new Set(["status", "state"]);

/** Whether a property is the state of its object. */
export function isStateName(name: string): boolean {
  return STATES.has(normalizeName(name));
}

/** Whether a name has the same meaning in every object. */
export function isUnambiguousName(name: string): boolean {
  return !OBJECT_DEPENDENT_NAMES.has(normalizeName(name));
}

/** Whether a property's value is unique to one person: in a list of people, each has a different one. */
export const isPersonSpecificName = memoize((name) => PERSON_SPECIFIC.test(normalizeName(name)));

/** Whether a property leads to the next page of a list. */
export const isNextPageName = memoize((name) =>
  /^(?:next|prev|previous)(?:_(?:page|cursor|token|offset|url|uri|link|href|marker|start|results))*$|^(?:cursor|page_token|continuation_token)$/u.test(
    normalizeName(name),
  ),
);

export interface GivenOptions {
  /** Whether the values are those that a list was requested with, and describe its items. @default false */
  readonly isList?: boolean;
  /** Fallback values for names that these do not have. @default none */
  readonly outer?: GivenValues | undefined;
  /** Whether the values are only common ones: used by properties of their names, but not repeated. @default false */
  readonly isUsual?: boolean;
  /** Plain name of a value of `outer` that is ignored. @default none */
  readonly hidden?: string;
}

export class GivenValues {
  /** By plain name. */
  readonly #values = new Map<string, JsonValue>();
  readonly #own: JsonObject;
  readonly #outer: GivenValues | undefined;
  readonly #isList: boolean;
  readonly #isUsual: boolean;
  readonly #hidden: string | undefined;
  /** Whether a name is of a minimum or maximum; undefined until it is needed. */
  #hasBounds: boolean | undefined = undefined;

  constructor(values: JsonObject, { isList = false, outer, isUsual = false, hidden }: GivenOptions = {}) {
    this.#own = values;
    this.#outer = outer;
    this.#isList = isList;
    this.#isUsual = isUsual;
    this.#hidden = hidden;
    let room = MAX_NAMES;
    for (const name in values) {
      const value = values[name];
      if (value === undefined || !Object.hasOwn(values, name)) continue;
      if (room-- === 0) break;
      this.#values.set(normalizeName(name), value);
    }
  }

  /** The values as given, without common ones. */
  get values(): JsonObject {
    const own = this.#isUsual ? {} : this.#own;
    return this.#outer === undefined ? own : { ...this.#outer.values, ...own };
  }

  get isEmpty(): boolean {
    return this.#values.size === 0 && this.#outer?.isEmpty !== false;
  }

  /** @param isSubject whether the property is one of the object that the values describe */
  find(name: string, isSubject: boolean): JsonValue | undefined {
    const plain = normalizeName(name);
    const isOfItems = this.#isList && (FILTERS.has(plain) || (plain === "name" && this.#get("full_name") !== undefined));
    if (!isSubject && OBJECT_DEPENDENT_NAMES.has(plain) && !isOfItems) return undefined;
    return this.#get(plain);
  }

  /** Returns these values with the known values of one thing added. */
  withValues(values: JsonObject): GivenValues {
    return new GivenValues(values, { isList: this.#isList, outer: this });
  }

  /** Returns these values without one that is about another thing. */
  withoutValue(name: string): GivenValues {
    return new GivenValues({}, { isList: this.#isList, outer: this, hidden: normalizeName(name) });
  }

  #get(plain: string): JsonValue | undefined {
    if (plain === this.#hidden) return undefined;
    const own = this.#values.get(plain);
    return own === undefined && this.#outer !== undefined ? this.#outer.#get(plain) : own;
  }

  /** Returns a value with a synonymous name. */
  findSynonym(name: string): JsonValue | undefined {
    for (const other of SYNONYMS_BY_NAME.get(normalizeName(name)) ?? NO_NAMES) {
      const value = this.#get(other);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  private get hasBounds(): boolean {
    this.#hasBounds ??= this.#outer?.hasBounds === true || [...this.#values.keys()].some((name) => /min|max/u.test(name));
    return this.#hasBounds;
  }

  /** Returns the bounds that, for example, `min_price` and `max_price` set for a price. */
  boundsOf(name: string): { readonly least: number; readonly most: number } {
    if (!this.hasBounds) return UNBOUNDED;
    const plain = normalizeName(name);
    const words = plain.split("_");
    const stems = [plain, words[0] ?? "", words.at(-1) ?? ""];
    const numberAt = (names: readonly string[]): number | undefined => {
      for (const one of names) {
        const value = Number(this.#get(one) ?? Number.NaN);
        if (Number.isFinite(value)) return value;
      }
      return undefined;
    };
    const least = numberAt(stems.flatMap((stem) => [`min_${stem}`, `${stem}_min`, `minimum_${stem}`]));
    const most = numberAt(stems.flatMap((stem) => [`max_${stem}`, `${stem}_max`, `maximum_${stem}`]));
    return { least: least ?? -Infinity, most: most ?? Infinity };
  }

  /** Returns the range of days for a date of this name that the call asks for; undefined if it asks for none. */
  daysFor(name: string): { readonly from: string; readonly to: string } | undefined {
    const plain = normalizeName(name);
    if (this.isEmpty || UNRELATED_DATES.test(plain)) return undefined;
    const stem = plain.replace(/_(?:date_?time|time|at|on|date|day)$/u, "");
    const named = /^(?:departs?|departing|leaves|outbound)$/u.test(stem) ? ["departure_date", "outbound_date", "travel_date"] : [];
    const one = this.#dayAt([...named, `${stem}_date`, `${stem}_on`, stem, "date", "day", "on"]);
    if (one !== undefined) return { from: one, to: one };
    const from = this.#dayAt(["from_date", "start_date", "date_from", "since", "after", "from", "start", "time_min"]);
    const to = this.#dayAt(["to_date", "end_date", "date_to", "until", "before", "to", "end", "time_max"]);
    if (from === undefined && to === undefined) return undefined;
    return { from: from ?? to ?? "", to: to ?? from ?? "" };
  }

  #dayAt(names: readonly string[]): string | undefined {
    for (const name of names) {
      const day = isoDayOf(this.#get(name));
      if (day !== undefined) return day;
    }
    return undefined;
  }
}

/** Whether a property of the described object holds the same thing again. */
export function holdsSubject(name: string, subject: Subject | undefined): boolean {
  const plain = normalizeName(name);
  return SUBJECT_NAMES.has(plain) || (subject !== undefined && subject.noun === plain);
}

const PAGE_INFO_NAMES = new Set("meta,metadata,pagination,paging,page_info,response_metadata".split(","));

/** Whether a property of an answer describes the page of a list. */
export function isPageInfoName(name: string, subject: Subject | undefined): boolean {
  return subject?.ofList !== undefined && PAGE_INFO_NAMES.has(normalizeName(name));
}

/** Whether an array with this name is the list of the subject; `""` is the name of the whole answer. */
export function isSubjectList(name: string, { noun }: Subject): boolean {
  const last = nameWords(name).at(-1);
  if (last === undefined || LIST_NAMES.has(normalizeName(name))) return true;
  const lastOfNoun = noun.slice(noun.lastIndexOf("_") + 1);
  return toSingular(last) === lastOfNoun || last === toPlural(lastOfNoun);
}

/** Yields the value and equivalents of other types, such as 5 and "5". */
export function* equivalentValues(value: JsonValue): Generator<JsonValue> {
  yield value;
  if (typeof value === "number" || typeof value === "boolean") yield String(value);
  else if (typeof value === "string" && /^-?\d{1,15}(?:\.\d{1,10})?$/u.test(value)) yield Number(value);
  if (Array.isArray(value) && value.length <= MAX_NAMES && value.every((item) => typeof item === "string"))
    yield value.map((item) => ({ [item.includes("@") ? "email" : "name"]: item }));
  if (typeof value === "string" && value.length <= 100) yield* [value.toLowerCase(), value.toUpperCase()];
  else if (isJsonObject(value)) yield* Object.hasOwn(value, "name") ? [value["name"] ?? null] : [];
}
