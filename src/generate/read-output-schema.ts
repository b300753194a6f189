/** Reads a schema from a model's answer, in any of the forms that models use. */
import { ToolError } from "../core/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../core/base/json.ts";
import { parseJson } from "../core/base/parse-json.ts";
import type { JsonSchema } from "../core/tool.ts";
import { textAfterThinking } from "../engine/lm/read-reply.ts";
import { compileSchema } from "../schema/compile-schema.ts";
import { fixJsonText } from "../schema/repair/fix-json-text.ts";
import { importSchema } from "../schema/import-schema.ts";
import { wordSet } from "../core/base/wording.ts";

/** Fields in which a model may wrap the schema that it was asked for. */
const WRAPPERS = ["outputSchema", "output_schema", "output_parameters", "outputParameters", "json_schema", "schema", "parameters"];
/** Keywords that identify an object as a schema; `type` does too, but only with the name of a type as its value. */
const SCHEMA_KEYWORDS = ["$ref", "$schema", "allOf", "anyOf", "oneOf", "enum", "properties"];
const MAX_WRAPPINGS = 4;
const FENCE = "```";
/** The beginning of an answer without thinking; such an answer may contain a closing thinking tag of its own. */
const ANSWER_START = /^\s*(?:\{|```)/u;

/**
 * Returns the schema in an answer: as such, wrapped in a field like `output_schema`, or as a map of properties whose values are schemas or names of
 * types. Text is parsed as JSON, in a code block or not.
 *
 * @throws ToolError `invalid_input` if it is none of these, `invalid_schema` if the schema cannot be used
 */
export function readOutputSchema(answer: string | JsonValue): JsonSchema {
  let value = typeof answer === "string" ? parseAnswer(answer) : answer;
  for (let depth = 0; depth < MAX_WRAPPINGS; depth++) {
    const inner = unwrap(value);
    if (inner === undefined) break;
    value = inner;
  }
  if (!isJsonObject(value)) throw noSchemaError("it is not an object");
  const { schema } = importSchema(isSchema(value) ? value : toObjectSchema(value));
  compileSchema(schema);
  return schema;
}

/** Parses the JSON in a text, without thinking before it. Truncated JSON is not repaired: the schema would lack properties, and be cached. */
function parseAnswer(text: string): JsonValue {
  const body = extractCode(ANSWER_START.test(text) ? text : textAfterThinking(text));
  const start = body.indexOf("{");
  const end = body.lastIndexOf("}");
  const found = start >= 0 && end > start ? body.slice(start, end + 1) : body;
  try {
    return parseJson(found);
  } catch (error: unknown) {
    const fixed = fixJsonText(found);
    if ("value" in fixed && !fixed.isCutShort) return fixed.value;
    throw error;
  }
}

/** Returns the content of the first code block; the whole text if there is none. */
function extractCode(text: string): string {
  const start = text.indexOf(FENCE);
  if (start < 0) return text;
  const end = text.indexOf(FENCE, start + FENCE.length);
  return text.slice(start + FENCE.length, end < 0 ? text.length : end);
}

/** Returns the content of a wrapper; undefined if there is none. A field like `schema` next to other schemas is a property, not a wrapper. */
function unwrap(value: JsonValue): JsonValue | undefined {
  if (!isJsonObject(value) || isSchema(value)) return undefined;
  const wrapper = WRAPPERS.find((name) => Object.hasOwn(value, name));
  if (wrapper === undefined || !isJsonObject(value[wrapper])) return undefined;
  const others = Object.keys(value).filter((name) => name !== wrapper);
  return others.every((name) => !isJsonObject(value[name])) ? value[wrapper] : undefined;
}

function isSchema(value: JsonObject): boolean {
  const type = Object.hasOwn(value, "type") ? value["type"] : undefined;
  if (Array.isArray(type)) return true;
  if (
    typeof type === "string" &&
    isTypeName(type) &&
    !Object.entries(value).some(([name, item]) => name !== "type" && isProperty(name, item))
  )
    return true;
  return SCHEMA_KEYWORDS.some((keyword) => Object.hasOwn(value, keyword) && isKeywordValue(keyword, value[keyword]));
}

/** Whether a member can only be a property: in `{"type": "string", "city": "string"}`, `type` is one too. */
function isProperty(name: string, item: JsonValue): boolean {
  return typeof item === "string" && isTypeName(item) && !ANNOTATIONS.has(name);
}

const ANNOTATIONS: ReadonlySet<string> = wordSet(
  "description title format pattern default const $comment $id contentEncoding contentMediaType",
);

function isTypeName(word: string): boolean {
  try {
    compileSchema(importSchema({ type: word }).schema);
    return true;
  } catch {
    return false;
  }
}

/** Whether the value is one that the keyword takes, and not the schema of a property with that name. */
function isKeywordValue(keyword: string, value: JsonValue | undefined): boolean {
  if (keyword === "$ref" || keyword === "$schema") return typeof value === "string";
  if (keyword === "properties") return isJsonObject(value) && typeof value["type"] !== "string";
  return Array.isArray(value);
}

function toObjectSchema(map: JsonObject): JsonObject {
  const properties = Object.entries(map).map(([name, item]): [string, JsonValue] => {
    if (typeof item === "string" && isTypeName(item)) return [name, { type: item }];
    if (isJsonObject(item) || typeof item === "boolean") return [name, item];
    throw noSchemaError(`${JSON.stringify(name)} is neither a schema nor a type`);
  });
  if (properties.length === 0) throw noSchemaError("it is empty");
  return { type: "object", properties: Object.fromEntries(properties) };
}

function noSchemaError(reason: string): ToolError {
  return new ToolError("invalid_input", `The answer does not contain a schema: ${reason}.`);
}
