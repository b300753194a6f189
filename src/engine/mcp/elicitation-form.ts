/** The flat forms of elicitation: which questions are allowed, and how an answer is checked. */
import { type JsonObject, type JsonValue, copyJson, isJsonArray, isJsonObject } from "../../core/base/json.ts";
import { compileSchema, type Validator } from "../../schema/compile-schema.ts";
import { restoreBounds } from "./long-numbers.ts";
import { mentionsSecret } from "./secret-text.ts";

const MAX_FIELDS = 100;
/** Maximum number of characters of a form: more than a person reads, and than is worth searching for secrets. */
const MAX_FORM_LENGTH = 50_000;
const SIMPLE_TYPES: ReadonlySet<unknown> = new Set(["string", "number", "integer", "boolean"]);

export interface ElicitationForm {
  readonly schema: JsonObject;
  /** The field or message that asks for a secret, which must not be typed into a third party's form; undefined if none does. */
  readonly secret: string | undefined;
  /** True if a secret is mentioned only in a warning: the person is then warned as well. */
  readonly isDoubtful: boolean;
  /** Returns the content with defaults for missing fields, or the problem with it. */
  complete(content: JsonObject): { readonly content: JsonObject } | { readonly problem: string };
}

/**
 * Reads the `requestedSchema` of a form.
 *
 * @param message the text above the form
 * @returns the form, or a description of the problem if it is not an object schema of simple fields
 */
export function readForm(requested: unknown, message = ""): ElicitationForm | string {
  if (!isJsonObject(requested) || requested["type"] !== "object") return "its form is not an object schema";
  const schema = copyJson(restoreBounds(requested), { maxDepth: 8, maxNodes: 10_000 }).value;
  if (!isJsonObject(schema) || !isJsonObject(schema["properties"])) return "its form has no fields";
  if (JSON.stringify(schema).length > MAX_FORM_LENGTH) return `its form has more than ${MAX_FORM_LENGTH} characters`;
  const fields = Object.entries(schema["properties"]);
  if (fields.length > MAX_FIELDS) return `its form has more than ${MAX_FIELDS} fields`;
  for (const [name, field] of fields) if (!isFlatField(field)) return `its field ${JSON.stringify(name)} is not of a simple type`;
  try {
    const validator = compileSchema(schema);
    return { schema, ...findSecretRequest(schema, fields, message), complete: (content) => completeContent(fields, validator, content) };
  } catch {
    return "its form is not a JSON Schema that can be used";
  }
}

/** Whether the field is a string, a number, a boolean, or a choice of several values: SEP-1034 and SEP-1330. */
function isFlatField(field: JsonValue): boolean {
  if (!isJsonObject(field) || Object.hasOwn(field, "$ref")) return false;
  if (SIMPLE_TYPES.has(field["type"])) return true;
  const { items } = field;
  return field["type"] === "array" && isJsonObject(items) && (isJsonArray(items["enum"]) || isJsonArray(items["anyOf"] ?? items["oneOf"]));
}

type Field = readonly [string, JsonValue];

/** Matches a warning that mentions a secret without asking for it: "never share your PIN". */
const WARNING =
  /\b(?:not|never|don't|don’t|without|no need)\b[^.!?;:\n]{0,40}\b(?:enter|type|give|share|send|paste|put|include|reveal|use|tell|ask)/iu;
/** Keys of a field whose values are not shown to a person. */
const HIDDEN_KEYS: ReadonlySet<string> = new Set(["type", "format", "enum", "oneOf", "anyOf", "items"]);

/** Finds texts that ask for a secret: in the name or any text of a field, or in the message, if any field takes text. */
function findSecretRequest(schema: JsonObject, fields: readonly Field[], message: string): Pick<ElicitationForm, "secret" | "isDoubtful"> {
  const open = fields.filter(([, field]) => acceptsText(field));
  const secret = open.find(([name, field]) => isSecretField(field) || mentionsSecret(name))?.[0];
  if (secret !== undefined) return { secret, isDoubtful: false };
  const above = [message, schema["title"], schema["description"]].filter((text) => typeof text === "string");
  const hints = [...above, ...open.flatMap(([, field]) => textsOf(field))].filter(mentionsSecret);
  if (open.length > 0 && hints.some(asksForSecret)) return { secret: "a secret in its message", isDoubtful: false };
  return { secret: undefined, isDoubtful: open.length > 0 && hints.length > 0 };
}

function acceptsText(field: JsonValue): boolean {
  if (!isJsonObject(field) || field["type"] === "boolean" || field["type"] === "array") return false;
  return !isJsonArray(field["enum"]) && !isJsonArray(field["oneOf"]) && !Object.hasOwn(field, "const");
}

function isSecretField(field: JsonValue): boolean {
  if (!isJsonObject(field)) return false;
  if (field["format"] === "password" || field["writeOnly"] === true) return true;
  return textsOf(field).some((text) => mentionsSecret(text) && asksForSecret(text));
}

/** Whether a text that mentions a secret does more than warn against giving it. */
function asksForSecret(text: string): boolean {
  return text.split(/(?<=[.!?;:\n])/u).some((sentence) => mentionsSecret(sentence) && !WARNING.test(sentence)) || !WARNING.test(text);
}

/** All texts of a field. */
function textsOf(field: JsonValue): readonly string[] {
  if (typeof field === "string") return [field];
  if (isJsonArray(field)) return field.flatMap(textsOf);
  if (!isJsonObject(field)) return [];
  return Object.entries(field).flatMap(([key, value]) => (HIDDEN_KEYS.has(key) ? [] : textsOf(value)));
}

function completeContent(
  fields: readonly Field[],
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
