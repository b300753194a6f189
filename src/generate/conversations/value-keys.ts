/** Under which key a value of an input or an output is known: equal keys, the same kind of value. */
import { isJsonArray, isJsonObject, type JsonValue } from "../../core/base/json.ts";
import { memo } from "../../core/base/memo.ts";
import { own } from "../../core/base/own.ts";
import type { JsonSchema } from "../../core/tool.ts";
import { isOfThing } from "../../schema/example/given.ts";
import { plainName, singular } from "../../schema/example/name-words.ts";
import { idNoun, isIdName } from "./id-names.ts";

/** A value that can be taken from a result: a field of it, or of an item of its lists. */
export interface OutputField<Value> {
  /** As the property is called. */
  readonly name: string;
  /** The key it is known by: `order_id` for the `id` of an order; `""` where it is only known by its tool. */
  readonly key: string;
  /** The thing it is an id of; `""` for other values. */
  readonly noun: string;
  /** It is in an item of a list. */
  readonly ofList: boolean;
  /** It is a property of the whole output. */
  readonly onTop: boolean;
  readonly value: Value;
}

/** Names that users choose each time, independent of earlier results. */
const CHOSEN =
  /^(?:limit|.*_limit|max_.*|min_.*|.*per_?page|count|num_.*|radius|precision|decimals|top|skip|step|value|result|page.*|offset|sort.*|order_by|format|units?|lang|language|locale|password|year|month|day|mode|option|filter|query|q|search|keyword|action|method|level|version|region|comment|reason|price|amount|quantity|rating|score|size|start|end|from|to|date|time|day|.*_(?:date|time|at|on|day)|(?:.*_)?(?:weight|height|width|length|depth|temperature|distance|duration|speed|age|salary|income|days|nights|hours|minutes)(?:_\w+)?)$/u;

/** The key of an input property; `""` for what no result gives. @param noun what the tool is about */
export function inputKey(name: string, noun: string): string {
  if (isIdName(name)) return idKey(idNoun(name) || noun);
  return otherKey(name);
}

/** Of a name that is no id. */
const otherKey = memo((name) => {
  const plain = plainName(name);
  return isOfThing(name) && !CHOSEN.test(plain) ? plain : "";
});

function idKey(noun: string): string {
  return noun === "" ? "" : `${noun.split("_").at(-1) ?? noun}_id`;
}

const MAX_DEPTH = 3;
const MAX_FIELDS = 60;
const CARRIERS = new Set(
  "data,result,results,response,items,item,record,records,list,values,entries,objects,rows,hits,matches,body,payload,output,content,elements".split(
    ",",
  ),
);

interface Place {
  readonly noun: string;
  readonly ofList: boolean;
  readonly depth: number;
}

/** The fields of a value, the first item of each list for all of its items. */
export function fieldsOf(output: JsonValue, noun: string): readonly OutputField<string | number>[] {
  const found: OutputField<string | number>[] = [];
  const visit = (value: JsonValue, place: Place): void => {
    if (place.depth > MAX_DEPTH || found.length >= MAX_FIELDS) return;
    if (isJsonArray(value)) {
      const [first] = value;
      if (first !== undefined) visit(first, { ...place, ofList: true, depth: place.depth + 1 });
      return;
    }
    if (!isJsonObject(value)) return;
    for (const [name, one] of Object.entries(value)) {
      if (typeof one === "string" || typeof one === "number") {
        if (one !== "" && found.length < MAX_FIELDS) found.push({ ...fieldKey(name, place), value: one });
      } else if (one !== null && typeof one === "object") visit(one, inside(name, place));
    }
  };
  visit(output, { noun, ofList: false, depth: 0 });
  return found;
}

/** The fields that an output schema names. */
export function schemaFields(schema: JsonSchema | undefined, noun: string): readonly OutputField<undefined>[] {
  const found: OutputField<undefined>[] = [];
  const visit = (part: unknown, place: Place): void => {
    if (place.depth > MAX_DEPTH || found.length >= MAX_FIELDS || !isJsonObject(part)) return;
    const items = own(part, "items");
    if (isJsonObject(items)) visit(items, { ...place, ofList: true, depth: place.depth + 1 });
    const properties = own(part, "properties");
    if (!isJsonObject(properties)) return;
    for (const [name, one] of Object.entries(properties)) {
      const holdsMore = isJsonObject(one) && (own(one, "properties") !== undefined || own(one, "items") !== undefined);
      if (holdsMore) visit(one, inside(name, place));
      else if (found.length < MAX_FIELDS) found.push({ ...fieldKey(name, place), value: undefined });
    }
  };
  visit(schema, { noun, ofList: false, depth: 0 });
  return found;
}

function inside(name: string, { noun, ofList, depth }: Place): Place {
  const plain = plainName(name);
  return { noun: CARRIERS.has(plain) ? noun : singular(plain), ofList, depth: depth + 1 };
}

function fieldKey(name: string, { noun, ofList, depth }: Place): Omit<OutputField<undefined>, "value"> {
  const own = isIdName(name) ? idNoun(name) || noun : "";
  return { name, key: inputKey(name, noun), noun: own, ofList, onTop: depth === 0 };
}
