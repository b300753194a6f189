/** The parts of JSON Schema that each provider accepts, as data for one walker. */
import { wordSet } from "../../core/base/wording.ts";
import { type JsonValue, isJsonObject } from "../../core/base/json.ts";
import { KNOWN_KEYWORDS } from "../../schema/keyword-names.ts";

/**
 * The schemas that a provider accepts. `json-schema` is all of JSON Schema with a plain object at the root; the provider can enforce those of a
 * `…-strict` subset.
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
  /** Allowed keywords; also at the root, unless `allowedRootKeywords` is set. */
  readonly allowedKeywords: ReadonlySet<string>;
  readonly allowedRootKeywords?: ReadonlySet<string>;
  /** Whether unknown keywords are kept, too. */
  readonly allowsUnknownKeywords?: boolean;
  /** The values that an allowed keyword may have, by keyword. */
  readonly acceptedValues?: Readonly<Record<string, (value: JsonValue) => boolean>>;
  /** `keep`: `$ref` to `$defs`; `acyclic`: the same, but not recursive; `inline`: none. */
  readonly references: "keep" | "acyclic" | "inline";
  /** Whether a `$ref` may have no other keywords next to it; they are put around it instead. */
  readonly bareReferences?: boolean;
  /** `list`: `type` may have several types; `single`: they become `anyOf`; `nullable`: one type, and null becomes `nullable`. */
  readonly types: "list" | "single" | "nullable";
  /** Whether every schema must have a type, and every array `items`. */
  readonly requiresType?: boolean;
  /** Whether an `anyOf` may have no constraints next to it; they are merged into its members. */
  readonly requiresBareUnions?: boolean;
  /** Whether every object must refuse unnamed properties. */
  readonly closed?: boolean;
  /** Whether every property must be required; an optional one may be null instead. */
  readonly allRequired?: boolean;
  /** The types of values that are allowed in `enum`. */
  readonly enumTypes: ReadonlySet<string>;
  /** Whether only named properties may be required. */
  readonly requiredAreNamed?: boolean;
  readonly propertyNames?: RegExp;
  /** Whether `minItems` and similar keywords are 64-bit numbers, which this provider's JSON has as strings. */
  readonly countsAsText?: boolean;
  readonly maxNesting?: number;
  readonly maxProperties?: number;
  readonly maxEnumValues?: number;
}

const PRIMITIVES = wordSet("string number boolean null");
const ANY_KIND = wordSet("string number boolean null array object");
const REFERENCES = ["$ref", "$defs"] as const;

/**
 * Whether a pattern has no lookaround and no backreference: the regular expression engines of all providers refuse those. OpenAI, and servers that
 * build a grammar of all tools, refuse the whole request because of one such pattern, even if no tool is strict.
 */
function isPlainPattern(pattern: JsonValue): boolean {
  return typeof pattern === "string" && isPlainPatternText(pattern);
}

/** Whether a pattern, or the JSON of a schema, has no lookaround and no backreference. */
export function isPlainPatternText(text: string): boolean {
  return !/\(\?<?[=!]|\\[1-9k]/u.test(text);
}

function hasPlainNames(schemas: JsonValue): boolean {
  return !isJsonObject(schemas) || Object.keys(schemas).every(isPlainPatternText);
}

/** Whether a condition has only plain patterns: dropping a pattern inside it could reverse its meaning. */
function isPlainSchema(schema: JsonValue): boolean {
  return isPlainPatternText(JSON.stringify(schema));
}

function isOneOfFormats(formats: string): (format: JsonValue) => boolean {
  const known = wordSet(formats);
  return (format) => typeof format === "string" && known.has(format);
}

const INLINE: ReadonlySet<string> = new Set([...KNOWN_KEYWORDS].filter((keyword) => !/^\$|^definitions$/u.test(keyword)));

export const SUBSET_RULES: Readonly<Record<SchemaSubset, SubsetRules>> = {
  "json-schema": {
    allowedKeywords: KNOWN_KEYWORDS,
    allowsUnknownKeywords: true,
    acceptedValues: { pattern: isPlainPattern, patternProperties: hasPlainNames, not: isPlainSchema, if: isPlainSchema },
    references: "keep",
    types: "list",
    enumTypes: ANY_KIND,
  },
  /** @see https://platform.openai.com/docs/guides/structured-outputs#supported-schemas */
  "openai-strict": {
    allowedKeywords: new Set([
      ...wordSet("type title description enum properties required additionalProperties items minItems maxItems anyOf format pattern"),
      ...wordSet("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf"),
      ...REFERENCES,
    ]),
    acceptedValues: {
      format: isOneOfFormats("date-time time date duration email hostname ipv4 ipv6 uuid"),
      pattern: isPlainPattern,
    },
    references: "keep",
    bareReferences: true,
    types: "list",
    requiresType: true,
    requiresBareUnions: true,
    closed: true,
    allRequired: true,
    enumTypes: PRIMITIVES,
    requiredAreNamed: true,
    maxNesting: 5,
    maxProperties: 100,
    maxEnumValues: 500,
  },
  /** @see https://docs.claude.com/en/docs/build-with-claude/structured-outputs#json-schema-limitations */
  "anthropic-strict": {
    allowedKeywords: new Set([
      ...wordSet("type title description enum const properties required additionalProperties items minItems anyOf format"),
      ...REFERENCES,
    ]),
    acceptedValues: {
      format: isOneOfFormats("date-time time date duration email hostname uri ipv4 ipv6 uuid"),
      minItems: (value) => value === 0 || value === 1,
      const: (value) => typeof value !== "object" || value === null,
    },
    references: "acyclic",
    bareReferences: true,
    types: "single",
    requiresType: true,
    requiresBareUnions: true,
    closed: true,
    enumTypes: PRIMITIVES,
    requiredAreNamed: true,
  },
  /** @see https://ai.google.dev/api/caching#FunctionDeclaration */
  "gemini-json-schema": {
    allowedKeywords: new Set([
      ...wordSet("type title description enum properties required additionalProperties items prefixItems minItems maxItems anyOf default"),
      ...wordSet("minLength maxLength pattern minimum maximum minProperties maxProperties propertyOrdering"),
      ...REFERENCES,
    ]),
    acceptedValues: { pattern: isPlainPattern },
    references: "keep",
    types: "list",
    requiresBareUnions: true,
    enumTypes: wordSet("string number"),
    requiredAreNamed: true,
  },
  /** @see https://ai.google.dev/api/caching#Schema */
  "gemini-openapi": {
    allowedKeywords: new Set([
      ...wordSet("type title description nullable enum properties required propertyOrdering items minItems maxItems anyOf default format"),
      ...wordSet("minLength maxLength pattern minimum maximum minProperties maxProperties"),
    ]),
    acceptedValues: { format: isOneOfFormats("date-time float double int32 int64"), pattern: isPlainPattern },
    references: "inline",
    types: "nullable",
    requiresType: true,
    requiresBareUnions: true,
    enumTypes: wordSet("string"),
    requiredAreNamed: true,
    propertyNames: /^[A-Za-z_][A-Za-z0-9_]{0,63}$/u,
    countsAsText: true,
  },
  /** Ollama's server reads only these keywords. */
  ollama: {
    allowedKeywords: wordSet("type description enum properties required items anyOf"),
    allowedRootKeywords: wordSet("type properties required items"),
    references: "inline",
    types: "list",
    enumTypes: ANY_KIND,
  },
  /** @see https://docs.aws.amazon.com/nova/latest/userguide/tool-use-definition.html */
  "bedrock-nova": {
    allowedKeywords: INLINE,
    allowedRootKeywords: wordSet("type properties required"),
    references: "inline",
    types: "list",
    enumTypes: ANY_KIND,
  },
  /** For replies. @see https://docs.cohere.com/docs/structured-outputs */
  cohere: {
    allowedKeywords: new Set([
      ...wordSet("type title description enum const properties required additionalProperties items anyOf format pattern"),
      ...REFERENCES,
    ]),
    acceptedValues: { format: isOneOfFormats("date-time uuid date time"), pattern: isPlainPattern },
    references: "keep",
    types: "single",
    requiresType: true,
    enumTypes: PRIMITIVES,
    requiredAreNamed: true,
  },
  /** @see https://api-docs.deepseek.com/guides/tool_calls */
  "deepseek-strict": {
    allowedKeywords: new Set([
      ...wordSet("type title description enum properties required additionalProperties items anyOf format pattern"),
      ...wordSet("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf"),
    ]),
    acceptedValues: { format: isOneOfFormats("email hostname ipv4 ipv6 uuid"), pattern: isPlainPattern },
    references: "inline",
    types: "single",
    requiresType: true,
    requiresBareUnions: true,
    closed: true,
    allRequired: true,
    enumTypes: PRIMITIVES,
    requiredAreNamed: true,
  },
};
