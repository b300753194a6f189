/** Values that an example takes over where a property has their name. */
import { type JsonObject, type JsonValue, isJsonObject } from "../../core/base/json.ts";
import { memo } from "../../core/base/memo.ts";
import { dayOf } from "./date-text.ts";
import { nameWords, plainName, plural, singular } from "./name-words.ts";

/** Names that mean something else in every object: they are taken over only by the object that the values speak of. */
const EVERYWHERE = new Set(
  "id,name,type,status,title,description,value,key,code,date,text,message,label,url,count,total,number,state,content,kind,index,created_at,updated_at,time,data,result,results,items,size,limit,page,offset,note,body,tags".split(
    ",",
  ),
);
/** Names of a property that holds the thing itself. */
const CARRIERS = new Set("data,result,response,item,record,body,payload,object,entity,output,resource".split(","));
/** Names of a property that lists things. */
const LISTS = new Set("data,results,result,items,records,list,values,entries,objects,rows,hits,matches,elements,content".split(","));
const MAX_NAMES = 200;
/** Names of values that only one person has. */
const OF_ONE = /(?:^|_)(?:user_?name|login|handle|screen_name|nick_?name|e_?mail(?:_address)?|phone(?:_number)?)$/u;

const NO_NAMES: readonly string[] = [];
const UNBOUNDED = { least: -Infinity, most: Infinity };

/** Dates that are not those a call asks for. */
const UNDATED = /(?:^|_)(?:created|updated|modified|opened|joined|registered|last|birth|birthday|dob|expires|expiry|as_of)(?=_|$)/u;

/** The thing that an example describes. */
export interface Subject {
  /** Its word in the singular, such as `order`. */
  readonly noun: string;
  /** The first items of its list. */
  readonly records?: readonly JsonObject[];
  /** Longest list of it. @default as without a subject */
  readonly atMost?: number;
  /** How many items its list has besides `records`. @default as without a subject */
  readonly more?: number;
  /** The values of its list, by name, and not of the items. */
  readonly ofList?: JsonObject;
  /** Its items are people of whom each has a name and an address of its own. */
  readonly isOfPeople?: boolean;
  /** The names of the one person that its list is of. */
  readonly named?: JsonObject | undefined;
  /** Its lists as they were drawn for the same answer before, by the seed of their place: they are drawn once. */
  readonly lists?: Map<number, readonly JsonValue[]>;
  /** Nothing comes after its list: what leads to a next page is empty. */
  readonly isLastPage?: boolean;
  /** The id of the thing, where no property of it may say it. */
  readonly id?: string | number;
  /** The known values of other things, by their ids. */
  readonly factsOf?: (id: string) => JsonObject | undefined;
  /** Its states, the likeliest first, where nothing says otherwise. */
  readonly states?: readonly string[];
}

/** Names by which the same is called elsewhere; the nearest first. */
const ALIKE: readonly (readonly string[])[] = [
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
const ALSO: ReadonlyMap<string, readonly string[]> = new Map(
  ALIKE.flatMap((names) => names.map((name) => [name, names.filter((other) => other !== name)] as const)),
);
/** Made-up items of a list have what it was asked for under these names, too. */
const FILTERS = new Set("status,state,type,kind".split(","));
const STATES = new Set(["status", "state"]);

/** Whether a property tells in which state its object is. */
export function isState(name: string): boolean {
  return STATES.has(plainName(name));
}

/** Whether a name tells of one kind of thing, wherever it stands. */
export function isOfThing(name: string): boolean {
  return !EVERYWHERE.has(plainName(name));
}

/** Whether a property has what only one person has: a list of people has it once each. */
export const isOfOnePerson = memo((name) => OF_ONE.test(plainName(name)));

/** Whether a property leads to the next page of a list. */
export const isNextPage = memo((name) =>
  /^(?:next|prev|previous)(?:_(?:page|cursor|token|offset|url|uri|link|href|marker|start|results))*$|^(?:cursor|page_token|continuation_token)$/u.test(
    plainName(name),
  ),
);

export interface GivenOptions {
  /** The values are what a list was asked for, and speak of its items. @default false */
  readonly isList?: boolean;
  /** Values that count where these have none of the name. @default none */
  readonly outer?: Given | undefined;
  /** They are only usual: taken over where they are asked for, and not repeated. @default false */
  readonly isUsual?: boolean;
  /** The plain name of a value of `outer` that does not count. @default none */
  readonly hidden?: string;
}

export class Given {
  /** By plain name. */
  readonly #values = new Map<string, JsonValue>();
  readonly #own: JsonObject;
  readonly #outer: Given | undefined;
  readonly #isList: boolean;
  readonly #isUsual: boolean;
  readonly #hidden: string | undefined;
  /** A name speaks of a least or a most; undefined until it is asked for. */
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
      this.#values.set(plainName(name), value);
    }
  }

  /** As given, without what is only usual. */
  get values(): JsonObject {
    const own = this.#isUsual ? {} : this.#own;
    return this.#outer === undefined ? own : { ...this.#outer.values, ...own };
  }

  get isEmpty(): boolean {
    return this.#values.size === 0 && this.#outer?.isEmpty !== false;
  }

  /** @param isSubject the property is one of the object that the values speak of */
  find(name: string, isSubject: boolean): JsonValue | undefined {
    const plain = plainName(name);
    const isOfItems = this.#isList && (FILTERS.has(plain) || (plain === "name" && this.#get("full_name") !== undefined));
    if (!isSubject && EVERYWHERE.has(plain) && !isOfItems) return undefined;
    return this.#get(plain);
  }

  /** The same, with what is known of one thing. */
  with(values: JsonObject): Given {
    return new Given(values, { isList: this.#isList, outer: this });
  }

  /** The same, where a value speaks of another thing. */
  without(name: string): Given {
    return new Given({}, { isList: this.#isList, outer: this, hidden: plainName(name) });
  }

  #get(plain: string): JsonValue | undefined {
    if (plain === this.#hidden) return undefined;
    const own = this.#values.get(plain);
    return own === undefined && this.#outer !== undefined ? this.#outer.#get(plain) : own;
  }

  /** A value by another name for the same. */
  findAlike(name: string): JsonValue | undefined {
    for (const other of ALSO.get(plainName(name)) ?? NO_NAMES) {
      const value = this.#get(other);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  private get hasBounds(): boolean {
    this.#hasBounds ??= this.#outer?.hasBounds === true || [...this.#values.keys()].some((name) => /min|max/u.test(name));
    return this.#hasBounds;
  }

  /** The bounds that `min_price` and `max_price` set for a price. */
  boundsOf(name: string): { readonly least: number; readonly most: number } {
    if (!this.hasBounds) return UNBOUNDED;
    const plain = plainName(name);
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

  /** The days between which a date of this name lies, as the call says; none where it does not. */
  daysFor(name: string): { readonly from: string; readonly to: string } | undefined {
    const plain = plainName(name);
    if (this.isEmpty || UNDATED.test(plain)) return undefined;
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
      const day = dayOf(this.#get(name));
      if (day !== undefined) return day;
    }
    return undefined;
  }
}

/** Whether a property of an object that the values speak of holds the same thing again. */
export function isCarrier(name: string, subject: Subject | undefined): boolean {
  const plain = plainName(name);
  return CARRIERS.has(plain) || (subject !== undefined && subject.noun === plain);
}

const OF_PAGES = new Set("meta,metadata,pagination,paging,page_info,response_metadata".split(","));

/** Whether a property of an answer tells of the page of a list. */
export function isOfPages(name: string, subject: Subject | undefined): boolean {
  return subject?.ofList !== undefined && OF_PAGES.has(plainName(name));
}

/** Whether an array under this name is the list of the subject; `""` is the name of a whole answer. */
export function isListOf(name: string, { noun }: Subject): boolean {
  const last = nameWords(name).at(-1);
  if (last === undefined || LISTS.has(plainName(name))) return true;
  const lastOfNoun = noun.slice(noun.lastIndexOf("_") + 1);
  return singular(last) === lastOfNoun || last === plural(lastOfNoun);
}

/** The value, or what is the same of another type: 5 and "5". */
export function* spellings(value: JsonValue): Generator<JsonValue> {
  yield value;
  if (typeof value === "number" || typeof value === "boolean") yield String(value);
  else if (typeof value === "string" && /^-?\d{1,15}(?:\.\d{1,10})?$/u.test(value)) yield Number(value);
  if (Array.isArray(value) && value.length <= MAX_NAMES && value.every((item) => typeof item === "string"))
    yield value.map((item) => ({ [item.includes("@") ? "email" : "name"]: item }));
  if (typeof value === "string" && value.length <= 100) yield* [value.toLowerCase(), value.toUpperCase()];
  else if (isJsonObject(value)) yield* Object.hasOwn(value, "name") ? [value["name"] ?? null] : [];
}
