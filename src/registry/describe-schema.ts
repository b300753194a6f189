/** Describes a JSON Schema as lines of text: one for each property, with those of nested objects indented. */
import { singleLine } from "../core/base/wording.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../core/base/json.ts";
import type { JsonSchema } from "../core/tool.ts";
import { truncateText } from "../core/base/truncate-text.ts";

const MAX_DEPTH = 4;
/** Maximum number of lines for one schema; a longer one is better read as JSON. */
const MAX_LINES = 400;
const MAX_WORDS = 300;

/**
 * Returns a line such as `- path (string, required): The file.` for each property; a schema without properties is one line of JSON.
 *
 * At most 400 lines, whose last says if more is left out, and four levels.
 */
export function describeSchema(schema: JsonSchema): readonly string[] {
  if (typeof schema === "boolean" || !isJsonObject(schema) || !isJsonObject(schema["properties"])) {
    return isAnything(schema) ? [] : [`JSON Schema: ${shortJson(schema)}`];
  }
  const lines: string[] = [];
  addProperties(lines, schema, 0);
  if (lines.length <= MAX_LINES) return lines;
  return [...lines.slice(0, MAX_LINES), "- … and more that is not shown here."];
}

function isAnything(schema: JsonSchema): boolean {
  if (typeof schema === "boolean") return schema;
  return Object.keys(schema).every((key) => key === "type" || key === "$schema" || key === "additionalProperties") && !holdsValue(schema);
}

/** Whether the schema has a type other than object, which the reader needs to know. */
function holdsValue(schema: object): boolean {
  const type: unknown = Object.hasOwn(schema, "type") ? Reflect.get(schema, "type") : "object";
  return type !== "object";
}

function addProperties(lines: string[], schema: JsonObject, depth: number): void {
  const { properties, required } = schema;
  if (!isJsonObject(properties)) return;
  const needed = new Set(isJsonArray(required) ? required : []);
  for (const [name, property] of Object.entries(properties)) {
    if (lines.length > MAX_LINES) return;
    const fields = isJsonObject(property) ? property : {};
    const text = typeof fields["description"] === "string" ? `: ${oneLine(fields["description"])}` : "";
    lines.push(`${"  ".repeat(depth)}- ${oneLine(name)} (${facts(fields, needed.has(name))})${text}`);
    if (depth + 1 < MAX_DEPTH) addProperties(lines, isJsonObject(fields["items"]) ? fields["items"] : fields, depth + 1);
  }
}

function facts(fields: JsonObject, isRequired: boolean): string {
  const words = [typeOf(fields)];
  if (isRequired) words.push("required");
  if (fields["default"] !== undefined) words.push(`default ${shortJson(fields["default"])}`);
  for (const [keyword, word] of BOUNDS) if (fields[keyword] !== undefined) words.push(`${word} ${shortJson(fields[keyword])}`);
  return words.join(", ");
}

const BOUNDS = [
  ["minimum", "at least"],
  ["maximum", "at most"],
  ["minLength", "min length"],
  ["maxLength", "max length"],
  ["pattern", "pattern"],
  ["format", "format"],
] as const;

function typeOf(fields: JsonObject): string {
  const { type, enum: words, const: only, items, anyOf, oneOf, $ref: reference } = fields;
  if (only !== undefined) return shortJson(only);
  if (isJsonArray(words)) return oneLine(words.map((word) => JSON.stringify(word)).join(" | "));
  const variants = anyOf ?? oneOf;
  if (type === undefined && isJsonArray(variants))
    return oneLine(
      variants
        .slice(0, 8)
        .map((variant) => plainType(isJsonObject(variant) ? variant["type"] : undefined))
        .join(" | "),
    );
  if (type === undefined && typeof reference === "string") return oneLine(reference);
  if (type === "array" && isJsonObject(items)) return `array of ${plainType(items["type"])}`;
  return plainType(type);
}

function plainType(type: JsonValue | undefined): string {
  if (typeof type === "string") return oneLine(type);
  return isJsonArray(type) ? oneLine(type.map(String).join(" | ")) : "any";
}

function shortJson(value: unknown): string {
  return oneLine(JSON.stringify(value) ?? "");
}

/** Puts third-party text on one line. */
function oneLine(text: string): string {
  return truncateText(singleLine(text.slice(0, MAX_WORDS * 4)), MAX_WORDS);
}
