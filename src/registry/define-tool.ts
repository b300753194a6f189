/** Defines a tool, checked at once and typed by its schema. */
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import type { ToolOutput } from "../core/content.ts";
import { declaresNoWrites, type Effects } from "../core/resources/effects.ts";
import type { ToolContext } from "../core/context.ts";
import { ToolError, pickHints } from "../core/error.ts";
import type { JsonSchema, ParsedInput, Reducer, Tool } from "../core/tool.ts";
import { checkJsonSchema } from "../schema/check-json-schema.ts";
import { compileSchema } from "../schema/compile-schema.ts";
import type { InferAnswer, InferInput, InferReturn, InferSent } from "../schema/infer-schema.ts";
import { copySchema } from "../schema/import-schema.ts";
import { fromStandardSchema, withStandardSchema, type StandardJsonSchema } from "../schema/standard-schema.ts";
import { isHaftSchema, isStandardSchema } from "../schema/library-schema.ts";
import { findKeyTemplateError } from "./check-key-templates.ts";
import { checkToolFields } from "./check-tool-fields.ts";
import { checkAcceptsObjects } from "./object-input.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";

/**
 * A JSON Schema, which TypeBox may have made, or a schema of any library that supports Standard Schema and Standard JSON Schema: zod ≥ 4.2, arktype ≥
 * 2.1.28, valibot with `toStandardJsonSchema` of `@valibot/to-json-schema`, and others.
 */
export type SchemaSource = JsonSchema | (StandardSchemaV1 & StandardJSONSchemaV1) | TypeBoxSchema | NeedsJsonSchema;

/**
 * Accepts nothing that a JSON Schema does not: it is here for the message of the compiler. A schema of zod 3 or valibot has no index signature, so the
 * compiler compares it with the member of the union that has most keys in common, and names this property.
 */
type NeedsJsonSchema = { readonly "~standard": WritesJsonSchema } & { readonly [keyword: string]: unknown };

interface WritesJsonSchema {
  readonly "JSON Schema (use zod 4.2 or newer, imported from zod itself; for valibot, toStandardJsonSchema() of @valibot/to-json-schema)": never;
}

/** A JSON Schema of TypeBox 1, whose types are interfaces and so do not match `JsonSchema`, which has an index signature. */
export interface TypeBoxSchema {
  /** The TypeBox type, such as `Object`. Not part of the JSON. */
  readonly "~kind": string;
}

type AnyObject = { readonly type: "object" };

/** All fields of a tool, with schemas of any kind and a handler typed by them. */
export interface ToolOptions<
  Input extends SchemaSource = AnyObject,
  Output extends SchemaSource = JsonSchema,
  Result extends HandlerResult<Output> = HandlerResult<Output>,
> extends Omit<Tool, "inputSchema" | "outputSchema" | "effects" | "validate" | "reducer" | "execute" | "parseInput" | "parseOutput"> {
  /** @default an object with any keys */
  readonly inputSchema?: Input;
  readonly outputSchema?: Output;
  /** If omitted, the tool writes everything of its toolset and may not be repeated. Functions in it get the JSON that was sent, once validated. */
  readonly effects?: Effects<InferSent<Input>>;
  /** The tool's own rules, run after its schema on the JSON that was sent. Returns one message per problem. */
  readonly validate?: (input: InferSent<Input>) => readonly string[];
  /** As in `Tool`, for the JSON that was sent. */
  readonly reducer?: Reducer<InferSent<Input>>;
  /** Runs the call with the input as the schema parsed it. If omitted, the toolset's engine answers. */
  readonly execute?: (input: InferInput<Input>, context: ToolContext) => Result;
}

/** The values that a handler may return: those that the output schema accepts, or any without one. A `ToolOutput` adds content and metadata. */
export type HandlerResult<Output> = Answer<Output> | ToolOutput | Promise<Answer<Output> | ToolOutput>;

/** JSON Schema literals already have readonly types. */
type Answer<Output> = Output extends StandardSchemaV1 ? Frozen<InferReturn<Output>> : InferReturn<Output>;

/** A readonly version of a type, up to four levels deep. An answer is only read, and literals with exact types are readonly. */
type Frozen<Value, Level extends readonly 0[] = []> = Level["length"] extends 4
  ? Value
  : Value extends object
    ? { readonly [Key in keyof Value]: Frozen<Value[Key], [...Level, 0]> }
    : Value;

/** A frozen tool whose schemas other frameworks accept directly (Standard Schema). */
export interface DefinedTool<Input extends SchemaSource = SchemaSource, Output extends SchemaSource = SchemaSource> extends Tool {
  readonly inputSchema: StandardJsonSchema<InferSent<Input>, InferInput<Input>>;
  readonly outputSchema?: StandardJsonSchema<InferReturn<Output>, InferAnswer<Output>>;
  /** Takes no input where the schema is not known, as in `DefinedTool[]`: such tools are called through a runtime. */
  readonly execute?: (input: HandlerInput<Input>, context: ToolContext) => HandlerResult<Output>;
}

/** The input of a handler; `never` for tools of any schema, so that `DefinedTool` without parameters fits each of them. */
type HandlerInput<Input extends SchemaSource> = SchemaSource extends Input ? never : InferInput<Input>;

/**
 * Defines a tool. The type of the handler's input is inferred from the schema.
 *
 * For a Standard Schema, its JSON Schema is used for the model and the repairs, and its own validation makes the handler's input. The category
 * `DANGEROUS` sets `oncePerTurn`, and `TERMINAL` sets `endsTurn`, unless they are given.
 *
 * @throws ToolError `invalid_argument` with the tool and the field, or `invalid_schema`, immediately
 */
export function defineTool<
  const Input extends SchemaSource = AnyObject,
  const Output extends SchemaSource = JsonSchema,
  const Result extends HandlerResult<Output> = HandlerResult<Output>,
>(definition: ToolOptions<Input, Output, Result>): DefinedTool<Input, Output> {
  checkToolFields(definition);
  const { inputSchema, outputSchema, effects, cache, ...fields } = definition;
  const input = prepareSchema(inputSchema ?? { type: "object" }, "input", definition);
  const fault = findKeyTemplateError(definition.name, effects, input.jsonSchema);
  if (fault !== undefined) throw fault;
  const output = outputSchema === undefined ? undefined : prepareSchema(outputSchema, "output", definition);
  const tool = {
    ...fields,
    ...categoryPreset(definition),
    ...(effects === undefined ? {} : { effects: freezeWithLists({ ...effects }) }),
    ...(cache === undefined ? {} : { cache: typeof cache === "string" ? cache : freezeWithLists({ ...cache }) }),
    inputSchema: input.jsonSchema,
    ...omitUndefined({ parseInput: input.parse, outputSchema: output?.jsonSchema }),
    ...(output?.parse === undefined ? {} : { parseOutput: output.parse }),
  };
  return freezeWithLists(tool) as DefinedTool<Input, Output>; // the schemas were just made from Input and Output
}

/** Freezes a copy that the caller just made, and its arrays, so that later changes of the definition have no effect. */
function freezeWithLists<Fields extends object>(fields: Fields): Readonly<Fields> {
  for (const [key, value] of Object.entries(fields)) if (Array.isArray(value)) Reflect.set(fields, key, Object.freeze([...value]));
  return Object.freeze(fields);
}

function prepareSchema(
  source: SchemaSource,
  direction: "input" | "output",
  definition: Pick<Tool, "name" | "effects" | "unknownKeys">,
): { readonly jsonSchema: StandardJsonSchema; readonly parse: ((value: unknown) => ParsedInput | Promise<ParsedInput>) | undefined } {
  try {
    const parsing = isStandardSchema(source) && !isHaftSchema(source) ? fromStandardSchema(source, direction) : undefined;
    if (parsing === undefined) checkJsonSchema(source);
    if (direction === "input") checkAcceptsObjects(parsing?.jsonSchema ?? source);
    const validator = compileSchema(copySchema(parsing?.jsonSchema ?? source), { formats: direction === "input" && parsing === undefined });
    const facade =
      direction === "input"
        ? {
            repair: { dropUnknownKeys: dropsUnknownKeys(definition), allowGuesses: declaresNoWrites(definition.effects) },
            parse: parsing?.parse,
          }
        : {};
    return { jsonSchema: withStandardSchema(validator, facade), parse: parsing?.parse };
  } catch (error: unknown) {
    const cause = ToolError.fromUnknown(error, "invalid_schema");
    throw new ToolError(cause.code, `The ${direction} schema of tool ${JSON.stringify(definition.name)}: ${cause.message}`, {
      details: cause.details,
      ...pickHints(cause),
      cause: error,
    });
  }
}

function dropsUnknownKeys({ effects, unknownKeys }: Pick<Tool, "effects" | "unknownKeys">): boolean {
  return unknownKeys === undefined ? declaresNoWrites(effects) : unknownKeys === "drop";
}

function categoryPreset({
  category,
  oncePerTurn,
  endsTurn,
}: Pick<Tool, "category" | "oncePerTurn" | "endsTurn">): Pick<Tool, "oncePerTurn" | "endsTurn"> {
  if (category === "DANGEROUS") return { oncePerTurn: oncePerTurn ?? true };
  return category === "TERMINAL" ? { endsTurn: endsTurn ?? true } : {};
}
