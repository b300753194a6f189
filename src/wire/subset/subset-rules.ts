/** The parts of JSON Schema that each provider takes, as data: one walker does what these say. */
import { words } from "../../core/base/wording.ts";
import { type JsonValue, isJsonObject } from "../../core/base/json.ts";
import { KNOWN_KEYWORDS } from "../../schema/keyword-names.ts";

/**
 * The schemas that a provider takes. `json-schema` is all of JSON Schema with a plain object at the root; `…-strict` are those that a
 * model can be held to.
 */
export type SchemaSubset =
  | "json-schema"
  | "openai-strict"
  | "anthropic-strict"
  | "gemini-json-schema"
  | "gemini-openapi"
  | "ollama"
  | "bedrock-nova"
  | "cohere"
  | "deepseek-strict";

export interface SubsetRules {
  /** Allowed keywords, at the root too unless `rootKeeps` says otherwise. */
  readonly keeps: ReadonlySet<string>;
  readonly rootKeeps?: ReadonlySet<string>;
  /** Keep what we do not know as well. */
  readonly keepsUnknown?: boolean;
  /** By allowed keyword, which values it may have. */
  readonly accepts?: Readonly<Record<string, (value: JsonValue) => boolean>>;
  /** `keep`: `$ref` to `$defs`; `acyclic`: the same, but not in circles; `inline`: none. */
  readonly references: "keep" | "acyclic" | "inline";
  /** A `$ref` is alone; keywords next to it are put around it. */
  readonly bareReferences?: boolean;
  /** `list`: several may be in one `type`; `single`: they become `anyOf`; `nullable`: null becomes `nullable`. */
  readonly types: "list" | "single" | "nullable";
  /** Every schema has a type, and every array says what it holds. */
  readonly typed?: boolean;
  /** An `anyOf` has no constraints next to it: they go into its members. */
  readonly unionsAlone?: boolean;
  /** Every object refuses other keys than it names. */
  readonly closed?: boolean;
  /** Every property is required: one that need not be there may be null instead. */
  readonly allRequired?: boolean;
  /** Kinds of values that are allowed in `enum`. */
  readonly enums: ReadonlySet<string>;
  /** Only properties that are named may be required. */
  readonly requiredAreNamed?: boolean;
  readonly propertyNames?: RegExp;
  /** `minItems` and its like are 64-bit numbers, which this provider's JSON has as text. */
  readonly countsAsText?: boolean;
  readonly maxNesting?: number;
  readonly maxProperties?: number;
  readonly maxEnumValues?: number;
}

const PRIMITIVES = words("string number boolean null");
const ANY_KIND = words("string number boolean null array object");
const REFERENCES = ["$ref", "$defs"] as const;

/**
 * Every engine of patterns that providers use refuses to look around or back. One such pattern makes OpenAI and those that build a grammar of all
 * tools refuse the whole request, also where no tool is strict.
 */
function isPlainPattern(pattern: JsonValue): boolean {
  return typeof pattern === "string" && isPlainText(pattern);
}

/** Whether a pattern, or the JSON of a schema, has nothing that looks around or back. */
export function isPlainText(text: string): boolean {
  return !/\(\?<?[=!]|\\[1-9k]/u.test(text);
}

function havePlainNames(schemas: JsonValue): boolean {
  return !isJsonObject(schemas) || Object.keys(schemas).every(isPlainText);
}

/** Of a condition, which would turn about without its pattern. */
function isPlainSchema(schema: JsonValue): boolean {
  return isPlainText(JSON.stringify(schema));
}

function oneOfFormats(formats: string): (format: JsonValue) => boolean {
  const known = words(formats);
  return (format) => typeof format === "string" && known.has(format);
}

const INLINE: ReadonlySet<string> = new Set([...KNOWN_KEYWORDS].filter((keyword) => !/^\$|^definitions$/u.test(keyword)));

export const SUBSET_RULES: Readonly<Record<SchemaSubset, SubsetRules>> = {
  "json-schema": {
    keeps: KNOWN_KEYWORDS,
    keepsUnknown: true,
    accepts: { pattern: isPlainPattern, patternProperties: havePlainNames, not: isPlainSchema, if: isPlainSchema },
    references: "keep",
    types: "list",
    enums: ANY_KIND,
  },
  /** @see https://platform.openai.com/docs/guides/structured-outputs#supported-schemas */
  "openai-strict": {
    keeps: new Set([
      ...words("type title description enum properties required additionalProperties items minItems maxItems anyOf format pattern"),
      ...words("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf"),
      ...REFERENCES,
    ]),
    accepts: {
      format: oneOfFormats("date-time time date duration email hostname ipv4 ipv6 uuid"),
      pattern: isPlainPattern,
    },
    references: "keep",
    bareReferences: true,
    types: "list",
    typed: true,
    unionsAlone: true,
    closed: true,
    allRequired: true,
    enums: PRIMITIVES,
    requiredAreNamed: true,
    maxNesting: 5,
    maxProperties: 100,
    maxEnumValues: 500,
  },
  /** @see https://docs.claude.com/en/docs/build-with-claude/structured-outputs#json-schema-limitations */
  "anthropic-strict": {
    keeps: new Set([
      ...words("type title description enum const properties required additionalProperties items minItems anyOf format"),
      ...REFERENCES,
    ]),
    accepts: {
      format: oneOfFormats("date-time time date duration email hostname uri ipv4 ipv6 uuid"),
      minItems: (value) => value === 0 || value === 1,
      const: (value) => typeof value !== "object" || value === null,
    },
    references: "acyclic",
    bareReferences: true,
    types: "single",
    typed: true,
    unionsAlone: true,
    closed: true,
    enums: PRIMITIVES,
    requiredAreNamed: true,
  },
  /** @see https://ai.google.dev/api/caching#FunctionDeclaration */
  "gemini-json-schema": {
    keeps: new Set([
      ...words("type title description enum properties required additionalProperties items prefixItems minItems maxItems anyOf default"),
      ...words("minLength maxLength pattern minimum maximum minProperties maxProperties propertyOrdering"),
      ...REFERENCES,
    ]),
    accepts: { pattern: isPlainPattern },
    references: "keep",
    types: "list",
    unionsAlone: true,
    enums: words("string number"),
    requiredAreNamed: true,
  },
  /** @see https://ai.google.dev/api/caching#Schema */
  "gemini-openapi": {
    keeps: new Set([
      ...words("type title description nullable enum properties required propertyOrdering items minItems maxItems anyOf default format"),
      ...words("minLength maxLength pattern minimum maximum minProperties maxProperties"),
    ]),
    accepts: { format: oneOfFormats("date-time float double int32 int64"), pattern: isPlainPattern },
    references: "inline",
    types: "nullable",
    typed: true,
    unionsAlone: true,
    enums: words("string"),
    requiredAreNamed: true,
    propertyNames: /^[A-Za-z_][A-Za-z0-9_]{0,63}$/u,
    countsAsText: true,
  },
  /** Ollama's server reads these and ignores the rest. */
  ollama: {
    keeps: words("type description enum properties required items anyOf"),
    rootKeeps: words("type properties required items"),
    references: "inline",
    types: "list",
    enums: ANY_KIND,
  },
  /** @see https://docs.aws.amazon.com/nova/latest/userguide/tool-use-definition.html */
  "bedrock-nova": {
    keeps: INLINE,
    rootKeeps: words("type properties required"),
    references: "inline",
    types: "list",
    enums: ANY_KIND,
  },
  /** Of replies. @see https://docs.cohere.com/docs/structured-outputs */
  cohere: {
    keeps: new Set([
      ...words("type title description enum const properties required additionalProperties items anyOf format pattern"),
      ...REFERENCES,
    ]),
    accepts: { format: oneOfFormats("date-time uuid date time"), pattern: isPlainPattern },
    references: "keep",
    types: "single",
    typed: true,
    enums: PRIMITIVES,
    requiredAreNamed: true,
  },
  /** @see https://api-docs.deepseek.com/guides/tool_calls */
  "deepseek-strict": {
    keeps: new Set([
      ...words("type title description enum properties required additionalProperties items anyOf format pattern"),
      ...words("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf"),
    ]),
    accepts: { format: oneOfFormats("email hostname ipv4 ipv6 uuid"), pattern: isPlainPattern },
    references: "inline",
    types: "single",
    typed: true,
    unionsAlone: true,
    closed: true,
    allRequired: true,
    enums: PRIMITIVES,
    requiredAreNamed: true,
  },
};
