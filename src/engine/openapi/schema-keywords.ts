/** Converts the constraints on single values, from a schema of any version to JSON Schema 2020-12. Invalid keywords are left out. */
import { describeThrown } from "../../core/error.ts";
import { copyJson, isJsonArray, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { linearPattern } from "../../schema/pattern/pattern.ts";
import { getOwn } from "../../core/base/get-own.ts";
import { truncateText, quote } from "./warnings.ts";
import { isObject } from "../../core/base/is-object.ts";

export type Direction = "input" | "output";

/** The keywords of one schema while they are being written. */
export interface SchemaDraft {
  readonly members: Record<string, JsonValue>;
  /** The weight of its contents, which counts towards the limits of a schema. */
  weight: number;
  /** Adds a warning with the place. */
  readonly warn: (problem: string) => void;
}

const TYPES: ReadonlySet<unknown> = new Set(["string", "number", "integer", "boolean", "object", "array", "null"]);
const MAX_DESCRIPTION = { input: 1_000, output: 400 } as const;
const MAX_ENUM_VALUES = 5_000;
const MAX_EXAMPLE_CHARS = 120;
export const BASE64_NOTE = "The bytes in Base64.";

/**
 * Writes all keywords that contain no schemas.
 *
 * For an answer only its shape is written: bounds and patterns matter to the side that makes a value, and services often violate their own.
 */
export function writeKeywords(raw: JsonObject, direction: Direction, draft: SchemaDraft): void {
  writeType(raw, draft);
  writeText(raw, direction, draft);
  writeEnum(raw, draft);
  if (getOwn(raw, "deprecated") === true) draft.members["deprecated"] = true;
  if (direction === "output") return;
  writeNumbers(raw, draft);
  writeCounts(raw, draft);
  writePattern(raw, draft);
  if (getOwn(raw, "uniqueItems") === true) draft.members["uniqueItems"] = true;
  writeInputHints(raw, draft);
}

function writeType(raw: JsonObject, { members, warn }: SchemaDraft): void {
  const type = getOwn(raw, "type");
  if (type === undefined) return;
  if (type === "file") {
    members["type"] = "string";
    return;
  }
  const names = isJsonArray(type) ? [...new Set(type)] : [type];
  if (names.length > 0 && names.every((name) => TYPES.has(name))) {
    members["type"] = names.length === 1 ? (names[0] ?? null) : Object.freeze(names);
    return;
  }
  if (type !== "any" && type !== "")
    warn(`the type ${isJsonArray(type) ? JSON.stringify(type).slice(0, 100) : quote(type)} is not a JSON Schema type; any type will do.`);
}

function writeText(raw: JsonObject, direction: Direction, { members }: SchemaDraft): void {
  const title = getOwn(raw, "title");
  const description = getOwn(raw, "description");
  if (typeof title === "string" && title !== "") members["title"] = truncateText(title, 200);
  if (typeof description === "string" && description !== "") members["description"] = truncateText(description, MAX_DESCRIPTION[direction]);
  for (const keyword of ["format", "contentEncoding", "contentMediaType"]) {
    const value = getOwn(raw, keyword);
    if (typeof value === "string" && value.length <= MAX_EXAMPLE_CHARS) members[keyword] = value;
  }
}

function writeEnum(raw: JsonObject, draft: SchemaDraft): void {
  const { members, warn } = draft;
  for (const keyword of ["enum", "const"]) {
    const value = getOwn(raw, keyword);
    if (value === undefined) continue;
    if (keyword === "enum" && (!isJsonArray(value) || value.length === 0)) {
      warn(`enum must be an array of values, not ${isJsonArray(value) ? "an empty one" : quote(value)}; it is left out.`);
      continue;
    }
    try {
      const copy = copyJson(value, { maxDepth: 16, maxNodes: MAX_ENUM_VALUES }).value;
      members[keyword] = isJsonArray(copy) && keyword === "enum" ? fitEnumValues(copy, members["type"]) : copy;
      draft.weight += isJsonArray(copy) ? copy.length : 1;
    } catch (error: unknown) {
      warn(`${keyword} cannot be used and is left out: ${describeThrown(error)}`);
    }
  }
}

/** Converts the values of an enum to its type: YAML reads `[on, off, 1]` as booleans and numbers, and some documents quote numbers. */
function fitEnumValues(values: readonly JsonValue[], type: JsonValue | undefined): readonly JsonValue[] {
  if (type === "string" && values.some((value) => typeof value === "number" || typeof value === "boolean")) {
    return Object.freeze(values.map((value) => (typeof value === "number" || typeof value === "boolean" ? String(value) : value)));
  }
  if ((type === "integer" || type === "number") && values.some(isNumeral)) {
    return Object.freeze(values.map((value) => (isNumeral(value) ? Number(value) : value)));
  }
  return values;
}

function isNumeral(value: JsonValue): value is string {
  return typeof value === "string" && /^-?\d{1,15}(?:\.\d{1,15})?$/u.test(value);
}

/** Writes numeric bounds. Up to 3.0, `exclusiveMinimum: true` made `minimum` exclusive. */
function writeNumbers(raw: JsonObject, { members, warn }: SchemaDraft): void {
  for (const [bound, exclusive] of [
    ["minimum", "exclusiveMinimum"],
    ["maximum", "exclusiveMaximum"],
  ] as const) {
    const limit = numberAt(raw, bound, warn);
    const beyond = getOwn(raw, exclusive);
    if (beyond === true && limit !== undefined) members[exclusive] = limit;
    else if (limit !== undefined) members[bound] = limit;
    if (typeof beyond === "number") members[exclusive] = beyond;
  }
  const divisor = numberAt(raw, "multipleOf", warn);
  if (divisor === undefined) return;
  if (divisor > 0) members["multipleOf"] = divisor;
  else warn(`multipleOf must be more than 0, not ${divisor}; it is left out.`);
}

function numberAt(raw: JsonObject, keyword: string, warn: SchemaDraft["warn"]): number | undefined {
  const value = getOwn(raw, keyword);
  if (value === undefined || typeof value === "number") return value;
  if (typeof value === "string" && isNumeral(value)) return Number(value);
  warn(`${keyword} must be a number, not ${quote(value)}; it is left out.`);
  return undefined;
}

const COUNTS = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"] as const;

function writeCounts(raw: JsonObject, { members, warn }: SchemaDraft): void {
  for (const keyword of COUNTS) {
    const value = getOwn(raw, keyword) === undefined ? undefined : numberAt(raw, keyword, warn);
    if (value === undefined) continue;
    if (Number.isInteger(value) && value >= 0) members[keyword] = value;
    else warn(`${keyword} must be an integer from 0 up, not ${value}; it is left out.`);
  }
}

function writePattern(raw: JsonObject, draft: SchemaDraft): void {
  const source = getOwn(raw, "pattern");
  if (source === undefined) return;
  const pattern = usablePattern(source, draft);
  if (pattern !== undefined) draft.members["pattern"] = pattern;
}

/**
 * A pattern that the validator can run; undefined, with a warning, if it cannot.
 *
 * The slashes of a JavaScript literal such as `/^a+$/` are removed, as the pattern would match nothing.
 */
export function usablePattern(source: JsonValue, draft: SchemaDraft): string | undefined {
  if (typeof source !== "string") {
    draft.warn(`pattern must be a string, not ${quote(source)}; it is left out.`);
    return undefined;
  }
  const pattern = source.startsWith("/^") && source.endsWith("$/") ? source.slice(1, -1) : source;
  try {
    draft.weight += linearPattern(pattern).compileCost;
    return pattern;
  } catch (error: unknown) {
    draft.warn(`a pattern is left out, so that values are not checked against it: ${describeThrown(error)}`);
    return undefined;
  }
}

/**
 * Adds hints for the model. A default is described but left out: filled in, it would be sent, and a PATCH would set values that no one asked for.
 * Bytes are described as base64.
 */
function writeInputHints(raw: JsonObject, draft: SchemaDraft): void {
  const { members } = draft;
  if (isBinary(raw)) {
    delete members["format"];
    members["contentEncoding"] = "base64";
    addNote(draft, BASE64_NOTE);
    return; // its examples cannot be bytes: they are file names
  }
  const fallback = getOwn(raw, "default");
  const description = members["description"];
  const mentionsDefault = typeof description === "string" && /default/iu.test(description);
  if (fallback !== undefined && fallback !== null && !mentionsDefault && isSmallExample(fallback))
    addNote(draft, `Default: ${JSON.stringify(fallback)}.`);
  const listed = getOwn(raw, "examples");
  const examples = [...(isJsonArray(listed) ? listed.slice(0, 3) : []), ...[getOwn(raw, "example")].filter((value) => value !== undefined)];
  const small = examples.filter((example) => example !== null && isSmallExample(example)).slice(0, 3);
  if (small.length > 0) members["examples"] = copyJson(small).value;
}

/** Adds a sentence to a description. */
export function addNote({ members }: Pick<SchemaDraft, "members">, sentence: string): void {
  const description = members["description"];
  members["description"] =
    typeof description === "string" ? `${description.trimEnd()}${/[.!?:]$/u.test(description.trimEnd()) ? "" : "."} ${sentence}` : sentence;
}

/** Whether the schema, of any version, means the bytes of a file. */
export function isBinary(raw: JsonObject): boolean {
  const type = getOwn(raw, "type");
  return type === "file" || (getOwn(raw, "format") === "binary" && (type === "string" || type === undefined));
}

function isSmallExample(value: JsonValue): boolean {
  if (typeof value === "string") return value.length <= MAX_EXAMPLE_CHARS;
  return isJsonArray(value) ? value.length <= 5 && value.every((item) => !isObject(item) && isSmallExample(item)) : !isObject(value);
}
