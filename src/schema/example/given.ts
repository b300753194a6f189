/** Values that an example takes over where a property has their name. */
import type { JsonObject, JsonValue } from "../../core/json.ts";
import { isJsonObject } from "../../core/json.ts";
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

/** What an example speaks of. */
export interface Subject {
  /** Its word in the singular, such as `order`. */
  readonly noun: string;
  /** The first items of its list. */
  readonly records?: readonly JsonObject[];
  /** Longest list of it. @default as without a subject */
  readonly atMost?: number;
  /** How many items its list has besides `records`. @default as without a subject */
  readonly more?: number;
}

export class Given {
  readonly #values = new Map<string, JsonValue>();
  /** As given. */
  readonly values: JsonObject;

  constructor(values: JsonObject) {
    this.values = values;
    for (const name of Object.keys(values).slice(0, MAX_NAMES)) {
      const value = values[name];
      if (value !== undefined && value !== null) this.#values.set(plainName(name), value);
    }
  }

  /** @param isSubject the property is one of the object that the values speak of */
  find(name: string, isSubject: boolean): JsonValue | undefined {
    if (this.#values.size === 0) return undefined;
    const plain = plainName(name);
    return isSubject || !EVERYWHERE.has(plain) ? this.#values.get(plain) : undefined;
  }
}

/** Whether a property of an object that the values speak of holds the same thing again. */
export function isCarrier(name: string, subject: Subject | undefined): boolean {
  const plain = plainName(name);
  return CARRIERS.has(plain) || (subject !== undefined && subject.noun === plain);
}

/** Whether an array under this name is the list of the subject; `""` is the name of a whole answer. */
export function isListOf(name: string, { noun }: Subject): boolean {
  const words = nameWords(name);
  const last = words.at(-1);
  if (last === undefined) return true;
  const lastOfNoun = noun.split("_").at(-1) ?? noun;
  return LISTS.has(words.join("_")) || singular(last) === lastOfNoun || last === plural(lastOfNoun);
}

/** The value, or what is the same of another type: 5 and "5". */
export function* spellings(value: JsonValue): Generator<JsonValue> {
  yield value;
  if (typeof value === "number" || typeof value === "boolean") yield String(value);
  else if (typeof value === "string" && /^-?\d{1,15}(?:\.\d{1,10})?$/u.test(value)) yield Number(value);
  else if (isJsonObject(value)) yield* Object.hasOwn(value, "name") ? [value["name"] ?? null] : [];
}
