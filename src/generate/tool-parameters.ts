/** Reads the inputs and outputs of a tool, parameter by parameter, from its schemas. */
import { getOwn } from "../core/base/get-own.ts";
import { isJsonObject } from "../core/base/json.ts";
import type { JsonSchema } from "../core/tool.ts";
import { walkPointer } from "../schema/references/reference-uri.ts";

export interface SchemaParameter {
  /** The name in the schema; `$` for an output that is not an object with properties. */
  readonly name: string;
  readonly description: string;
  readonly type: ParameterType;
}

/** The part of a schema that decides whether a value of one type can be used as another. */
export interface ParameterType {
  /** JSON types without `null`; `integer` and `number` are separate; empty = any type. */
  readonly kinds: ReadonlySet<string>;
  /** The properties of an object, if they are known. */
  readonly keys?: ReadonlySet<string>;
  /** The type of an array's items, if it is known. */
  readonly items?: ParameterType;
  /** Equal for equal types. */
  readonly signature: string;
}

interface Fields {
  readonly [keyword: string]: unknown;
}

/** The name of a whole output. */
export const WHOLE_OUTPUT = "$";
const MAX_DEPTH = 8;
const MAX_PARAMETERS = 1_000;
/** Maximum number of parts of one schema that are read. */
const MAX_VISITS = 10_000;
const KINDS: ReadonlySet<unknown> = new Set(["string", "number", "integer", "boolean", "object", "array"]);
const ANYTHING: ParameterType = { kinds: new Set(), signature: "any" };

/** Returns the top-level properties of an input schema. */
export function inputParameters(schema: JsonSchema): readonly SchemaParameter[] {
  return new SchemaReader(schema).parameters();
}

/** Returns the top-level properties of an output schema, or the whole output if it has none; nothing if the schema does not restrict types. */
export function outputParameters(schema: JsonSchema | undefined): readonly SchemaParameter[] {
  if (schema === undefined) return [];
  const reader = new SchemaReader(schema);
  const properties = reader.parameters();
  if (properties.length > 0) return properties;
  const type = reader.typeOf(schema);
  return type.kinds.size === 0 ? [] : [{ name: WHOLE_OUTPUT, description: descriptionOf(schema), type }];
}

/** Reads one schema, which may be untrusted: parts that nest too deep, or are too many, count as any type. */
class SchemaReader {
  readonly #root: JsonSchema;
  #visitsLeft = MAX_VISITS;

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  parameters(): readonly SchemaParameter[] {
    const properties = [...this.#properties(this.#root, 0)].slice(0, MAX_PARAMETERS);
    return properties.map(([name, schema]) => ({
      name,
      description: descriptionOf(schema) || descriptionOf(this.#resolve(schema)),
      type: this.typeOf(schema),
    }));
  }

  typeOf(schema: unknown, depth = 0): ParameterType {
    const fields = this.#resolve(schema);
    if (fields === undefined || depth > MAX_DEPTH || this.#visitsLeft-- <= 0) return ANYTHING;
    const kinds = new Set(declaredKinds(fields));
    const parts = [...readArray(fields, "anyOf"), ...readArray(fields, "oneOf"), ...readArray(fields, "allOf")];
    this.#visitsLeft -= parts.length;
    const types = parts.map((part) => this.typeOf(part, depth + 1));
    if (kinds.size === 0) for (const type of types) for (const kind of type.kinds) kinds.add(kind);
    const keys = new Set([...this.#properties(fields, depth).keys(), ...types.flatMap((type) => [...(type.keys ?? [])])]);
    const listed = getOwn(fields, "items");
    const items = listed === undefined ? types.find((type) => type.items !== undefined)?.items : this.typeOf(listed, depth + 1);
    if (kinds.size === 0 && keys.size > 0) kinds.add("object");
    if (kinds.size === 0 && items !== undefined) kinds.add("array");
    return makeType(kinds, keys, items);
  }

  /** Returns the properties of an object schema, including those of its `allOf`. */
  #properties(schema: unknown, depth: number): ReadonlyMap<string, unknown> {
    const fields = this.#resolve(schema);
    const found = new Map<string, unknown>();
    if (fields === undefined || depth > MAX_DEPTH || this.#visitsLeft-- <= 0) return found;
    const parts = readArray(fields, "allOf");
    this.#visitsLeft -= parts.length;
    for (const part of parts) {
      for (const [name, inherited] of this.#properties(part, depth + 1)) found.set(name, inherited);
    }
    const properties = getOwn(fields, "properties");
    if (isJsonObject(properties)) for (const [name, value] of Object.entries(properties)) found.set(name, value);
    return found;
  }

  /** Follows references inside the document; undefined for a target that is not an object, and for circular references. */
  #resolve(schema: unknown): Fields | undefined {
    let at = schema;
    for (let steps = 0; steps <= MAX_DEPTH; steps++) {
      if (!isJsonObject(at)) return undefined;
      const reference = getOwn(at, "$ref");
      if (typeof reference !== "string" || typeof this.#root === "boolean") return at;
      if (reference === "#") at = this.#root;
      else if (reference.startsWith("#/")) at = walkPointer(this.#root, reference.slice(1), () => undefined);
      else return at;
    }
    return undefined;
  }
}

function makeType(kinds: ReadonlySet<string>, keys: ReadonlySet<string>, items: ParameterType | undefined): ParameterType {
  const known = items === undefined || items.kinds.size === 0 ? undefined : items;
  return {
    kinds,
    ...(keys.size === 0 ? {} : { keys }),
    ...(known === undefined ? {} : { items: known }),
    signature: JSON.stringify([[...kinds].sort(), [...keys].sort(), known?.signature ?? ""]),
  };
}

/** Returns the types in `type`, or else those of `enum` and `const`; `null` is ignored. */
function declaredKinds(fields: Fields): readonly string[] {
  const type = getOwn(fields, "type");
  const stated: readonly unknown[] = typeof type === "string" ? [type] : Array.isArray(type) ? type : valueKinds(fields);
  return stated.filter((kind): kind is string => KINDS.has(kind));
}

function valueKinds(fields: Fields): readonly string[] {
  const values: readonly unknown[] = Object.hasOwn(fields, "const") ? [fields["const"]] : readArray(fields, "enum");
  return values.map((value) => {
    if (value === null) return "null";
    if (Array.isArray(value)) return "array";
    return Number.isInteger(value) ? "integer" : typeof value;
  });
}

function readArray(fields: Fields, keyword: string): readonly unknown[] {
  const value = getOwn(fields, keyword);
  return Array.isArray(value) ? value : [];
}

function descriptionOf(schema: unknown): string {
  const text = isJsonObject(schema) ? getOwn(schema, "description") : undefined;
  return typeof text === "string" ? text.slice(0, MAX_TEXT_LENGTH) : "";
}

const MAX_TEXT_LENGTH = 1_024;
