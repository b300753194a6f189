/** The bounds on schemas and on single validations. Schemas may be third-party, values come from models. */

/** Deepest nesting of subschemas, and of the values inside `enum` and `const`. */
export const MAX_SCHEMA_DEPTH = 128;
/** Most subschemas of one schema. */
export const MAX_SUBSCHEMAS = 20_000;
/** Most entries of `enum`, `required` and the like in one schema, nested ones included; a pattern counts as many. */
export const MAX_SCHEMA_VALUES = 50_000;
/** Most subschemas that one value may have to be held against, references followed. */
export const MAX_VISITS_PER_VALUE = 20_000;
/** Longest chain of references and compositions, none of which goes deeper into the value. */
export const MAX_REFERENCE_DEPTH = 100;
/** Longest pattern, in UTF-16 units. */
export const MAX_PATTERN_LENGTH = 4_096;
/** Steps of one validation: a subschema visited is one, other work is charged so that one step takes at most some 100 ns. */
export const MAX_STEPS = 1_000_000;
/** Deepest nesting of subschema visits in one validation; a level of the value takes one or more. */
export const MAX_VISIT_DEPTH = 400;
/** Problems reported for one value, unless the caller asks for another number. */
export const MAX_PROBLEMS = 20;
