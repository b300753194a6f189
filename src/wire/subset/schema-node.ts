/** Reads parts of untrusted schemas. */
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { KEYWORD_TYPES } from "../../schema/keyword-names.ts";
import { jsonTypeOf } from "../../schema/repair/coerce.ts";

const TYPE_WORDS: ReadonlySet<unknown> = new Set(["object", "array", "string", "number", "integer", "boolean", "null"]);

/** Returns the types in `type`; undefined without it. `integer` next to `number` is dropped, because number includes it. */
export function declaredTypes({ type }: JsonObject): readonly string[] | undefined {
  const listed = isJsonArray(type) ? type : [type];
  const types = listed.filter((word): word is string => typeof word === "string" && TYPE_WORDS.has(word));
  const distinct = [...new Set(types)].filter((word) => word !== "integer" || !types.includes("number"));
  return distinct.length === 0 ? undefined : distinct;
}

/** Returns the values of `enum` and `const` that have an allowed type; undefined if the schema has neither keyword. */
export function declaredValues(node: JsonObject): readonly JsonValue[] | undefined {
  const { enum: members } = node;
  const fixed = Object.hasOwn(node, "const") ? node["const"] : undefined;
  const listed = isJsonArray(members) ? members : undefined;
  if (fixed === undefined && listed === undefined) return undefined;
  const values =
    listed === undefined ? [fixed ?? null] : fixed === undefined ? listed : listed.filter((value) => isEqualJson(value, fixed));
  const types = declaredTypes(node);
  return types === undefined ? values : values.filter((value) => types.some((type) => isOfType(value, type)));
}

/** Returns the types of a schema: from `type`, else from its values, else the types that its keywords apply to. */
export function inferTypes(node: JsonObject): readonly string[] | undefined {
  const named = declaredTypes(node);
  if (named !== undefined) return named;
  const values = declaredValues(node);
  if (values !== undefined && values.length > 0) return typesOfValues(values);
  const spoken = Object.keys(node).flatMap((keyword) => KEYWORD_TYPES.get(keyword) ?? []);
  return spoken.length === 0 ? undefined : [...new Set(spoken)];
}

function typesOfValues(values: readonly JsonValue[]): readonly string[] {
  const kinds = [...new Set(values.map(jsonTypeOf))];
  const whole = values.every((value) => typeof value !== "number" || Number.isInteger(value));
  return kinds.map((kind) => (kind === "number" && whole ? "integer" : kind));
}

function isOfType(value: JsonValue, type: string): boolean {
  return type === "integer" ? Number.isInteger(value) : jsonTypeOf(value) === type;
}

export function isEqualJson(one: JsonValue, other: JsonValue): boolean {
  return one === other || canonicalJson(one) === canonicalJson(other);
}

export function stringsOf(value: JsonValue | undefined): readonly string[] {
  return isJsonArray(value) ? value.filter((item) => typeof item === "string") : [];
}

export function schemasOf(value: JsonValue | undefined): readonly JsonValue[] {
  return isJsonArray(value) ? value : [];
}

export function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

export function omitKeywords(node: JsonObject, ...keywords: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(node).filter(([keyword]) => !keywords.includes(keyword)));
}

/** Returns the schema for values of one type only, without the constraints of other types. */
export function narrowToType(node: JsonObject, type: string): JsonObject {
  const family = type === "integer" ? "number" : type;
  const kept = Object.entries(node).filter(([keyword]) => {
    const speaksOf = KEYWORD_TYPES.get(keyword);
    return (speaksOf === undefined || speaksOf === family) && keyword !== "const" && keyword !== "enum";
  });
  const values = declaredValues(node)?.filter((value) => isOfType(value, type));
  return { ...Object.fromEntries(kept), type, ...(values === undefined ? {} : { enum: values }) };
}

const MAX_MEMBERS = 100;

/** Whether no value can match two of these schemas, because their types, their values, or the values of a property that both require are disjoint. */
export function areMutuallyExclusive(members: readonly JsonObject[]): boolean {
  if (members.length > MAX_MEMBERS) return false;
  return members.every((one, index) => members.slice(index + 1).every((other) => isMutuallyExclusive(one, other)));
}

function isMutuallyExclusive(one: JsonObject, other: JsonObject): boolean {
  const types = certainTypes(one);
  const others = certainTypes(other);
  if (types !== undefined && others !== undefined && !types.some((type) => others.some((word) => typesOverlap(type, word)))) return true;
  if (haveNoCommonValue(declaredValues(one), declaredValues(other))) return true;
  if (types?.join() !== "object" || others?.join() !== "object") return false;
  const required = stringsOf(other["required"]);
  return stringsOf(one["required"]).some(
    (name) => required.includes(name) && haveNoCommonValue(valuesOfProperty(one, name), valuesOfProperty(other, name)),
  );
}

/** Returns the types from `type` or from the values, without those that keywords suggest. */
function certainTypes(node: JsonObject): readonly string[] | undefined {
  const values = declaredValues(node);
  return declaredTypes(node) ?? (values === undefined || values.length === 0 ? undefined : typesOfValues(values));
}

function typesOverlap(one: string, other: string): boolean {
  return one === other || (one === "integer" && other === "number") || (one === "number" && other === "integer");
}

function valuesOfProperty({ properties }: JsonObject, name: string): readonly JsonValue[] | undefined {
  const named = objectOf(properties);
  return Object.hasOwn(named, name) ? declaredValues(objectOf(named[name])) : undefined;
}

function haveNoCommonValue(values: readonly JsonValue[] | undefined, others: readonly JsonValue[] | undefined): boolean {
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
export function readTuple({ items, prefixItems, additionalItems }: JsonObject): Tuple {
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
  return isJsonObject(member) && inferTypes(member)?.join() === "null";
}

/** Whether the values are all values of the type, as true and false are of boolean. */
export function coversWholeType(values: readonly JsonValue[], types: readonly string[] | undefined): boolean {
  return (
    types?.join() === "boolean" &&
    values.some((value) => isEqualJson(value, true)) &&
    values.some((value) => isOfType(value, "boolean") && value === false)
  );
}

export function mapValues(object: JsonObject, change: (value: JsonValue, key: string) => JsonValue): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value, key)]));
}

/** Returns the stricter of two bounds of the same keyword. */
export function stricterBound(keyword: string, value: JsonValue, known: JsonValue | undefined): JsonValue {
  if (typeof value !== "number" || typeof known !== "number") return value;
  if (keyword === "minimum") return Math.max(value, known);
  return keyword === "maximum" ? Math.min(value, known) : value;
}
