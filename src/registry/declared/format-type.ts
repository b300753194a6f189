/** A JSON Schema as a TypeScript type, for a model to read. */
import { isJsonArray, isJsonObject, type JsonValue } from "../../core/base/json.ts";
import { getOwn } from "../../core/base/get-own.ts";
import { escapeUnit, escapeInvisible } from "../../core/base/escape-invisible.ts";
import type { JsonSchema } from "../../core/tool.ts";
import { SchemaShapes, type SchemaShape } from "../../schema/schema-shape.ts";

/** Maximum depth; deeper parts are `unknown`. */
const MAX_DEPTH = 6;
/** Maximum number of parts of one schema; further parts are `unknown`. */
const MAX_PARTS = 300;
/** Maximum length of the keys and comments of one schema; the rest is left out. */
const MAX_CHARS = 20_000;
/** Maximum number of members of an `enum` that is written as literals; a larger one is written as the type of its members. */
const MAX_MEMBERS = 30;
const MAX_LITERAL = 100;
const MAX_COMMENT = 200;
/** Maximum length of the part of a description that is read. */
const MAX_READ_CHARS = 1_000;
const ANY_OBJECT = "{ [key: string]: unknown }";
/** Types of union members that only add requirements, such as `{ required: ["a"] }`. */
const VAGUE: ReadonlySet<string> = new Set(["unknown", ANY_OBJECT]);

/** Converts a schema to a type on one line. The same schema always gives the same text. Never throws; unreadable parts are `unknown`. */
export function formatType(schema: JsonSchema | undefined): string {
  if (schema === undefined || schema === true) return "unknown";
  try {
    return new TypeWriter(schema).write();
  } catch {
    return "unknown"; // a schema that cannot be read is rejected when its tool is called
  }
}

/** A key as written in a type: quoted unless it is an identifier. */
export function formatKey(key: string): string {
  return /^[A-Za-z_$][\w$]*$/u.test(key) ? key : quoted(key);
}

/** `/** … *\/` with a description on one line, or empty. The description cannot close the comment, and has no invisible characters. */
export function formatComment(description: unknown): string {
  if (typeof description !== "string") return "";
  const line = escapeInvisible(description.slice(0, MAX_READ_CHARS).trim().replaceAll(/\s+/gu, " ")).replaceAll("*/", "* /").toWellFormed();
  if (line === "") return "";
  return `/** ${line.length > MAX_COMMENT ? `${line.slice(0, MAX_COMMENT - 1).toWellFormed()}…` : line} */`;
}

/** Whether every property is optional. */
export function canOmitInput(schema: JsonSchema): boolean {
  if (typeof schema === "boolean") return schema;
  try {
    const shapes = new SchemaShapes(schema);
    const root = shapes.shapeOf(shapes.root);
    const demands = (part: JsonValue): boolean => part === false || (shapes.shapeOf(part)?.required.size ?? 0) > 0;
    return root === undefined || (root.required.size === 0 && !root.unions.some((union) => union.every(demands)));
  } catch {
    return false;
  }
}

class TypeWriter {
  readonly #shapes: SchemaShapes;
  #partsLeft = MAX_PARTS;
  #charsLeft = MAX_CHARS;

  constructor(schema: JsonSchema) {
    this.#shapes = new SchemaShapes(schema);
  }

  write(): string {
    return this.#type(this.#shapes.root, 0);
  }

  get #isFull(): boolean {
    return this.#partsLeft < 0 || this.#charsLeft < 0;
  }

  #type(schema: JsonValue | undefined, depth: number): string {
    if (schema === false) return "never";
    this.#partsLeft--;
    if (depth > MAX_DEPTH || this.#isFull) return "unknown";
    const shape = this.#shapes.shapeOf(schema);
    if (shape === undefined) return "unknown";
    const { members, unions, types } = shape;
    if (members !== undefined && members.length <= MAX_MEMBERS) {
      const literals = members.map(formatLiteral);
      if (!literals.includes(undefined)) return formatUnion(literals);
    }
    const chosen = unions.map((union) => this.#union(union, depth + 1)).filter((text) => !VAGUE.has(text));
    if (shape.properties.size === 0 && chosen.length > 0) return formatIntersection(chosen);
    if (types === undefined && shape.properties.size === 0) return "unknown";
    const own = types === undefined ? this.#object(shape, depth) : formatUnion(types.map((type) => this.#named(type, shape, depth)));
    return formatIntersection([own, ...chosen]);
  }

  /** Writes a union. Members that only add requirements are left out if there are no others, because they alone would say nothing. */
  #union(union: readonly JsonValue[], depth: number): string {
    const texts = union.map((part) => this.#type(part, depth));
    if (texts.every((text) => VAGUE.has(text))) return "unknown";
    return formatUnion(texts.map((text, index) => (VAGUE.has(text) ? this.#demanded(union[index], text) : text)));
  }

  #demanded(schema: JsonValue | undefined, text: string): string {
    const required = [...(this.#shapes.shapeOf(schema)?.required ?? [])];
    const fields = required.map((key) => `${formatKey(key)}: unknown`).join("; ");
    this.#charsLeft -= fields.length;
    return required.length === 0 || this.#isFull ? text : `{ ${fields} }`;
  }

  #named(type: string, shape: SchemaShape, depth: number): string {
    if (type === "string" || type === "boolean" || type === "null") return type;
    if (type === "number" || type === "integer") return "number";
    if (type === "array") return this.#array(shape, depth);
    return type === "object" ? this.#object(shape, depth) : "unknown";
  }

  #array({ prefixItems, items }: SchemaShape, depth: number): string {
    const first = prefixItems.map((item) => this.#type(item, depth + 1));
    if (first.length > 0 && (items === false || items === undefined)) return `[${first.join(", ")}]`;
    const rest = formatArray(this.#type(items, depth + 1));
    return first.length > 0 ? `[${first.join(", ")}, ...${rest}]` : rest;
  }

  #object({ properties, required, additional, patternSchemas, closed }: SchemaShape, depth: number): string {
    const fields: string[] = [];
    for (const [key, schema] of properties) {
      if (this.#isFull) {
        fields.push("/* … */");
        break;
      }
      const comment = formatComment(isJsonObject(schema) ? getOwn(schema, "description") : undefined);
      const start = `${comment === "" ? "" : `${comment} `}${formatKey(key)}${required.has(key) ? "" : "?"}: `;
      this.#charsLeft -= start.length;
      fields.push(start + this.#type(schema, depth + 1));
    }
    const others = [...patternSchemas.slice(0, MAX_MEMBERS), ...(isJsonObject(additional) ? [additional] : [])];
    if (others.length > 0) fields.push(`[key: string]: ${formatUnion(others.map((schema) => this.#type(schema, depth + 1)))}`);
    if (fields.length > 0) return `{ ${fields.join("; ")} }`;
    return closed ? "{}" : ANY_OBJECT;
  }
}

function formatArray(item: string): string {
  const isOne = /^[\w$]+$|^\{.*\}$/u.test(item) && !/\}(?:\[\])* [|&] /u.test(item);
  return isOne ? `${item}[]` : `(${item})[]`;
}

function formatIntersection(types: readonly string[]): string {
  return types.length === 1 ? types.join("") : types.map((type) => (type.includes(" | ") ? `(${type})` : type)).join(" & ");
}

function formatUnion(types: readonly (string | undefined)[]): string {
  const different = [...new Set(types)].filter((type) => type !== undefined && type !== "never");
  if (different.includes("unknown")) return "unknown";
  return different.length === 0 ? "never" : different.join(" | ");
}

/** The literal of a value; undefined if it is long or not a primitive. */
function formatLiteral(value: JsonValue): string | undefined {
  if (typeof value === "string") return value.length > MAX_LITERAL ? undefined : quoted(value);
  return isJsonArray(value) || isJsonObject(value) ? undefined : JSON.stringify(value);
}

/** Quotes a text without invisible characters, and escapes characters that some readers treat as line ends. */
function quoted(text: string): string {
  return escapeInvisible(JSON.stringify(text)).replaceAll(/[\u2028\u2029]/gu, escapeUnit);
}
