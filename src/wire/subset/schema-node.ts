/** Reads parts of untrusted schemas. */
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { KEYWORD_TYPES } from "../../schema/keyword-names.ts";

const TYPE_WORDS: ReadonlySet<unknown> = new Set(["object", "array", "string", "number", "integer", "boolean", "null"]);

/** Returns the types in `type`; undefined without it. `integer` next to `number` is dropped, because number includes it. */
export function namedTypes({ type }: JsonObject): readonly string[] | undefined {
  const listed = isJsonArray(type) ? type : [type];
  const types = listed.filter((word): word is string => typeof word === "string" && TYPE_WORDS.has(word));
  const distinct = [...new Set(types)].filter((word) => word !== "integer" || !types.includes("number"));
  return distinct.length === 0 ? undefined : distinct;
}

/** Returns the values of `enum` and `const` that have an allowed type; undefined if the schema has neither keyword. */
export function namedValues(node: JsonObject): readonly JsonValue[] | undefined {
  const { enum: members } = node;
  const fixed = Object.hasOwn(node, "const") ? node["const"] : undefined;
  const listed = isJsonArray(members) ? members : undefined;
  if (fixed === undefined && listed === undefined) return undefined;
  const values = listed === undefined ? [fixed ?? null] : fixed === undefined ? listed : listed.filter((value) => equal(value, fixed));
  const types = namedTypes(node);
  return types === undefined ? values : values.filter((value) => types.some((type) => isOfType(value, type)));
}

/** Returns the types of a schema: from `type`, else from its values, else the types that its keywords apply to. */
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

/** Returns the schema for values of one type only, without the constraints of other types. */
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

/** Whether no value can match two of these schemas, because their types, their values, or the values of a property that both require are disjoint. */
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

/** Returns the types from `type` or from the values, without those that keywords suggest. */
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
  /** The keyword that has the schemas by position. */
  readonly keyword: "items" | "prefixItems";
  /** The schemas by position. */
  readonly first: readonly JsonValue[];
  /** A schema that accepts every item at any position; undefined if any value is accepted. */
  readonly any: JsonValue | undefined;
}

/** Returns the schemas by position and for the remaining items, from the keywords of any draft. */
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

/** Whether a schema is `false`, or the `{ not: {} }` that libraries write for it. */
export function allowsNothing(schema: JsonValue | undefined): boolean {
  if (!isJsonObject(schema)) return schema === false;
  const { not } = schema;
  return not === true || (isJsonObject(not) && Object.keys(not).length === 0);
}

export function isOnlyNull(member: JsonValue): boolean {
  return isJsonObject(member) && typesOf(member)?.join() === "null";
}

/** Whether the values are all values of the type, as true and false are of boolean. */
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

/** Returns the stricter of two bounds of the same keyword. */
export function stricter(keyword: string, value: JsonValue, known: JsonValue | undefined): JsonValue {
  if (typeof value !== "number" || typeof known !== "number") return value;
  if (keyword === "minimum") return Math.max(value, known);
  return keyword === "maximum" ? Math.min(value, known) : value;
}
