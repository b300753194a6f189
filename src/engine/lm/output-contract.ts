/** The contract of a simulated result: the tool's output schema, the request format for the model, and the facts. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { ResponseFormat } from "../../core/model.ts";
import type { Tool } from "../../core/tool.ts";
import { compileSchema, type Validator } from "../../schema/compile-schema.ts";
import { SchemaShapes } from "../../schema/schema-shape.ts";

/** Maximum depth to which nested unions and recursive schemas are followed. */
const MAX_UNION_DEPTH = 4;
const MAX_PROBLEMS = 10;
/** Matches references outside the definitions, and `$id`: both would change their meaning in a wrapped schema. */
const OTHER_REFERENCE = /"\$(?:ref|dynamicRef)":"(?!#\/(?:\$defs|definitions)\/)|"\$id":/u;

/** The properties that a schema declares. */
interface DeclaredProperties {
  readonly properties: ReadonlyMap<string, JsonValue>;
  /** Whether other keys count as declared, too: the schema declares none, or describes additional ones. */
  readonly isOpen: boolean;
}

/** Created once for each tool, whose schema must not change afterwards. */
export class OutputContract {
  readonly responseFormat: ResponseFormat;
  /** Whether the output is not an object, so that the model gives it under the key `result`. */
  readonly isWrapped: boolean;
  readonly #shapes: SchemaShapes | undefined;
  readonly #validator: Validator | undefined;

  /** @throws ToolError `invalid_schema` */
  constructor({ name, outputSchema }: Tool) {
    const saysNothing =
      outputSchema === undefined || outputSchema === true || (isJsonObject(outputSchema) && Object.keys(outputSchema).length === 0);
    this.#shapes = saysNothing ? undefined : new SchemaShapes(outputSchema);
    this.#validator = saysNothing ? undefined : compileSchema(outputSchema);
    this.isWrapped = this.#shapes !== undefined && !this.#mayBeObject(this.#shapes.root, 0);
    const schema = this.isWrapped ? wrapSchema(this.#shapes?.root) : this.#shapes?.root;
    this.responseFormat = isJsonObject(schema) ? { schema, name: formatName(name) } : {};
  }

  get hasSchema(): boolean {
    return this.#validator !== undefined;
  }

  /** One line for each problem; [] for a valid output. */
  findProblems(output: JsonValue): readonly string[] {
    if (this.#validator === undefined || this.#validator.check(output)) return [];
    return this.#validator.problems(output, MAX_PROBLEMS).map(({ path, message }) => `${path}: ${message}`);
  }

  declares(key: string): boolean {
    return isDeclared(this.#root, key);
  }

  /** The declared properties, in the object's order. */
  pickDeclared(object: JsonObject): JsonObject {
    const root = this.#root;
    return Object.fromEntries(Object.entries(object).filter(([key]) => isDeclared(root, key)));
  }

  /** Replaces declared properties of the output by their facts; objects are merged property by property. */
  withFacts(output: JsonValue, facts: JsonValue | undefined): JsonValue {
    if (!isJsonObject(facts) || this.isWrapped) return output;
    return this.#overlay(output, facts, this.#shapes?.root);
  }

  /** The output, if the facts are all of it; undefined if the model has to add something. */
  outputFromFacts(facts: JsonValue): JsonValue | undefined {
    if (!isJsonObject(facts)) return facts;
    if (this.#shapes === undefined || this.isWrapped || !this.#isComplete(facts, this.#shapes.root)) return undefined;
    const output = this.withFacts({}, facts);
    return this.findProblems(output).length === 0 ? output : undefined;
  }

  get #root(): DeclaredProperties {
    return this.#readDeclared(this.#shapes?.root, 0);
  }

  #readDeclared(schema: JsonValue | undefined, depth: number): DeclaredProperties {
    const shape = this.#shapes?.shapeOf(schema);
    if (shape === undefined) return { properties: new Map(), isOpen: true };
    const properties = new Map(shape.properties);
    const { additional, patterns, closed } = shape;
    let isOpen = patterns.length > 0 || additional === true || isJsonObject(additional);
    const parts = depth < MAX_UNION_DEPTH ? shape.unions.flat().map((part) => this.#readDeclared(part, depth + 1)) : [];
    for (const part of parts.filter(({ properties: own }) => own.size > 0)) {
      isOpen ||= part.isOpen;
      for (const [key, property] of part.properties) if (!properties.has(key)) properties.set(key, property);
    }
    return { properties, isOpen: isOpen || (properties.size === 0 && !closed) };
  }

  #overlay(generated: JsonValue | undefined, facts: JsonObject, schema: JsonValue | undefined): JsonObject {
    const declared = this.#readDeclared(schema, 0);
    const entries = new Map(isJsonObject(generated) ? Object.entries(generated) : []);
    for (const [key, fact] of Object.entries(facts)) {
      if (!isDeclared(declared, key)) continue;
      entries.set(key, isJsonObject(fact) ? this.#overlay(entries.get(key), fact, declared.properties.get(key)) : fact);
    }
    return Object.fromEntries(entries);
  }

  #isComplete(facts: JsonObject, schema: JsonValue | undefined): boolean {
    const { properties, isOpen } = this.#readDeclared(schema, 0);
    if (properties.size === 0) return Object.keys(facts).length > 0 || !isOpen;
    return [...properties].every(([key, property]) => {
      const fact = Object.hasOwn(facts, key) ? facts[key] : undefined;
      return fact !== undefined && (!isJsonObject(fact) || this.#isComplete(fact, property));
    });
  }

  #mayBeObject(schema: JsonValue | undefined, depth: number): boolean {
    const shape = this.#shapes?.shapeOf(schema);
    if (shape === undefined || depth > MAX_UNION_DEPTH) return true;
    if (shape.types !== undefined) return shape.types.includes("object");
    if (shape.members !== undefined) return shape.members.some(isJsonObject);
    return shape.unions.every((union) => union.some((part) => this.#mayBeObject(part, depth + 1)));
  }
}

function isDeclared({ properties, isOpen }: DeclaredProperties, key: string): boolean {
  return isOpen || properties.has(key);
}

/** The schema of an object with the output under `result`; undefined if wrapping would change the meaning of the schema. */
function wrapSchema(schema: JsonValue | undefined): JsonObject | undefined {
  if (!isJsonObject(schema) || OTHER_REFERENCE.test(JSON.stringify(schema))) return undefined;
  const { $schema, $defs, definitions, ...result } = schema;
  const head = { $schema, $defs, definitions };
  const declaredHead = Object.fromEntries(
    Object.entries(head).flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const])),
  );
  return { type: "object", properties: { result }, required: ["result"], additionalProperties: false, ...declaredHead };
}

/** The tool's name in characters that providers allow. */
function formatName(toolName: string): string {
  return toolName.replace(/[^A-Za-z0-9_-]/gu, "_").slice(0, 64) || "result";
}

/**
 * Removes keys whose values are empty strings, arrays, objects or null; undefined if nothing is left. Items of arrays stay, as their positions have a
 * meaning: the cells of a row, the answers to a batch.
 */
export function withoutEmpty(value: JsonValue): JsonValue | undefined {
  if (value === "" || value === null) return undefined;
  if (typeof value !== "object") return value;
  if (isJsonArray(value)) {
    return value.length === 0 ? undefined : value.map((item) => withoutEmpty(item) ?? item);
  }
  const entries = Object.entries(value).flatMap(([key, item]) => {
    const left = withoutEmpty(item);
    return left === undefined ? [] : [[key, left] as const];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
