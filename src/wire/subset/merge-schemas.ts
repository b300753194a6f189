/** Merges several schemas that apply to the same value into one. */
import { canonicalJson } from "../../core/base/canonical-json.ts";
import type { JsonObject, JsonValue } from "../../core/base/json.ts";
import { isEqualJson, declaredTypes, declaredValues, objectOf, schemasOf, stringsOf, omitKeywords } from "./schema-node.ts";
import { wordSet } from "../../core/base/wording.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";

/** Called for each constraint that one schema cannot express. */
export type OnLoss = (keyword: string, note: string) => void;

/** Keywords of which the greater of two values (the smaller, for `SMALLER`) implies the other. */
const GREATER: ReadonlySet<string> = new Set(["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"]);
const SMALLER: ReadonlySet<string> = new Set(["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"]);
/** Keywords that do not constrain: the first value is kept. */
const NON_CONSTRAINING: ReadonlySet<string> = wordSet("title description default examples format $comment deprecated readOnly writeOnly");
/** Keywords whose meaning depends on adjacent keywords, so that they cannot be merged with those of another schema. */
const CONTEXT_DEPENDENT: ReadonlySet<string> = wordSet(
  "prefixItems additionalItems contains if then else patternProperties unevaluatedItems unevaluatedProperties",
);

/** Merges schemas without `$ref` and `allOf`: a value matches the result if it matches both, except for the parts passed to `onLoss`. */
export function mergeSchemas(first: JsonObject, second: JsonObject, onLoss: OnLoss): JsonObject {
  const merged: Record<string, JsonValue> = { ...omitKeywords(first, "type", "enum", "const", "properties", "required", "anyOf", "oneOf") };
  for (const [keyword, value] of Object.entries(second)) {
    if (STRUCTURAL.has(keyword)) continue;
    const known = Object.hasOwn(merged, keyword) ? merged[keyword] : undefined;
    merged[keyword] = known === undefined ? value : mergeKeyword(keyword, [known, value], onLoss);
    if (CONTEXT_DEPENDENT.has(keyword) && Object.keys(first).some((word) => isSameFamily(word, keyword)))
      onLoss(keyword, "It has another meaning together with the keywords of another part of allOf.");
  }
  return { ...merged, ...mergeTypes(first, second, onLoss), ...mergeProperties(first, second, onLoss), ...mergeUnions(first, second) };
}

const STRUCTURAL: ReadonlySet<string> = wordSet("type enum const properties required anyOf oneOf additionalProperties");

function isSameFamily(one: string, other: string): boolean {
  const family = (keyword: string): boolean => /items|contains/iu.test(keyword);
  return (
    family(one) === family(other) && (family(one) || CONTEXT_DEPENDENT.has(one) || one === "properties" || one === "additionalProperties")
  );
}

function mergeKeyword(keyword: string, [one, other]: readonly [JsonValue, JsonValue], onLoss: OnLoss): JsonValue {
  if (typeof one === "number" && typeof other === "number") {
    if (GREATER.has(keyword)) return Math.max(one, other);
    if (SMALLER.has(keyword)) return Math.min(one, other);
  }
  if (keyword === "uniqueItems") return one === true || other === true;
  if (keyword === "items") return { allOf: [one, other] };
  if (!NON_CONSTRAINING.has(keyword) && !isEqualJson(one, other))
    onLoss(keyword, "Two parts of allOf say different things; the first is kept.");
  return one;
}

function mergeTypes(first: JsonObject, second: JsonObject, onLoss: OnLoss): JsonObject {
  const one = declaredTypes(first);
  const other = declaredTypes(second);
  const types =
    one === undefined || other === undefined ? (one ?? other) : one.flatMap((type) => other.flatMap((word) => intersectTypes(type, word)));
  const values = declaredValues(first);
  const others = declaredValues(second);
  if (types?.length === 0) onLoss("type", "No value fits all parts of allOf.");
  const texts = new Set(others?.map(canonicalJson));
  const both =
    values === undefined || others === undefined ? (values ?? others) : values.filter((value) => texts.has(canonicalJson(value)));
  const [type, ...more] = types ?? [];
  return {
    ...(type === undefined ? {} : { type: more.length === 0 ? type : [type, ...more] }),
    ...(both === undefined ? {} : { enum: both }),
  };
}

function intersectTypes(one: string, other: string): readonly string[] {
  if (one === other) return [one];
  const both = [one, other];
  return both.includes("integer") && both.includes("number") ? ["integer"] : [];
}

function mergeProperties(first: JsonObject, second: JsonObject, onLoss: OnLoss): JsonObject {
  const properties = new Map(Object.entries(objectOf(first["properties"])));
  for (const [name, schema] of Object.entries(objectOf(second["properties"]))) {
    const known = properties.get(name);
    properties.set(name, known === undefined || isEqualJson(known, schema) ? schema : { allOf: [known, schema] });
  }
  const required = [...new Set([...stringsOf(first["required"]), ...stringsOf(second["required"])])];
  return {
    ...(properties.size === 0 && first["properties"] === undefined && second["properties"] === undefined
      ? {}
      : { properties: Object.fromEntries(properties) }),
    ...(required.length === 0 ? {} : { required }),
    ...mergeAdditional(first, second, onLoss),
  };
}

/** Merges `additionalProperties`. In each part of `allOf`, properties that only the other part names count as additional. */
function mergeAdditional(first: JsonObject, second: JsonObject, onLoss: OnLoss): JsonObject {
  const { additionalProperties: one = true } = first;
  const { additionalProperties: other = true } = second;
  if (one === true && other === true) return {};
  const names = Object.keys(objectOf(first["properties"]));
  const others = Object.keys(objectOf(second["properties"]));
  const foreign =
    (one !== true && others.some((name) => !names.includes(name))) || (other !== true && names.some((name) => !others.includes(name)));
  if (foreign) onLoss("additionalProperties", "A part of allOf refuses or restricts what another part names.");
  if (one === false || other === false) return { additionalProperties: false };
  return { additionalProperties: one === true ? other : other === true ? one : { allOf: [one, other] } };
}

function mergeUnions(first: JsonObject, second: JsonObject): JsonObject {
  const unions: Record<string, JsonValue> = {};
  for (const keyword of ["anyOf", "oneOf"]) {
    const one = schemasOf(first[keyword]);
    const other = schemasOf(second[keyword]);
    if (one.length === 0 && other.length === 0) continue;
    // both: the second union must hold for every member of the first
    if (one.length > 0 && other.length > 0) unions[keyword] = one.map((member) => ({ allOf: [member, { [keyword]: other }] }));
    else unions[keyword] = one.length === 0 ? other : one;
  }
  return unions;
}

/** Returns one object that the values of all members of a root union match, which providers do not accept; the allowed combinations are lost. */
export function joinRootUnion(base: JsonObject, members: readonly JsonObject[]): JsonObject {
  const [first, ...rest] = members;
  if (first === undefined) return base;
  const properties = new Map<string, Map<string, JsonValue>>();
  for (const member of members) {
    for (const [name, schema] of Object.entries(objectOf(member["properties"]))) {
      getOrAdd(properties, name, () => new Map()).set(canonicalJson(schema), schema);
    }
  }
  const joined = [...properties].map(([name, schemas]) => {
    const [one, ...others] = schemas.values();
    return [name, others.length === 0 ? (one ?? true) : { anyOf: [one ?? true, ...others] }] as const;
  });
  const others = rest.map((member) => new Set(stringsOf(member["required"])));
  const required = stringsOf(first["required"]).filter((name) => others.every((names) => names.has(name)));
  const closed = members.every((member) => member["additionalProperties"] === false) && base["additionalProperties"] !== true;
  const own = objectOf(base["properties"]);
  return {
    ...base,
    properties: { ...Object.fromEntries(joined), ...own },
    required: [...new Set([...stringsOf(base["required"]), ...required])],
    ...(closed && Object.keys(own).length === 0 ? { additionalProperties: false } : {}),
  };
}
