/** Converts arguments in plain text to the types of their schema. */
import { getValueAtPath } from "../../core/base/brace-template.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { unescapePointerStep } from "../../core/base/json-pointer.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { jsonTypeOf } from "../../schema/repair/coerce.ts";
import { readUnambiguousJson } from "../../schema/json-text/read-unambiguous-json.ts";
import { wordEntries } from "../../core/base/wording.ts";

/** Reads strict JSON, or unambiguous text in another notation (`True`, `'a'`); undefined if it is neither. */
export function parseLooseValue(text: string): JsonValue | undefined {
  const strict = parseStrict(text);
  return strict === undefined ? readUnambiguousJson(text)?.value : strict;
}

/** Reads strict JSON; undefined if the text is not JSON, repeats a key, or has a number that would lose digits. */
export function parseStrict(text: string): JsonValue | undefined {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Returns the parsed object; the text itself if it is not a strict JSON object, for the runtime to repair or refuse. */
export function parseObjectOrText(text: string): JsonValue {
  const value = parseStrict(text);
  return isJsonObject(value) ? value : text;
}

/** Whether a text begins like an object with a key: braces around anything else are not arguments. */
export function startsLikeObject(text: string): boolean {
  return HAS_KEY.test(text);
}

const HAS_KEY = /^\s{0,256}\{\s{0,256}(?:["'\\]|[\p{L}\p{M}\p{N}_$-]{1,256}\s{0,16}[:=])/u;

/** Guesses the type of a text: JSON that is not a string becomes that value, everything else stays text. */
export function guessValue(text: string): JsonValue {
  if (!LOOKS_LIKE_VALUE.test(text)) return text;
  const value = parseLooseValue(text);
  return value === undefined || typeof value === "string" ? text : value;
}

const LOOKS_LIKE_VALUE = /^\s{0,64}(?:[-[{\d]|true|True|false|False|null|None)/u;

/** Returns the value of an argument; the text itself if it does not match the schema's type, for the runtime to refuse. */
export function toTypedValue(text: string, schema: JsonValue | undefined, root: JsonValue | undefined): JsonValue {
  const types = allowedTypes(schema, root, MAX_STEPS);
  if (types.size === 0 || types.has("any")) return text;
  const trimmed = text.trim();
  if (types.has("string")) return toNonStringOrText(text, trimmed, types);
  const read = parseLooseValue(trimmed);
  const value = read === undefined ? parseEscaped(trimmed) : read;
  return value === undefined || !types.has(jsonTypeOf(value)) ? text : value;
}

/** Converts text for a schema that allows a string: only null, objects and arrays become another type. */
function toNonStringOrText(text: string, trimmed: string, types: ReadonlySet<string>): JsonValue {
  if ((trimmed === "null" || trimmed === "None") && types.has("null")) return null;
  if (!/^[{[]/u.test(trimmed)) return text;
  const value = parseLooseValue(trimmed);
  return value !== undefined && typeof value !== "string" && types.has(jsonTypeOf(value)) ? value : text;
}

/** Reads JSON whose quotes were escaped once too often. */
function parseEscaped(text: string): JsonValue | undefined {
  if (!text.includes("\\")) return undefined;
  const inner = parseLooseValue(`"${text}"`);
  return typeof inner === "string" ? parseLooseValue(inner) : undefined;
}

const MAX_STEPS = 16;

/** Returns the JSON types that a schema allows, `integer` as `number`; `any` if it does not restrict them. */
function allowedTypes(schema: JsonValue | undefined, root: JsonValue | undefined, steps: number): ReadonlySet<string> {
  if (steps === 0 || !isJsonObject(schema)) return ANY;
  const { type, enum: values, const: value, anyOf, oneOf, allOf, $ref } = schema;
  if (typeof $ref === "string") return allowedTypes(resolveReference($ref, root), root, steps - 1);
  if (typeof type === "string") return new Set([toJsonType(type)]);
  if (isJsonArray(type)) return new Set(type.filter((one) => typeof one === "string").map(toJsonType));
  const choices = [anyOf, oneOf, allOf].find(isJsonArray);
  if (choices !== undefined) return new Set(choices.slice(0, 64).flatMap((one) => [...allowedTypes(one, root, steps - 1)]));
  if (isJsonArray(values)) return new Set(values.map(jsonTypeOf));
  return value === undefined ? ANY : new Set([jsonTypeOf(value)]);
}

const ANY: ReadonlySet<string> = new Set(["any"]);
const LOOSE_TYPES: ReadonlyMap<string, string> = new Map([
  ...wordEntries("number", "integer int float double"),
  ["bool", "boolean"],
  ["str", "string"],
  ["dict", "object"],
  ["list", "array"],
]);

function toJsonType(type: string): string {
  return LOOSE_TYPES.get(type) ?? type;
}

/** Resolves a reference such as `#/$defs/Address` in the tool's own schema. */
function resolveReference(reference: string, root: JsonValue | undefined): JsonValue | undefined {
  if (!reference.startsWith("#/") || !isJsonObject(root)) return undefined;
  return getValueAtPath(reference.slice(2).split("/", MAX_STEPS).map(unescapePointerStep), root);
}

/** Returns the schema of an argument, if the tool has one with that name. */
export function propertySchema(schema: unknown, key: string): JsonValue | undefined {
  const properties = isJsonObject(schema) ? schema["properties"] : undefined;
  return isJsonObject(properties) && Object.hasOwn(properties, key) ? properties[key] : undefined;
}

/** Whether a schema allows a JSON type, or does not restrict types. */
export function allowsType(schema: JsonValue | undefined, root: JsonValue | undefined, type: string): boolean {
  const types = allowedTypes(schema, root, MAX_STEPS);
  return types.has(type) || types.has("any");
}

/** Returns the schema of a nested object's property, from the schema itself or from one of its alternatives. */
export function memberSchema(schema: JsonValue | undefined, root: JsonValue | undefined, key: string): JsonValue | undefined {
  return findSubschema(schema, root, (one) => propertySchema(one, key));
}

/** Returns the schema of an array's items. */
export function itemSchema(schema: JsonValue | undefined, root: JsonValue | undefined): JsonValue | undefined {
  return findSubschema(schema, root, ({ items }) => items);
}

function findSubschema(
  schema: JsonValue | undefined,
  root: JsonValue | undefined,
  read: (schema: JsonObject) => JsonValue | undefined,
  steps = MAX_STEPS,
): JsonValue | undefined {
  if (steps <= 0 || !isJsonObject(schema)) return undefined;
  const { $ref, anyOf, oneOf, allOf } = schema;
  if (typeof $ref === "string") return findSubschema(resolveReference($ref, root), root, read, steps - 1);
  const found = read(schema);
  if (found !== undefined) return found;
  for (const one of [anyOf, oneOf, allOf].find(isJsonArray)?.slice(0, MAX_CHOICES) ?? []) {
    const part = findSubschema(one, root, read, steps - 4);
    if (part !== undefined) return part;
  }
  return undefined;
}

const MAX_CHOICES = 16;

/** Returns the names of all arguments, and of the required ones. */
export function argumentNames(schema: unknown): { readonly all: readonly string[]; readonly required: readonly string[] } {
  const { properties, required }: JsonObject = isJsonObject(schema) ? schema : {};
  return {
    all: isJsonObject(properties) ? Object.keys(properties) : [],
    required: isJsonArray(required) ? required.filter((one) => typeof one === "string") : [],
  };
}

/** Returns the argument that a text without a name is: the one required argument that is missing, the only argument, or the only one that can be a string. */
export function unnamedArgument(schema: JsonValue | undefined, isSet: (key: string) => boolean): string | undefined {
  const { all, required } = argumentNames(schema);
  const missing = required.filter((key) => !isSet(key));
  if (missing.length === 1) return missing[0];
  if (all.length === 1) return all[0];
  const textual = all.filter((key) => !isSet(key) && allowsType(propertySchema(schema, key), schema, "string"));
  return textual.length === 1 ? textual[0] : undefined;
}
