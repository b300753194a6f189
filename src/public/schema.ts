/** The public names of `haft/schema`, listed by hand: JSON Schema: inputs and outputs validated and repaired. @packageDocumentation */
export type { ParsedInput } from "../core/tool.ts";
export { type ImportedSchema, importSchema } from "../schema/import-schema.ts";
export { validateInput, validateOutput, ValidationResult } from "../schema/validation-result.ts";
export type { JsonLimits } from "../core/base/json-limits.ts";
export type { ValidationNotes, ValidationSubject } from "../schema/validation-result.ts";
export type { InferAnswer, InferInput, InferReturn, InferSent } from "../schema/infer-schema.ts";
export type { StandardJsonSchema } from "../schema/standard-schema.ts";
export type { SchemaProblem } from "../schema/schema-problem.ts";
export type { Validator } from "../schema/compile-schema.ts";
export type { RepairOptions } from "../schema/repair/repair-input.ts";
