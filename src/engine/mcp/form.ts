/** The flat forms of elicitation: what may be asked in one, and what an answer must look like. */
import type { JsonObject, JsonValue } from "../../core/json.ts";
import { copyJson, isJsonArray, isJsonObject } from "../../core/json.ts";
import { compileSchema } from "../../schema/compile-schema.ts";
import type { Validator } from "../../schema/compile-schema.ts";

const MAX_FIELDS = 100;
const SIMPLE_TYPES: ReadonlySet<unknown> = new Set(["string", "number", "integer", "boolean"]);

export interface Form {
  readonly schema: JsonObject;
  /** The first field that asks for something nobody should type into a stranger's form. */
  readonly secretField: string | undefined;
  /** What was filled in, with the defaults of what was not; or why it does not do. */
  complete(content: JsonObject): { readonly content: JsonObject } | { readonly problem: string };
}

/**
 * Reads the `requestedSchema` of a form.
 *
 * @returns what is wrong with it, when it is anything but an object of simple fields
 */
export function readForm(requested: unknown): Form | string {
  if (!isJsonObject(requested) || requested["type"] !== "object") return "its form is not an object schema";
  const schema = copyJson(requested, { maxDepth: 8, maxNodes: 10_000 }).value;
  if (!isJsonObject(schema) || !isJsonObject(schema["properties"])) return "its form has no fields";
  const fields = Object.entries(schema["properties"]);
  if (fields.length > MAX_FIELDS) return `its form has more than ${MAX_FIELDS} fields`;
  for (const [name, field] of fields) if (!isFlat(field)) return `its field ${JSON.stringify(name)} is not a simple one`;
  try {
    const validator = compileSchema(schema);
    return { schema, secretField: fields.find(isSecret)?.[0], complete: (content) => complete(fields, validator, content) };
  } catch {
    return "its form is not a JSON Schema that can be used";
  }
}

/** Text, a number, yes or no, or a choice of some of several: SEP-1034 and SEP-1330. */
function isFlat(field: JsonValue): boolean {
  if (!isJsonObject(field) || Object.hasOwn(field, "$ref")) return false;
  if (SIMPLE_TYPES.has(field["type"])) return true;
  const { items } = field;
  return field["type"] === "array" && isJsonObject(items) && (isJsonArray(items["enum"]) || isJsonArray(items["anyOf"] ?? items["oneOf"]));
}

const SECRET =
  /pass[-_ ]?(?:word|phrase|code|wd)|\bpwd\b|secret|credential|\btokens?\b|[-_ ]token|token[-_ ]|(?:api|private|access|ssh|encryption|recovery|seed)[-_ ]?(?:key|phrase)|\bcvv\b|\bcvc\b|\bpin\b|\bssn\b|social security|card number|\botp\b|2fa/iu;

const WARNS = /\b(?:not|never|no|don't)\b/iu;

/** Whether a field asks for a password, a token, a key or the like, in its name or in what it says of itself. */
function isSecret([name, field]: readonly [string, JsonValue]): boolean {
  if (!isJsonObject(field) || field["type"] === "boolean") return false;
  if (field["format"] === "password" || field["writeOnly"] === true) return true;
  if (isJsonArray(field["enum"]) || isJsonArray(field["oneOf"])) return false;
  const { title, description } = field;
  const advice = typeof description === "string" && WARNS.test(description); // "do not give us your pin"
  const spoken = name.replace(/([a-z\d])([A-Z])/gu, "$1 $2").replaceAll("_", " ");
  return [name, spoken, title, advice ? "" : description].some((text) => typeof text === "string" && SECRET.test(text));
}

function complete(
  fields: readonly (readonly [string, JsonValue])[],
  validator: Validator,
  content: JsonObject,
): { readonly content: JsonObject } | { readonly problem: string } {
  const filled: Record<string, JsonValue> = {};
  for (const [name, field] of fields) {
    const value = Object.hasOwn(content, name) ? content[name] : isJsonObject(field) ? field["default"] : undefined;
    if (value !== undefined) filled[name] = value;
  }
  const [problem] = validator.problems(filled, 1);
  return problem === undefined ? { content: filled } : { problem: `${problem.path}: ${problem.message}` };
}
