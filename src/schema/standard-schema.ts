/** Standard Schema in both directions: accepts schemas of any library, and offers JSON Schemas to any framework. */
import { unescapePointerStep } from "../core/base/json-pointer.ts";
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { ToolError } from "../core/error.ts";
import { copyJson, formatJsonPath, type JsonObject, type JsonValue } from "../core/base/json.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import type { JsonSchema, ParsedInput } from "../core/tool.ts";
import type { Validator } from "./compile-schema.ts";
import { copySchema } from "./import-schema.ts";
import { conversionHint, writerOptions } from "./library-schema.ts";
import { mapKeywords } from "./keywords/map-keywords.ts";
import { isLinearPattern } from "./pattern/pattern.ts";
import { repairInput, type RepairOptions } from "./repair/repair-input.ts";
import type { SchemaProblem } from "./schema-problem.ts";

/** A library's schema, as a tool uses it. */
export interface ParsingSchema {
  readonly jsonSchema: JsonSchema;
  /** Runs the library's validation. Returns or resolves to the parsed value, or to its issues as lines with `$` paths; never throws. */
  readonly parse: (value: unknown) => ParsedInput | Promise<ParsedInput>;
}

/**
 * Reads a schema of zod, arktype, valibot or any other library that implements Standard Schema.
 *
 * `direction` selects which side of the schema's transforms the JSON Schema describes: the input or the output.
 *
 * @throws ToolError `invalid_schema` if the library provides no JSON Schema for it
 * @see https://standardschema.dev/json-schema
 */
export function fromStandardSchema(schema: StandardSchemaV1, direction: "input" | "output" = "input"): ParsingSchema {
  const standard = schema["~standard"];
  const jsonSchema = withoutNonlinearPatterns(copySchema(toJsonSchema(standard, direction)));
  if (direction === "output") return { jsonSchema, parse: (value) => parse(standard, value) };
  // unfrozen, since handlers may change their input, and libraries pass on parts of the value they were given
  return { jsonSchema, parse: (value) => parse(standard, toMutableCopy(value)) };
}

/** Removes patterns that cannot be matched in linear time, such as those with a back-reference: the library checks them itself. */
function withoutNonlinearPatterns(schema: boolean | JsonObject): JsonSchema {
  if (typeof schema === "boolean") return schema;
  return mapKeywords(schema, (keyword, value) =>
    keyword === "pattern" && typeof value === "string" && !isLinearPattern(value) ? undefined : value,
  );
}

/** Returns a mutable copy of frozen JSON. Its depth is limited, as that of every input. */
function toMutableCopy(value: unknown): unknown {
  if (typeof value !== "object" || value === null || !Object.isFrozen(value)) return value;
  if (Array.isArray(value)) return value.map(toMutableCopy);
  const copy: Record<string, unknown> = { ...value };
  for (const key of Object.keys(copy)) copy[key] = toMutableCopy(copy[key]); // always an own property, even `__proto__`
  return copy;
}

function toJsonSchema(standard: StandardSchemaV1.Props, direction: "input" | "output"): JsonSchema {
  if (!hasJsonSchema(standard)) {
    throw new ToolError(
      "invalid_schema",
      `The schema of ${JSON.stringify(standard.vendor)} has no JSON Schema, so it cannot be sent to a model.`,
      {
        hint: conversionHint(standard.vendor),
      },
    );
  }
  try {
    return standard.jsonSchema[direction]({
      target: "draft-2020-12",
      ...omitUndefined({ libraryOptions: writerOptions(standard.vendor) }),
    });
  } catch (error: unknown) {
    const cause = ToolError.fromUnknown(error);
    throw new ToolError(
      "invalid_schema",
      `${JSON.stringify(standard.vendor)} cannot write the ${direction} of this schema as JSON Schema: ${cause.message}`,
      {
        hint:
          direction === "input"
            ? "Use types that JSON supports, and transform them: a date arrives as a string."
            : "Declare the output as a type that JSON supports: after a transform, pipe it into one, such as .transform(String).pipe(z.string()) in zod.",
        cause: error,
      },
    );
  }
}

function hasJsonSchema(standard: StandardSchemaV1.Props): standard is StandardSchemaV1.Props & StandardJSONSchemaV1.Props {
  return "jsonSchema" in standard && typeof standard.jsonSchema === "object" && standard.jsonSchema !== null;
}

/** Runs the validation of a schema that needs no JSON Schema, because no model sees it. Never throws. */
export function parseWithSchema(schema: StandardSchemaV1, value: unknown): ParsedInput | Promise<ParsedInput> {
  return parse(schema["~standard"], value);
}

function parse(standard: StandardSchemaV1.Props, value: unknown): ParsedInput | Promise<ParsedInput> {
  try {
    const result = standard.validate(value);
    return "then" in result ? Promise.resolve(result).then(toParsed).catch(toIssues) : toParsed(result);
  } catch (error: unknown) {
    return toIssues(error);
  }
}

function toParsed(result: StandardSchemaV1.Result<unknown>): ParsedInput {
  return result.issues === undefined ? { value: result.value } : { issues: result.issues.map(formatIssue) };
}

function toIssues(error: unknown): ParsedInput {
  return { issues: [`$: ${ToolError.fromUnknown(error).message}`] };
}

function formatIssue(issue: StandardSchemaV1.Issue): string {
  const steps = (issue.path ?? []).map((segment) => {
    const key = typeof segment === "object" ? segment.key : segment;
    return typeof key === "number" ? key : String(key);
  });
  return `${formatJsonPath(steps)}: ${issue.message}`;
}

/**
 * A JSON Schema that is also a Standard Schema: AI SDK, OpenAI Agents, Mastra and the MCP SDK accept it.
 *
 * `~standard` is not enumerable: as JSON, it is only the JSON Schema.
 */
export type StandardJsonSchema<Sent = unknown, Parsed = Sent> = { readonly [keyword: string]: unknown } & {
  readonly "~standard": StandardSchemaV1.Props<Sent, Parsed> & StandardJSONSchemaV1.Props<Sent, Parsed>;
};

export interface StandardFacade {
  /** Whether and how an input is repaired, as the runtime repairs that of a call (`repairInput`). @default only check */
  readonly repair?: RepairOptions;
  /** Parses valid JSON with the schema's own library. @default returns the JSON */
  readonly parse?: ((value: unknown) => ParsedInput | Promise<ParsedInput>) | undefined;
}

/**
 * Adds a hidden `~standard` to a frozen, shallow copy of the validator's schema.
 *
 * Its `validate` checks JSON, repairs it if `repair` is set, and returns the result of `parse`, synchronously or as a promise, as `parse`
 * does. `jsonSchema` accepts the targets `draft-2020-12` and `draft-07`, and returns the schema as it is for both: the two differ only in rare
 * keywords, and `validate` supports all of them.
 */
export function withStandardSchema<Sent = unknown, Parsed = Sent>(
  validator: Validator,
  facade: StandardFacade = {},
): StandardJsonSchema<Sent, Parsed> {
  const { schema } = validator;
  const plain = typeof schema !== "boolean" ? schema : schema ? {} : { not: {} };
  const write = (options: StandardJSONSchemaV1.Options): Record<string, unknown> => writeSchema(plain, options.target);
  const standard = Object.freeze({
    version: 1,
    vendor: "haft",
    validate: (value: unknown) => validate(value, validator, facade),
    jsonSchema: Object.freeze({ input: write, output: write }),
  });
  // the value that the schema allows
  return Object.freeze(Object.defineProperty({ ...plain }, "~standard", { value: standard })) as StandardJsonSchema<Sent, Parsed>;
}

type Verdict = StandardSchemaV1.Result<unknown>;

function validate(value: unknown, validator: Validator, { repair, parse }: StandardFacade): Verdict | Promise<Verdict> {
  const checked = checkJson(value, validator, repair);
  if (parse === undefined || checked.issues !== undefined) return checked;
  const parsing = parse(checked.value);
  return parsing instanceof Promise ? parsing.then(toVerdict) : toVerdict(parsing);
}

function toVerdict(parsed: ParsedInput): Verdict {
  return "issues" in parsed ? { issues: parsed.issues.map((message) => ({ message })) } : { value: parsed.value };
}

function writeSchema(schema: Readonly<Record<string, unknown>>, target: string): Record<string, unknown> {
  if (target !== "draft-2020-12" && target !== "draft-07") {
    throw new ToolError("invalid_argument", `A schema cannot be written for the target ${JSON.stringify(target)}.`, {
      hint: 'Ask for "draft-2020-12" or "draft-07".',
    });
  }
  return structuredClone(schema); // a copy that the caller may change
}

function checkJson(value: unknown, validator: Validator, repair: RepairOptions | undefined): StandardSchemaV1.Result<JsonValue> {
  let json: JsonValue;
  try {
    json = copyJson(value).value;
  } catch (error: unknown) {
    return { issues: [{ message: ToolError.fromUnknown(error).message }] };
  }
  if (repair !== undefined) {
    const outcome = repairInput(json, validator, repair);
    return outcome.ok ? { value: outcome.value } : { issues: outcome.problems.map(toIssue) };
  }
  return validator.check(json) ? { value: json } : { issues: validator.problems(json).map(toIssue) };
}

function toIssue(problem: SchemaProblem): StandardSchemaV1.Issue {
  const path = problem.pointer.split("/").slice(1).map(unescapePointerStep);
  return { message: problem.message, path };
}
