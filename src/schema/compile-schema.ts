/** The JSON Schema validator: compiles a schema once, then checks any number of values. */
import { ToolError } from "../core/error.ts";
import type { JsonSchema } from "../core/tool.ts";
import { CompiledValidator } from "./evaluate.ts";
import { compileDocument } from "./schema-compiler.ts";
import { MAX_STEPS } from "./schema-limits.ts";
import type { SchemaProblem } from "./schema-problem.ts";

export type { SchemaProblem } from "./schema-problem.ts";

export interface CompileOptions {
  /** Maximum number of steps of one validation: visiting a subschema is one, more expensive work is charged in proportion. @default 1_000_000 */
  readonly maxSteps?: number;
  /**
   * Whether `format` is checked: `date`, `time`, `date-time`, `duration`, `email`, `idn-email`, `hostname`, `ipv4`, `ipv6`, `uri`, `iri` and
   * their references, `uri-template`, `uuid`, `json-pointer`, `relative-json-pointer` and `regex`. Other formats are ignored.
   * @default false
   */
  readonly formats?: boolean;
}

/** A compiled JSON Schema. */
export interface Validator {
  readonly schema: JsonSchema;
  /** True if the value matches. Never throws. */
  check(value: unknown): boolean;
  /**
   * Returns how the value violates the schema: at most `max` problems (default 20), [] if it matches.
   *
   * Problems of a value are in this order: type, enum and const, length and range, array size, items, required fields, declared fields in
   * schema order, other fields sorted, then everything else. After a wrong type, nothing else is reported for that value. A validation that
   * exceeds its limits ends with a problem `limit`. Never throws.
   */
  problems(value: unknown, max?: number): readonly SchemaProblem[];
}

/**
 * Compiles a JSON Schema of draft 2020-12, or of the dialect in its `$schema`: 2019-09 or draft-07.
 *
 * The schema may be untrusted: no code is generated, nothing is fetched, patterns are matched in linear time, and size, nesting, references
 * and the work of each validation are limited. `format`, unless `formats` is set, and `content…` are annotations; unknown keywords are
 * ignored. The schema must not be changed afterwards.
 *
 * @throws ToolError `invalid_schema` with a JSON pointer, for malformed keywords, unknown dialects, references that are dangling, external or
 * circular, and schemas that exceed the limits
 */
export function compileSchema(schema: unknown, options: CompileOptions = {}): Validator {
  try {
    const root = compileDocument(schema, options.formats);
    return new CompiledValidator(schema as JsonSchema, root, options.maxSteps ?? MAX_STEPS); // compileDocument throws for anything else
  } catch (error: unknown) {
    throw ToolError.fromUnknown(error, "invalid_schema");
  }
}
