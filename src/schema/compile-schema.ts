/** The JSON Schema validator: compiles a schema once, and checks any number of values. */
import { ToolError } from "../core/error.ts";
import type { JsonSchema } from "../core/tool.ts";
import { CompiledValidator } from "./evaluate.ts";
import { compileDocument } from "./schema-compiler.ts";
import { MAX_STEPS } from "./schema-limits.ts";
import type { SchemaProblem } from "./schema-problem.ts";

export type { SchemaProblem } from "./schema-problem.ts";

export interface CompileOptions {
  /** Steps one validation may take; a subschema visited is one, costlier work is charged in proportion. @default 1_000_000 */
  readonly maxSteps?: number;
  /**
   * Whether `format` is checked: `date`, `time`, `date-time`, `duration`, `email`, `idn-email`, `hostname`, `ipv4`, `ipv6`, `uri`, `iri` and
   * their references, `uri-template`, `uuid`, `json-pointer`, `relative-json-pointer` and `regex`. Other formats say nothing.
   * @default false
   */
  readonly formats?: boolean;
}

/** A JSON Schema that is ready to check values. */
export interface Validator {
  readonly schema: JsonSchema;
  /** True when the value fits. Never throws. */
  check(value: unknown): boolean;
  /**
   * Says how the value breaks the schema: at most `max` problems (default 20), [] when it fits.
   *
   * A value is described in this order: type, enum and const, length and range, array size, items, required
   * fields, declared fields in schema order, other fields sorted, and then everything else. A wrong type ends
   * the description of that value. A validation that exceeds its bounds ends with a problem `limit`. Never throws.
   */
  problems(value: unknown, max?: number): readonly SchemaProblem[];
}

/**
 * Compiles a JSON Schema of draft 2020-12, or of what its `$schema` names: 2019-09 or draft-07.
 *
 * The schema may be untrusted: no code is generated, nothing is fetched, patterns are matched in linear
 * time, and size, nesting, references and the work of each validation are bounded. `format`, unless it is to be checked, and
 * `content…` are annotations; unknown keywords are ignored. The schema must not be changed afterwards.
 *
 * @throws ToolError `invalid_schema` with the pointer of the place, for malformed keywords, unknown dialects,
 * references that lead nowhere, out of the document or in circles, and schemas past the bounds.
 */
export function compileSchema(schema: unknown, options: CompileOptions = {}): Validator {
  try {
    const root = compileDocument(schema, options.formats);
    return new CompiledValidator(schema as JsonSchema, root, options.maxSteps ?? MAX_STEPS); // compileDocument refuses all else
  } catch (error: unknown) {
    throw ToolError.fromUnknown(error, "invalid_schema");
  }
}
