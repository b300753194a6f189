/** Collects the constraints of a schema on one value, across `$ref` and `allOf`: everything that repairs need. */
import { pushAll } from "../core/collections/push-all.ts";
import { type JsonObject, type JsonValue, isJsonArray, isJsonObject } from "../core/base/json.ts";
import type { JsonSchema } from "../core/tool.ts";
import { foldKey } from "./repair/coerce.ts";
import type { PatternBudget } from "./pattern/pattern.ts";
import { getOwn } from "../core/base/get-own.ts";
import { References } from "./references/references.ts";
import { SchemaParts } from "./schema-part.ts";
import { getOrAdd } from "../core/base/get-or-add.ts";

export interface SchemaShape {
  /** undefined if every type is allowed. */
  readonly types: readonly string[] | undefined;
  /** The values of `enum`, or the one of `const`. */
  readonly members: readonly JsonValue[] | undefined;
  readonly properties: ReadonlyMap<string, JsonValue>;
  readonly required: ReadonlySet<string>;
  /** Whether keys that are neither in `properties` nor match one of `patterns` are forbidden. */
  readonly closed: boolean;
  /** The keys of `patternProperties`. */
  readonly patterns: readonly string[];
  /** The schemas of `patterns`, in the same order. */
  readonly patternSchemas: readonly JsonValue[];
  /** The schema of keys that are neither in `properties` nor match a pattern. */
  readonly additional: JsonValue | undefined;
  readonly prefixItems: readonly JsonValue[];
  readonly items: JsonValue | undefined;
  /** The branches of every `anyOf` and `oneOf`. */
  readonly unions: readonly (readonly JsonValue[])[];
  readonly defaultValue: JsonValue | undefined;
}

const MAX_FACETS = 32;
const EMPTY: JsonObject = Object.freeze({});

/**
 * Reads the shapes of a schema and of its parts, each once.
 *
 * Resolves `$ref` within the document (JSON pointers, anchors and `$id`s). Values under other keywords (`$dynamicRef`, `if`) are merely not
 * repaired: the validator checks every repaired value anyway.
 */
export class SchemaShapes {
  readonly root: JsonValue;
  readonly parts: SchemaParts;
  readonly #references: References | undefined;
  readonly #shapes = new Map<JsonObject, SchemaShape>();
  readonly #foldedKeys = new Map<SchemaShape, ReadonlyMap<string, string | undefined>>();

  constructor(root: JsonSchema) {
    this.root = root as JsonValue; // a schema that compiles is plain JSON
    this.parts = new SchemaParts(this.root);
    this.#references = isJsonObject(this.root) ? new References(this.root) : undefined;
  }

  shapeOf(schema: JsonValue | undefined): SchemaShape | undefined {
    if (!isJsonObject(schema)) return undefined;
    return getOrAdd(this.#shapes, schema, () => mergeFacets(this.#facets(schema)));
  }

  /** True if the object must not have this key; false if the patterns could not be tested within their budget. */
  forbidsKey(shape: SchemaShape, key: string, budget: PatternBudget): boolean {
    if (!shape.closed || shape.properties.has(key)) return false;
    return !shape.patterns.some((pattern) => budget.matches(pattern, key)) && (shape.patterns.length === 0 || !budget.isUsedUp);
  }

  /** Returns the schema of a key's value: of the property, else of the first pattern that matches, else of all other keys. */
  schemaForKey(shape: SchemaShape, key: string, budget: PatternBudget): JsonValue | undefined {
    const property = shape.properties.get(key);
    if (property !== undefined || shape.patterns.length === 0) return property ?? shape.additional;
    const match = shape.patterns.findIndex((pattern) => budget.matches(pattern, key));
    return match < 0 ? shape.additional : shape.patternSchemas[match];
  }

  /** Returns the property that equals `key` except for case and separators; undefined if there are none or several. */
  findSimilarKey(shape: SchemaShape, key: string): string | undefined {
    let folded = this.#foldedKeys.get(shape);
    if (folded === undefined) {
      const names = new Map<string, string | undefined>();
      for (const name of shape.properties.keys()) {
        const fold = foldKey(name);
        names.set(fold, names.has(fold) ? undefined : name);
      }
      folded = names;
      this.#foldedKeys.set(shape, folded);
    }
    return folded.get(foldKey(key));
  }

  /** Returns the schema and all subschemas that apply to the same value. */
  #facets(schema: JsonObject): readonly JsonObject[] {
    const facets = [schema];
    for (let next = 0; next < facets.length && facets.length < MAX_FACETS; next++) {
      const facet = facets[next] ?? EMPTY;
      const reference = getOwn(facet, "$ref");
      const target = typeof reference === "string" ? this.#references?.resolve(reference) : undefined;
      for (const part of [target, ...arrayAt(facet, "allOf")]) {
        if (isJsonObject(part) && !facets.includes(part)) facets.push(part);
      }
    }
    return facets;
  }
}

/** Merges the facets of one value; if two define the same key, the first wins. */
function mergeFacets(facets: readonly JsonObject[]): SchemaShape {
  const properties = new Map<string, JsonValue>();
  const required = new Set<string>();
  const unions: (readonly JsonValue[])[] = [];
  let types: readonly string[] | undefined;
  const patterns: string[] = [];
  const patternSchemas: JsonValue[] = [];
  let closed = false;
  for (const facet of facets) {
    const type = typesOf(getOwn(facet, "type"));
    if (type !== undefined) types = types === undefined ? type : types.filter((name) => type.includes(name));
    for (const [name, schema] of Object.entries(objectAt(facet, "properties"))) if (!properties.has(name)) properties.set(name, schema);
    for (const name of arrayAt(facet, "required")) if (typeof name === "string") required.add(name);
    for (const union of ["anyOf", "oneOf"]) if (Object.hasOwn(facet, union)) unions.push(arrayAt(facet, union));
    const byPattern = objectAt(facet, "patternProperties");
    pushAll(patterns, Object.keys(byPattern));
    pushAll(patternSchemas, Object.values(byPattern));
    closed ||=
      getOwn(facet, "additionalProperties") === false ||
      (getOwn(facet, "unevaluatedProperties") === false && !facets.some(mayAllowMoreKeys));
  }
  return {
    types,
    members: membersOf(facets),
    properties,
    required,
    closed,
    patterns,
    patternSchemas,
    additional: firstValue(facets, "additionalProperties"),
    ...itemsOf(facets),
    unions,
    defaultValue: firstValue(facets, "default"),
  };
}

/** A key that only these keywords declare counts as evaluated, and may be allowed even if `properties` lacks it. */
function mayAllowMoreKeys(facet: JsonObject): boolean {
  return ["anyOf", "oneOf", "if", "dependentSchemas", "$dynamicRef"].some((keyword) => Object.hasOwn(facet, keyword));
}

function typesOf(type: JsonValue | undefined): readonly string[] | undefined {
  if (typeof type === "string") return [type];
  return isJsonArray(type) ? type.filter((name) => typeof name === "string") : undefined;
}

function membersOf(facets: readonly JsonObject[]): readonly JsonValue[] | undefined {
  for (const facet of facets) {
    const constant = getOwn(facet, "const");
    if (constant !== undefined) return [constant];
    if (Object.hasOwn(facet, "enum")) return arrayAt(facet, "enum");
  }
  return undefined;
}

/** In draft-07, `items: [a, b]` and `additionalItems: c` are what is now `prefixItems: [a, b]` and `items: c`. */
function itemsOf(facets: readonly JsonObject[]): Pick<SchemaShape, "prefixItems" | "items"> {
  const items = firstValue(facets, "items");
  if (isJsonArray(items)) return { prefixItems: items, items: firstValue(facets, "additionalItems") };
  const prefix = firstValue(facets, "prefixItems");
  return { prefixItems: isJsonArray(prefix) ? prefix : [], items };
}

function firstValue(facets: readonly JsonObject[], keyword: string): JsonValue | undefined {
  for (const facet of facets) {
    const value = getOwn(facet, keyword);
    if (value !== undefined) return value;
  }
  return undefined;
}

function objectAt(facet: JsonObject, keyword: string): JsonObject {
  const value = getOwn(facet, keyword);
  return isJsonObject(value) ? value : EMPTY;
}

function arrayAt(facet: JsonObject, keyword: string): readonly JsonValue[] {
  const value = getOwn(facet, keyword);
  return isJsonArray(value) ? value : [];
}
