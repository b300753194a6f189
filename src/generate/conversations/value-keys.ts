/** Keys of input and output values: values with equal keys are of the same kind. */
import { isJsonArray, isJsonObject, type JsonValue } from "../../core/base/json.ts";
import { memoize } from "../../core/base/memoize.ts";
import { getOwn } from "../../core/base/get-own.ts";
import type { JsonSchema } from "../../core/tool.ts";
import { isUnambiguousName } from "../../schema/example/given-values.ts";
import { normalizeName, toSingular } from "../../schema/example/name-words.ts";
import { walkPointer } from "../../schema/references/reference-uri.ts";
import { idNoun, isIdName } from "./id-names.ts";

/** A value that can be taken from a result: one of its fields, or a field of its array items. */
export interface OutputField<Value> {
  /** The name of the property. */
  readonly name: string;
  /** The key: `order_id` for the `id` of an order; `""` if only an edge of the dataflow graph leads to it. */
  readonly key: string;
  /** The thing that it is an id of; `""` for other values. */
  readonly noun: string;
  /** Whether it is in an item of an array. */
  readonly ofList: boolean;
  /** Whether it is a top-level property of the output. */
  readonly isTopLevel: boolean;
  readonly value: Value;
}

/** Names of inputs that users choose each time, independent of earlier results. */
const USER_CHOSEN =
  /^(?:limit|.*_limit|max_.*|min_.*|.*per_?page|count|num_.*|radius|precision|decimals|top|skip|step|value|result|page.*|offset|sort.*|order_by|format|units?|lang|language|locale|password|year|month|day|mode|option|filter|query|q|search|keyword|action|method|level|version|region|comment|reason|price|amount|quantity|rating|score|size|start|end|from|to|date|time|day|.*_(?:date|time|at|on|day)|(?:.*_)?(?:weight|height|width|length|depth|temperature|distance|duration|speed|age|salary|income|days|nights|hours|minutes)(?:_\w+)?)$/u;

/** Returns the key of an input property; `""` if no result provides it. @param noun the subject of the tool */
export function inputKey(name: string, noun: string): string {
  if (isIdName(name)) return idKey(idNoun(name) || noun);
  return valueKey(name);
}

/** Returns the key of a property that is not an id. */
const valueKey = memoize((name) => {
  const plain = normalizeName(name);
  return isUnambiguousName(name) && !USER_CHOSEN.test(plain) ? plain : "";
});

function idKey(noun: string): string {
  return noun === "" ? "" : `${noun.split("_").at(-1) ?? noun}_id`;
}

const MAX_DEPTH = 3;
const MAX_FIELDS = 60;
/** Maximum number of parts of one schema that are read, and of references from one part to the next. */
const MAX_VISITS = 1_000;
const MAX_REFERENCES = 8;
const WRAPPER_NAMES = new Set(
  "data,result,results,response,items,item,record,records,list,values,entries,objects,rows,hits,matches,body,payload,output,content,elements".split(
    ",",
  ),
);

interface Place {
  readonly noun: string;
  readonly ofList: boolean;
  readonly depth: number;
}

/** Returns the fields of a value; the first item of each array represents all of its items. */
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
        if (one !== "" && found.length < MAX_FIELDS) found.push({ ...toField(name, place), value: one });
      } else if (one !== null && typeof one === "object") visit(one, toNestedPlace(name, place));
    }
  };
  visit(output, { noun, ofList: false, depth: 0 });
  return found;
}

/** Returns the fields in an output schema, also of what its references inside the document point to. */
export function schemaFields(schema: JsonSchema | undefined, noun: string): readonly OutputField<undefined>[] {
  const found: OutputField<undefined>[] = [];
  let visitsLeft = MAX_VISITS;
  const visit = (raw: unknown, place: Place): void => {
    const part = resolveReference(schema, raw);
    if (place.depth > MAX_DEPTH || found.length >= MAX_FIELDS || visitsLeft-- <= 0 || !isJsonObject(part)) return;
    const all = getOwn(part, "allOf");
    if (Array.isArray(all)) for (const one of all) visit(one, place);
    const items = getOwn(part, "items");
    if (isJsonObject(items)) visit(items, { ...place, ofList: true, depth: place.depth + 1 });
    const properties = getOwn(part, "properties");
    if (!isJsonObject(properties)) return;
    for (const [name, property] of Object.entries(properties)) {
      const one = resolveReference(schema, property);
      const holdsMore = isJsonObject(one) && ["properties", "items", "allOf"].some((keyword) => Object.hasOwn(one, keyword));
      if (holdsMore) visit(one, toNestedPlace(name, place));
      else if (found.length < MAX_FIELDS) found.push({ ...toField(name, place), value: undefined });
    }
  };
  visit(schema, { noun, ofList: false, depth: 0 });
  return found;
}

/** Follows references inside the document; undefined for a target that is missing, and for circular references. */
function resolveReference(root: JsonSchema | undefined, part: unknown): unknown {
  let at = part;
  for (let steps = 0; steps <= MAX_REFERENCES; steps++) {
    const reference = isJsonObject(at) ? getOwn(at, "$ref") : undefined;
    if (typeof reference !== "string" || typeof root !== "object") return at;
    if (reference !== "#" && !reference.startsWith("#/")) return at;
    at = reference === "#" ? root : walkPointer(root, reference.slice(1), () => undefined);
  }
  return undefined;
}

function toNestedPlace(name: string, { noun, ofList, depth }: Place): Place {
  const plain = normalizeName(name);
  return { noun: WRAPPER_NAMES.has(plain) ? noun : toSingular(plain), ofList, depth: depth + 1 };
}

function toField(name: string, { noun, ofList, depth }: Place): Omit<OutputField<undefined>, "value"> {
  const own = isIdName(name) ? idNoun(name) || noun : "";
  return { name, key: inputKey(name, noun), noun: own, ofList, isTopLevel: depth === 0 };
}
