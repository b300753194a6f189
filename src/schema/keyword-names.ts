/** The keywords of JSON Schema, grouped by what happens to them if a provider does not support them. */
import { wordSet, wordEntries } from "../core/base/wording.ts";

/** Keywords that matter neither to the validity of a value nor to a model. */
export const SILENT_KEYWORDS: ReadonlySet<string> = wordSet("$schema $id $comment $anchor $dynamicAnchor $vocabulary $defs definitions");

/** Keywords that do not affect validity, but that a model should know: if they are not supported, they are moved into the description. */
export const ANNOTATION_KEYWORDS: ReadonlySet<string> = wordSet(
  "title default examples format deprecated readOnly writeOnly contentEncoding contentMediaType contentSchema",
);

/** Keywords that decide whether a value is valid. */
export const CONSTRAINT_KEYWORDS: ReadonlySet<string> = wordSet(
  "type enum const required properties additionalProperties patternProperties propertyNames minProperties maxProperties " +
    "dependentRequired dependentSchemas dependencies items prefixItems additionalItems contains minContains maxContains minItems maxItems " +
    "uniqueItems unevaluatedItems unevaluatedProperties minLength maxLength pattern minimum maximum exclusiveMinimum exclusiveMaximum " +
    "multipleOf anyOf oneOf allOf not if then else $ref $dynamicRef $recursiveRef",
);

/** Keywords whose value is a schema; below, a list of schemas (or a single one), and schemas by name. */
export const SCHEMA_KEYWORDS: ReadonlySet<string> = wordSet(
  "items additionalItems additionalProperties unevaluatedItems unevaluatedProperties contains propertyNames contentSchema not if then else",
);
export const SCHEMA_LIST_KEYWORDS: ReadonlySet<string> = wordSet("anyOf oneOf allOf prefixItems items");
export const SCHEMA_MAP_KEYWORDS: ReadonlySet<string> = wordSet("properties patternProperties dependentSchemas dependencies");

/** The type of value that a keyword applies to; keywords that are not listed apply to all types. */
export const KEYWORD_TYPES: ReadonlyMap<string, string> = new Map([
  ...wordEntries(
    "object",
    "required properties additionalProperties patternProperties propertyNames minProperties maxProperties dependentRequired dependentSchemas dependencies unevaluatedProperties",
  ),
  ...wordEntries(
    "array",
    "items prefixItems additionalItems contains minContains maxContains minItems maxItems uniqueItems unevaluatedItems",
  ),
  ...wordEntries("string", "minLength maxLength pattern contentEncoding contentMediaType contentSchema"),
  ...wordEntries("number", "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf"),
]);

/** All keywords that are known here, including annotations. */
export const KNOWN_KEYWORDS: ReadonlySet<string> = new Set([
  "description",
  ...SILENT_KEYWORDS,
  ...ANNOTATION_KEYWORDS,
  ...CONSTRAINT_KEYWORDS,
]);
