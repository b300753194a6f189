/** The keywords of JSON Schema, by what becomes of them where a provider does not take them. */
import { words, wordsFor } from "../core/base/wording.ts";

/** They say nothing about a value and nothing to a model. */
export const SILENT_KEYWORDS: ReadonlySet<string> = words("$schema $id $comment $anchor $dynamicAnchor $vocabulary $defs definitions");

/** They decide nothing, but a model is better off knowing them: where they are not allowed they go into the description. */
export const ANNOTATION_KEYWORDS: ReadonlySet<string> = words(
  "title default examples format deprecated readOnly writeOnly contentEncoding contentMediaType contentSchema",
);

/** They decide whether a value fits. */
export const CONSTRAINT_KEYWORDS: ReadonlySet<string> = words(
  "type enum const required properties additionalProperties patternProperties propertyNames minProperties maxProperties " +
    "dependentRequired dependentSchemas dependencies items prefixItems additionalItems contains minContains maxContains minItems maxItems " +
    "uniqueItems unevaluatedItems unevaluatedProperties minLength maxLength pattern minimum maximum exclusiveMinimum exclusiveMaximum " +
    "multipleOf anyOf oneOf allOf not if then else $ref $dynamicRef $recursiveRef",
);

/** Keywords whose value is a schema, a list of schemas (or one), and schemas by name. */
export const SCHEMA_KEYWORDS: ReadonlySet<string> = words(
  "items additionalItems additionalProperties unevaluatedItems unevaluatedProperties contains propertyNames contentSchema not if then else",
);
export const SCHEMA_LIST_KEYWORDS: ReadonlySet<string> = words("anyOf oneOf allOf prefixItems items");
export const SCHEMA_MAP_KEYWORDS: ReadonlySet<string> = words("properties patternProperties dependentSchemas dependencies");

/** Which type of value a keyword speaks of; one that is not here speaks of all. */
export const KEYWORD_TYPES: ReadonlyMap<string, string> = new Map([
  ...wordsFor(
    "object",
    "required properties additionalProperties patternProperties propertyNames minProperties maxProperties dependentRequired dependentSchemas dependencies unevaluatedProperties",
  ),
  ...wordsFor("array", "items prefixItems additionalItems contains minContains maxContains minItems maxItems uniqueItems unevaluatedItems"),
  ...wordsFor("string", "minLength maxLength pattern contentEncoding contentMediaType contentSchema"),
  ...wordsFor("number", "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf"),
]);

/** All that this program knows of, annotations included. */
export const KNOWN_KEYWORDS: ReadonlySet<string> = new Set([
  "description",
  ...SILENT_KEYWORDS,
  ...ANNOTATION_KEYWORDS,
  ...CONSTRAINT_KEYWORDS,
]);
