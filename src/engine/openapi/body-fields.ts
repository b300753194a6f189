/** Reads the fields from the schema of a body, if it describes a plain object. */
import { isJsonArray, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { ANY_SCHEMA_PART, type SchemaConverter, type SchemaPart } from "./schema-converter.ts";
import { wordSet } from "../../core/base/wording.ts";
import { addTo } from "../../core/base/add-to.ts";

export interface ObjectFields {
  readonly fields: ReadonlyMap<string, SchemaPart>;
  readonly required: ReadonlySet<string>;
  /** The description of the body as a whole. */
  readonly description: string | undefined;
}

const PLAIN_KEYWORDS: ReadonlySet<string> = wordSet(
  "$ref type properties required allOf additionalProperties unevaluatedProperties title description deprecated examples " +
    "minProperties maxProperties",
);
const MAX_DEPTH = 20;
const MAX_FIELDS = 1_000;

/**
 * The declared properties of a plain object, required or not, including those of parts under `allOf`.
 *
 * Undefined for everything else: other types, alternatives, conditions, and objects that accept further fields.
 */
export function readObjectFields(part: SchemaPart, converter: SchemaConverter): ObjectFields | undefined {
  const draft: FieldsDraft = {
    parts: new Map(),
    required: new Set(),
    hidden: new Set(),
    definitions: new Set(),
    description: undefined,
    isClosed: false,
  };
  if (!collectFields(part, converter, draft, 0)) return undefined;
  // a schema without any fields accepts every object
  if (draft.parts.size === 0 && !draft.isClosed && draft.hidden.size === 0) return undefined;
  if (draft.parts.size > MAX_FIELDS) return undefined;
  const fields = new Map([...draft.parts].map(([name, parts]) => [name, allOfParts(parts)]));
  for (const name of draft.required) {
    if (fields.has(name)) continue;
    if (draft.hidden.has(name)) draft.required.delete(name);
    else fields.set(name, ANY_SCHEMA_PART);
  }
  return { fields, required: draft.required, description: draft.description };
}

interface FieldsDraft {
  /** The schemas of each field, from all parts of the body. */
  readonly parts: Map<string, SchemaPart[]>;
  readonly required: Set<string>;
  readonly hidden: Set<string>;
  /** Definitions that were read already: each is read once, as the paths to them may be too many. */
  readonly definitions: Set<string>;
  description: string | undefined;
  isClosed: boolean;
}

function collectFields(part: SchemaPart, converter: SchemaConverter, draft: FieldsDraft, depth: number): boolean {
  const { schema } = part;
  if (typeof schema === "boolean" || depth > MAX_DEPTH || !isPlainSchema(schema)) return false;
  const { description, required, additionalProperties, unevaluatedProperties } = schema;
  if (additionalProperties !== undefined && additionalProperties !== false) return false;
  if (unevaluatedProperties !== undefined && unevaluatedProperties !== false) return false;
  if (typeof description === "string") draft.description ??= description;
  if (isJsonArray(required)) for (const name of required) if (typeof name === "string") draft.required.add(name);
  for (const name of part.hidden ?? []) draft.hidden.add(name);
  for (const [name, field] of part.fields ?? []) {
    addTo(draft.parts, name, field);
  }
  draft.isClosed ||= additionalProperties === false || unevaluatedProperties === false;
  const [definition] = Object.hasOwn(schema, "$ref") ? part.references : [];
  if (definition !== undefined && !draft.definitions.has(definition)) {
    draft.definitions.add(definition);
    if (!collectFields(converter.getDefinition(definition), converter, draft, depth + 1)) return false;
  }
  return (part.branches ?? []).every((branch) => collectFields(branch, converter, draft, depth + 1));
}

function isPlainSchema(schema: JsonObject): boolean {
  return Object.keys(schema).every((keyword) => PLAIN_KEYWORDS.has(keyword)) && isObjectType(schema["type"]);
}

/** Whether the type is object. A schema without a type counts as one, by its fields or parts. */
function isObjectType(type: JsonValue | undefined): boolean {
  return (
    type === undefined ||
    type === "object" ||
    (isJsonArray(type) && type.includes("object") && type.every((name) => name === "object" || name === "null"))
  );
}

/** Combines the schemas of one field from several parts: all of them must match. */
function allOfParts(parts: readonly SchemaPart[]): SchemaPart {
  const [first = ANY_SCHEMA_PART] = parts;
  if (parts.length < 2) return first;
  const different = [...new Map(parts.map((part) => [JSON.stringify(part.schema), part])).values()];
  const [only = first] = different;
  if (different.length < 2) return only;
  return {
    schema: Object.freeze({ allOf: Object.freeze(different.map(({ schema }) => schema)) }),
    references: [...new Set(different.flatMap(({ references }) => references))],
    weight: different.reduce((sum, { weight }) => sum + weight, 1),
  };
}
