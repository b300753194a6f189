/** Limits on schemas and on single validations. Schemas may be third-party; values come from models. */

/** Maximum nesting of subschemas, and of the values inside `enum` and `const`. */
export const MAX_SCHEMA_DEPTH = 128;
/** Maximum number of subschemas of one schema. */
export const MAX_SUBSCHEMAS = 20_000;
/** Maximum number of entries of `enum`, `required` and similar in one schema, including nested ones; a pattern counts as many. */
export const MAX_SCHEMA_VALUES = 50_000;
/** Maximum number of subschemas that may be applied to one value, following references. */
export const MAX_VISITS_PER_VALUE = 20_000;
/** Maximum length of a chain of references and compositions that all apply to the same value. */
export const MAX_REFERENCE_DEPTH = 100;
/** Maximum length of a pattern, in UTF-16 units. */
export const MAX_PATTERN_LENGTH = 4_096;
/** Steps of one validation: visiting a subschema is one; other work is charged so that one step takes at most about 100 ns. */
export const MAX_STEPS = 1_000_000;
/** Maximum nesting of subschema visits in one validation; a level of the value takes one or more. */
export const MAX_VISIT_DEPTH = 400;
/** Default number of problems that are reported for one value. */
export const MAX_PROBLEMS = 20;
