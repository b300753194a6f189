/** Converts schemas of other systems, with the type names of Python, Java and others, to JSON Schema. */
import { ToolError } from "../core/error.ts";
import type { JsonLimits } from "../core/base/json-limits.ts";
import { copyJson, isJsonObject, formatJsonPath, type JsonObject, type JsonValue } from "../core/base/json.ts";
import type { JsonSchema } from "../core/tool.ts";
import { checkNotLibrarySchema } from "./check-json-schema.ts";
import { mapKeywords } from "./keywords/map-keywords.ts";
import { showValue } from "./schema-problem.ts";
import { wordEntries } from "../core/base/wording.ts";

/** A converted schema, and what was changed. */
export interface ImportedSchema {
  /** Deeply frozen plain JSON. */
  readonly schema: JsonSchema;
  /** One line for each change, with the `$` path of the changed keyword. */
  readonly notes: readonly string[];
}

/** Type names of other systems, in lower case; undefined = any type, so the keyword is left out. */
const TYPE_WORDS: ReadonlyMap<string, string | undefined> = new Map([
  ...wordEntries("object", "object dict dictionary hashmap hashtable map"),
  ...wordEntries("array", "array list arraylist tuple set queue stack"),
  ...wordEntries("number", "number float double decimal"),
  ...wordEntries("integer", "integer int long short byte bigint"),
  ...wordEntries("string", "string str char text"),
  ...wordEntries("boolean", "boolean bool"),
  ...wordEntries("null", "null none"),
  ...wordEntries(undefined, "any"),
  ["", undefined] as const,
]);

/**
 * Replaces type names that JSON Schema does not have (`dict`, `float`, `tuple`, `any`, in any case) by those it has, wherever `type` is a
 * keyword, and leaves everything else as it is: a property or an enum member named "dict" is not a type. The given schema is not changed. An
 * unknown name stays, and the compiler refuses it.
 *
 * A missing schema (`undefined`, `null`) becomes that of a tool without parameters.
 *
 * @throws ToolError `invalid_schema` if it is not an object or boolean, not JSON, or nested more than 256 levels deep
 */
export function importSchema(raw: unknown): ImportedSchema {
  if (raw === undefined || raw === null) return { schema: Object.freeze({ type: "object" }), notes: [] };
  checkNotLibrarySchema(raw);
  const copy = copySchema(raw);
  if (typeof copy === "boolean") return { schema: copy, notes: [] };
  const notes: string[] = [];
  return { schema: mapKeywords(copy, (keyword, value, steps) => (keyword === "type" ? importType(value, steps, notes) : value)), notes };
}

/** Schemas nest more deeply than values: two levels of JSON for each level of a value. */
const SCHEMA_LIMITS: JsonLimits = { maxDepth: 256 };

/**
 * Returns a deeply frozen copy of a schema, so that it cannot be changed after it was compiled.
 *
 * @throws ToolError `invalid_schema` if it is not an object or boolean, or not JSON
 */
export function copySchema(raw: unknown): boolean | JsonObject {
  let copy: JsonValue;
  try {
    copy = copyJson(raw, SCHEMA_LIMITS).value;
  } catch (error: unknown) {
    throw new ToolError("invalid_schema", `The schema is not JSON: ${ToolError.fromUnknown(error).message}`, { cause: error });
  }
  if (typeof copy === "boolean" || isJsonObject(copy)) return copy;
  throw new ToolError("invalid_schema", `A schema must be an object or a boolean, not ${showValue(copy)}.`);
}

function importType(type: JsonValue, steps: readonly (string | number)[], notes: string[]): JsonValue | undefined {
  if (typeof type === "string") {
    const word = importWord(type);
    if (word !== type)
      notes.push(`${formatJsonPath(steps)}: ${JSON.stringify(type)} → ${word === undefined ? "any type" : JSON.stringify(word)}`);
    return word;
  }
  if (!Array.isArray(type)) return type;
  const words = (type as readonly JsonValue[]).map((word) => (typeof word === "string" ? importWord(word) : word));
  const distinct = words.includes(undefined) ? undefined : [...new Set(words)].filter((word) => word !== undefined);
  if (distinct !== undefined && distinct.length === type.length && words.every((word, index) => word === type[index])) return type;
  notes.push(`${formatJsonPath(steps)}: ${JSON.stringify(type)} → ${distinct === undefined ? "any type" : JSON.stringify(distinct)}`);
  return distinct === undefined ? undefined : Object.freeze(distinct);
}

function importWord(word: string): string | undefined {
  const known = word.trim().toLowerCase();
  return TYPE_WORDS.has(known) ? TYPE_WORDS.get(known) : word;
}
