/** Takes the schema of a body apart, where it is no more than a list of fields. */
import { isJsonArray } from "../../core/json.ts";
import type { JsonObject, JsonValue } from "../../core/json.ts";
import { OPEN } from "./schema-converter.ts";
import type { SchemaConverter, SchemaPart } from "./schema-converter.ts";

export interface ObjectFields {
  readonly fields: ReadonlyMap<string, SchemaPart>;
  readonly required: ReadonlySet<string>;
  /** What the body as a whole is said to be. */
  readonly description: string | undefined;
}

const PLAIN: ReadonlySet<string> = new Set([
  "$ref",
  "type",
  "properties",
  "required",
  "allOf",
  "additionalProperties",
  "unevaluatedProperties",
  "title",
  "description",
  "deprecated",
  "examples",
  "minProperties",
  "maxProperties",
]);
const MAX_DEPTH = 20;
const MAX_FIELDS = 1_000;

/**
 * The fields of a plain object: declared properties, required or not, also in several parts under `allOf`.
 *
 * Undefined for everything else: other types, alternatives, conditions, and objects that take any further field.
 */
export function fieldsOf(part: SchemaPart, converter: SchemaConverter): ObjectFields | undefined {
  const draft: Draft = { fields: new Map(), required: new Set(), hidden: new Set(), description: undefined, isClosed: false };
  if (!gather(part, converter, draft, 0)) return undefined;
  // An object of which nothing is said takes whatever one likes.
  if (draft.fields.size === 0 && !draft.isClosed && draft.hidden.size === 0) return undefined;
  if (draft.fields.size > MAX_FIELDS) return undefined;
  for (const name of draft.required) {
    if (draft.fields.has(name)) continue;
    if (draft.hidden.has(name)) draft.required.delete(name);
    else draft.fields.set(name, OPEN);
  }
  return draft;
}

interface Draft {
  readonly fields: Map<string, SchemaPart>;
  readonly required: Set<string>;
  readonly hidden: Set<string>;
  description: string | undefined;
  isClosed: boolean;
}

function gather(part: SchemaPart, converter: SchemaConverter, draft: Draft, depth: number): boolean {
  const { schema } = part;
  if (typeof schema === "boolean" || depth > MAX_DEPTH || !isPlain(schema)) return false;
  const { description, required, additionalProperties, unevaluatedProperties } = schema;
  if (additionalProperties !== undefined && additionalProperties !== false) return false;
  if (unevaluatedProperties !== undefined && unevaluatedProperties !== false) return false;
  if (typeof description === "string") draft.description ??= description;
  if (isJsonArray(required)) for (const name of required) if (typeof name === "string") draft.required.add(name);
  for (const name of part.hidden ?? []) draft.hidden.add(name);
  for (const [name, field] of part.fields ?? []) draft.fields.set(name, both(draft.fields.get(name), field));
  draft.isClosed ||= additionalProperties === false || unevaluatedProperties === false;
  if (
    Object.hasOwn(schema, "$ref") &&
    !part.references.slice(0, 1).every((name) => gather(converter.definition(name), converter, draft, depth + 1))
  ) {
    return false;
  }
  return (part.branches ?? []).every((branch) => gather(branch, converter, draft, depth + 1));
}

function isPlain(schema: JsonObject): boolean {
  return Object.keys(schema).every((keyword) => PLAIN.has(keyword)) && isObjectType(schema["type"]);
}

/** Without a type, fields or parts still make it an object. */
function isObjectType(type: JsonValue | undefined): boolean {
  return (
    type === undefined ||
    type === "object" ||
    (isJsonArray(type) && type.includes("object") && type.every((name) => name === "object" || name === "null"))
  );
}

/** Two parts of a body that speak of the same field must both be right. */
function both(one: SchemaPart | undefined, other: SchemaPart): SchemaPart {
  if (one === undefined || one === other || JSON.stringify(one.schema) === JSON.stringify(other.schema)) return other;
  return {
    schema: Object.freeze({ allOf: Object.freeze([one.schema, other.schema]) }),
    references: [...new Set([...one.references, ...other.references])],
    weight: 1 + one.weight + other.weight,
  };
}
