/** Templates that are filled with the input of a call. Their property names are checked against the tool's schema beforehand. */
import { parseBraceTemplate, getValueAtPath, type TemplatePart } from "../../core/base/brace-template.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { ToolError } from "../../core/error.ts";
import type { JsonSchema } from "../../core/tool.ts";
import { valueText } from "../../core/content.ts";
import { findPathProblem } from "../../registry/check-key-templates.ts";

/** A text with property names in braces. */
export class InputTemplate {
  /** The template as written. */
  readonly text: string;
  readonly parts: readonly TemplatePart[];

  /** @throws ToolError `invalid_argument` for a template that cannot be parsed, or that names a property which the schema does not have */
  constructor(text: string, schema: JsonSchema) {
    this.text = text;
    const read = parseBraceTemplate(text);
    if ("reason" in read)
      throw new ToolError("invalid_argument", `the template ${JSON.stringify(text)} cannot be read: ${read.reason}.`, {
        hint: 'Write the name of a property in braces, as in "{path}", and "{{" or "}}" for a brace itself.',
      });
    this.parts = read.parts;
    for (const part of read.parts) if (typeof part !== "string") checkProperty(part, schema, text);
  }

  /** The property path, if the template is a single placeholder and nothing else. */
  get placeholderPath(): readonly string[] | undefined {
    const [only] = this.parts;
    return this.parts.length === 1 && typeof only !== "string" ? only : undefined;
  }

  /**
   * Returns the text with the values of the call; undefined if a value is missing.
   *
   * @param write turns a value into text; left out = strings unchanged, objects and arrays as JSON
   */
  fill(input: JsonObject, write: (value: JsonValue) => string = valueText): string | undefined {
    let filled = "";
    for (const part of this.parts) {
      if (typeof part === "string") filled += part;
      else {
        const value = getInputValue(part, input);
        if (value === undefined) return undefined;
        filled += write(value);
      }
    }
    return filled;
  }
}

/** Undefined also for null. */
export function getInputValue(path: readonly string[], input: JsonObject): JsonValue | undefined {
  return getValueAtPath(path, input) ?? undefined;
}

/** JSON whose strings are templates. A string that is a single placeholder becomes the value itself. */
export type JsonTemplate = InputTemplate | readonly JsonTemplate[] | { readonly [key: string]: JsonTemplate } | number | boolean | null;

const MAX_DEPTH = 32;

/** @throws ToolError like `InputTemplate` */
export function parseJsonTemplate(value: JsonValue, schema: JsonSchema, depth = 0): JsonTemplate {
  if (depth > MAX_DEPTH) throw new ToolError("invalid_argument", `the template nests deeper than ${MAX_DEPTH} levels.`);
  if (typeof value === "string") return new InputTemplate(value, schema);
  if (isJsonArray(value)) return value.map((item) => parseJsonTemplate(item, schema, depth + 1));
  if (isJsonObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, parseJsonTemplate(item, schema, depth + 1)]));
  return value;
}

/** Leaves out items and keys without a value. */
export function fillJson(template: JsonTemplate, input: JsonObject): JsonValue | undefined {
  if (template instanceof InputTemplate)
    return template.placeholderPath === undefined ? template.fill(input) : getInputValue(template.placeholderPath, input);
  if (typeof template !== "object" || template === null) return template;
  if (isTemplateArray(template)) return template.map((item) => fillJson(item, input)).filter((item) => item !== undefined);
  const filled = Object.entries(template).map(([key, item]) => [key, fillJson(item, input)] as const);
  return Object.fromEntries(filled.filter((entry): entry is readonly [string, JsonValue] => entry[1] !== undefined));
}

/** Needed because `Array.isArray` does not narrow readonly arrays. */
function isTemplateArray(template: object): template is readonly JsonTemplate[] {
  return Array.isArray(template);
}

function checkProperty(path: readonly string[], schema: JsonSchema, text: string): void {
  const template = `the template ${JSON.stringify(text)} names`;
  if (typeof schema === "object" && Object.keys(schema).length === 0)
    throw new ToolError("invalid_argument", `${template} "{${path.join(".")}}", but the tool has no inputSchema.`, {
      hint: "Describe its input.",
    });
  const fault = findPathProblem(path, schema);
  if (fault !== undefined) throw new ToolError("invalid_argument", `${template} ${fault.what}.`, { hint: fault.hint });
}
