/** The answer of a loop as a value of a schema: how the model is asked for it, and how its reply is read. */
import { ToolError } from "../core/error.ts";
import { isJsonObject } from "../core/base/json.ts";
import type { ResponseFormat } from "../core/model.ts";
import { findReplyProblem, readReply } from "../engine/lm/read-reply.ts";
import type { SchemaSource } from "../registry/define-tool.ts";
import { checkJsonSchema } from "../schema/check-json-schema.ts";
import { compileSchema, type Validator } from "../schema/compile-schema.ts";
import { copySchema } from "../schema/import-schema.ts";
import { repairInput } from "../schema/repair/repair-input.ts";
import { fromStandardSchema, type ParsingSchema } from "../schema/standard-schema.ts";
import { isStandardSchema } from "../schema/library-schema.ts";

/** How many times a model is asked again for an answer that does not fit. */
export const MAX_OUTPUT_REPAIRS = 2;
const MAX_PROBLEMS = 10;

/** The outcome of reading an answer. */
export type OutputReading = { readonly value: unknown } | { readonly problems: readonly string[] };

/**
 * Reads answers against one schema.
 *
 * A reply may hold its object alone, in a fence or within prose; if there are several, the first that fits is used. Broken JSON is repaired, and
 * values are repaired like those of a tool's input. A Standard Schema then parses the object, so its transforms apply.
 */
export class StructuredOutput {
  readonly responseFormat: ResponseFormat;
  /** For the system prompt: a provider may not support response formats, or not together with tools. */
  readonly instruction: string;
  readonly #validator: Validator;
  readonly #parse: ParsingSchema["parse"] | undefined;

  /** @throws ToolError `invalid_schema` for a schema that cannot be used, or whose type is not `object` */
  constructor(source: SchemaSource) {
    const parsing = isStandardSchema(source) ? fromStandardSchema(source) : undefined;
    if (parsing === undefined) checkJsonSchema(source);
    const schema = parsing?.jsonSchema ?? source;
    if (!isJsonObject(schema) || schema["type"] !== "object")
      throw new ToolError("invalid_schema", "The output of a loop must be an object: its schema needs the type object.", {
        hint: 'Wrap the value in a property: { type: "object", properties: { items: … }, required: ["items"] }.',
      });
    this.#validator = compileSchema(copySchema(schema));
    this.#parse = parsing?.parse;
    this.responseFormat = { schema, name: "answer" };
    this.instruction = `Give your final answer as one JSON object and nothing else. It must fit this JSON Schema:\n${JSON.stringify(schema)}`;
  }

  async read(text: string): Promise<OutputReading> {
    const objects = readReply(text);
    if (objects.length === 0) return { problems: [findReplyProblem(text) ?? "the answer is not a JSON object"] };
    let problems: readonly string[] = [];
    for (const object of objects) {
      const fitted = repairInput(object, this.#validator, { dropUnknownKeys: true, allowGuesses: true });
      if (fitted.ok) {
        const parsed = (await this.#parse?.(fitted.value)) ?? { value: fitted.value };
        if ("value" in parsed) return parsed;
        problems = parsed.issues;
      } else problems = fitted.problems.map(({ path, message }) => `${path}: ${message}`);
    }
    return { problems: problems.slice(0, MAX_PROBLEMS) };
  }
}

/** Returns the message to a model whose answer does not fit. */
export function correctionNote(problems: readonly string[]): string {
  return `Your answer does not fit the JSON Schema:\n${problems.map((problem) => `- ${problem}`).join("\n")}\nAnswer again with the corrected JSON object and nothing else.`;
}

/** The error of a run whose answer never fitted. */
export function outputError(problems: readonly string[]): ToolError {
  return new ToolError("invalid_output", "The model's answer does not fit the output schema.", { details: problems });
}
