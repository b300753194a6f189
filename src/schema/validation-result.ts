/** Strict checks of a value against a schema, without a tool or a runtime. */
import type { JsonObject } from "../core/base/json.ts";
import { checkArgument } from "../core/check-argument.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { ToolError } from "../core/error.ts";
import { checkJsonSchema } from "./check-json-schema.ts";
import { compileSchema } from "./compile-schema.ts";
import { copySchema } from "./import-schema.ts";

/** The kind of value that was checked. */
export type ValidationSubject = "input" | "output";

/** Results of a check with repairs, besides its errors. */
export interface ValidationNotes {
  readonly warnings?: readonly string[];
  readonly input?: JsonObject;
}

/** The result of one or several checks. Immutable. */
export class ValidationResult {
  readonly valid: boolean;
  /** One line per problem, `$.a: required field missing`, those of the first check first. */
  readonly errors: readonly string[];
  /** One line per repair, `$.n: "5" → 5`, in order; empty for a strict check. */
  readonly warnings: readonly string[];
  /** The repaired input, as a call would run with it; undefined if there are errors, and for a strict check. */
  readonly input: JsonObject | undefined;
  /** The kind of value that was checked; `merge` keeps that of the first result. */
  readonly subject: ValidationSubject;

  /** The result is valid if there are no errors. */
  constructor(errors: readonly string[] = [], subject: ValidationSubject = "input", { warnings = [], input }: ValidationNotes = {}) {
    this.valid = errors.length === 0;
    this.errors = Object.freeze([...errors]);
    this.warnings = Object.freeze([...warnings]);
    this.input = this.valid ? input : undefined;
    this.subject = subject;
  }

  /**
   * Returns a new result that is valid if both are, with the errors and warnings of both, and the later input that is defined. Changes neither.
   *
   * @throws ToolError `invalid_argument` for something other than a result, such as its JSON
   */
  merge(other: ValidationResult): ValidationResult {
    checkArgument(
      isResult(other),
      "merge()",
      "a ValidationResult",
      other,
      "validateInput() returns one; new ValidationResult(errors) makes one.",
    );
    const input = other.input ?? this.input;
    const warnings = [...this.warnings, ...other.warnings];
    return new ValidationResult([...this.errors, ...other.errors], this.subject, { warnings, ...omitUndefined({ input }) });
  }

  /** Returns one sentence with the subject and the verdict, then the errors, one per line. */
  toString(): string {
    return this.valid
      ? `The ${this.subject} is valid.`
      : [`The ${this.subject} is invalid:`, ...this.errors.map((error) => `- ${error}`)].join("\n");
  }

  toJSON(): { readonly valid: boolean; readonly errors: readonly string[] } {
    return { valid: this.valid, errors: this.errors };
  }
}

/** Results of another copy of this package fit too. */
function isResult(given: unknown): given is ValidationResult {
  if (typeof given !== "object" || given === null) return false;
  return ["errors", "warnings"].every((field) => Array.isArray(Reflect.get(given, field)));
}

/** Maximum number of problems in one result. */
const MAX_ERRORS = 1_000;

/**
 * Checks data strictly, without coercion or defaults, including formats. Reports at most 1,000 problems.
 *
 * Never throws: a schema that cannot be used gives a result with one error. Compiles the schema each time.
 */
export function validateInput(data: unknown, schema: unknown): ValidationResult {
  return validate(data, schema, "input");
}

/** Like `validateInput`, for an output, whose formats are not checked. */
export function validateOutput(data: unknown, schema: unknown): ValidationResult {
  return validate(data, schema, "output");
}

function validate(data: unknown, schema: unknown, subject: ValidationSubject): ValidationResult {
  try {
    checkJsonSchema(schema);
    const problems = compileSchema(copySchema(schema), { formats: subject === "input" }).problems(data, MAX_ERRORS);
    return new ValidationResult(
      problems.map((problem) => `${problem.path}: ${problem.message}`),
      subject,
    );
  } catch (error: unknown) {
    return new ValidationResult([`${subject} schema: ${ToolError.fromUnknown(error).message}`], subject);
  }
}
