/** Reads parts of untrusted schemas. */
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { KEYWORD_TYPES } from "../../schema/keyword-names.ts";

const TYPE_WORDS: ReadonlySet<unknown> = new Set(["object", "array", "string", "number", "integer", "boolean", "null"]);

/** The types that `type` names; undefined without `type`. An integer is a number, so `integer` next to it is dropped. */
export function namedTypes({ type }: JsonObject): readonly string[] | undefined {
  const listed = isJsonArray(type) ? type : [type];
  const types = listed.filter((word): word is string => typeof word === "string" && TYPE_WORDS.has(word));
  const distinct = [...new Set(types)].filter((word) => word !== "integer" || !types.includes("number"));
  return distinct.length === 0 ? undefined : distinct;
}

/** The values of `enum` and `const`, those that the types leave; undefined where it has neither. */
export function namedValues(node: JsonObject): readonly JsonValue[] | undefined {
  const { enum: members } = node;
  const fixed = Object.hasOwn(node, "const") ? node["const"] : undefined;
  const listed = isJsonArray(members) ? members : undefined;
  if (fixed === undefined && listed === undefined) return undefined;
  const values = listed === undefined ? [fixed ?? null] : fixed === undefined ? listed : listed.filter((value) => equal(value, fixed));
  const types = namedTypes(node);
  return types === undefined ? values : values.filter((value) => types.some((type) => isOfType(value, type)));
}

/** The types of a schema: as it names them, else those of its values, else those that its keywords speak of. */
export function typesOf(node: JsonObject): readonly string[] | undefined {
  const named = namedTypes(node);
  if (named !== undefined) return named;
  const values = namedValues(node);
  if (values !== undefined && values.length > 0) return typesOfValues(values);
  const spoken = Object.keys(node).flatMap((keyword) => KEYWORD_TYPES.get(keyword) ?? []);
  return spoken.length === 0 ? undefined : [...new Set(spoken)];
}

function typesOfValues(values: readonly JsonValue[]): readonly string[] {
  const kinds = [...new Set(values.map(kindOf))];
  const whole = values.every((value) => typeof value !== "number" || Number.isInteger(value));
  return kinds.map((kind) => (kind === "number" && whole ? "integer" : kind));
}

export function kindOf(value: JsonValue): string {
  if (value === null) return "null";
  return isJsonArray(value) ? "array" : typeof value;
}

function isOfType(value: JsonValue, type: string): boolean {
  return type === "integer" ? Number.isInteger(value) : kindOf(value) === type;
}

export function equal(one: JsonValue, other: JsonValue): boolean {
  return one === other || canonicalJson(one) === canonicalJson(other);
}

export function textsOf(value: JsonValue | undefined): readonly string[] {
  return isJsonArray(value) ? value.filter((item) => typeof item === "string") : [];
}

export function schemasOf(value: JsonValue | undefined): readonly JsonValue[] {
  return isJsonArray(value) ? value : [];
}

export function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

export function without(node: JsonObject, ...keywords: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(node).filter(([keyword]) => !keywords.includes(keyword)));
}

/** The schema for values of one type alone: without the constraints of others. */
export function narrowed(node: JsonObject, type: string): JsonObject {
  const family = type === "integer" ? "number" : type;
  const kept = Object.entries(node).filter(([keyword]) => {
    const speaksOf = KEYWORD_TYPES.get(keyword);
    return (speaksOf === undefined || speaksOf === family) && keyword !== "const" && keyword !== "enum";
  });
  const values = namedValues(node)?.filter((value) => isOfType(value, type));
  return { ...Object.fromEntries(kept), type, ...(values === undefined ? {} : { enum: values }) };
}

const MAX_MEMBERS = 100;

/** True where no value can fit two of these schemas: their types, values, or the values of a property they all require exclude each other. */
export function excludeEachOther(members: readonly JsonObject[]): boolean {
  if (members.length > MAX_MEMBERS) return false;
  return members.every((one, index) => members.slice(index + 1).every((other) => exclude(one, other)));
}

function exclude(one: JsonObject, other: JsonObject): boolean {
  const types = surelyTypes(one);
  const others = surelyTypes(other);
  if (types !== undefined && others !== undefined && !types.some((type) => others.some((word) => overlap(type, word)))) return true;
  if (differ(namedValues(one), namedValues(other))) return true;
  if (types?.join() !== "object" || others?.join() !== "object") return false;
  const required = textsOf(other["required"]);
  return textsOf(one["required"]).some(
    (name) => required.includes(name) && differ(valuesOfProperty(one, name), valuesOfProperty(other, name)),
  );
}

/** The types that the schema itself names, not those that its keywords suggest. */
function surelyTypes(node: JsonObject): readonly string[] | undefined {
  const values = namedValues(node);
  return namedTypes(node) ?? (values === undefined || values.length === 0 ? undefined : typesOfValues(values));
}

function overlap(one: string, other: string): boolean {
  return one === other || (one === "integer" && other === "number") || (one === "number" && other === "integer");
}

function valuesOfProperty({ properties }: JsonObject, name: string): readonly JsonValue[] | undefined {
  const named = objectOf(properties);
  return Object.hasOwn(named, name) ? namedValues(objectOf(named[name])) : undefined;
}

function differ(values: readonly JsonValue[] | undefined, others: readonly JsonValue[] | undefined): boolean {
  if (values === undefined || others === undefined || values.length > MAX_MEMBERS || others.length > MAX_MEMBERS) return false;
  const texts = new Set(values.map(canonicalJson));
  return others.every((value) => !texts.has(canonicalJson(value)));
}

interface Tuple {
  /** Which says the order. */
  readonly keyword: "items" | "prefixItems";
  /** Of the items by their place. */
  readonly first: readonly JsonValue[];
  /** Fits every item at any place; undefined where anything does. */
  readonly any: JsonValue | undefined;
}

/** Items by their place, and those behind them, in the words of any draft. */
export function tupleOf({ items, prefixItems, additionalItems }: JsonObject): Tuple {
  const keyword = isJsonArray(items) ? "items" : "prefixItems";
  const first = schemasOf(isJsonArray(items) ? items : prefixItems);
  const others = isJsonArray(items) ? additionalItems : items;
  if (first.length === 0) return { keyword, first, any: others === true ? undefined : others };
  return { keyword, first, any: { anyOf: distinct([...first, ...(isJsonObject(others) ? [others] : [])]) } };
}

function distinct(schemas: readonly JsonValue[]): readonly JsonValue[] {
  return [...new Map(schemas.map((schema) => [canonicalJson(schema), schema])).values()];
}

/** `false`, and the `{ not: {} }` that libraries write for it. */
export function allowsNothing(schema: JsonValue | undefined): boolean {
  if (!isJsonObject(schema)) return schema === false;
  const { not } = schema;
  return not === true || (isJsonObject(not) && Object.keys(not).length === 0);
}

export function isOnlyNull(member: JsonValue): boolean {
  return isJsonObject(member) && typesOf(member)?.join() === "null";
}

/** True where the values are all that the type has: true and false. */
export function isAllOf(values: readonly JsonValue[], types: readonly string[] | undefined): boolean {
  return (
    types?.join() === "boolean" &&
    values.some((value) => equal(value, true)) &&
    values.some((value) => isOfType(value, "boolean") && value === false)
  );
}

export function mapValues(object: JsonObject, change: (value: JsonValue, key: string) => JsonValue): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value, key)]));
}

/** Of two bounds of the same kind the one that says both. */
export function stricter(keyword: string, value: JsonValue, known: JsonValue | undefined): JsonValue {
  if (typeof value !== "number" || typeof known !== "number") return value;
  if (keyword === "minimum") return Math.max(value, known);
  return keyword === "maximum" ? Math.min(value, known) : value;
}
