/** The output of a result, typed by its tool's schema. */
import { splitName } from "../core/call.ts";
import { ToolError } from "../core/error.ts";
import { checkResult } from "../core/check-argument.ts";
import type { ToolResult } from "../core/result.ts";
import { type StandardJsonSchema } from "../schema/standard-schema.ts";
import { isStandardSchema } from "../schema/library-schema.ts";

/** A tool made by `defineTool`, as `outputOf` needs it. */
export interface AnsweringTool<Answer> {
  /** As in `Tool`, without the namespace. */
  readonly name: string;
  /** Validates the output and determines its type. */
  readonly outputSchema?: StandardJsonSchema<unknown, Answer>;
}

/**
 * Returns the output of a result, with the type of the tool's `outputSchema`.
 *
 * Returns undefined if the result has no output of that type: it belongs to a tool with another name, its status is not `ok`, it was truncated
 * (`truncation`), or the output does not match the schema, for example because a hook changed it. So the outputs of one tool can be picked from many
 * results. Without an output schema nothing is checked, and the type is `unknown`.
 *
 * @throws ToolError `invalid_argument` for a tool that `defineTool` did not make
 */
export function outputOf<Answer>(tool: AnsweringTool<Answer>, result: ToolResult): Answer | undefined;
export function outputOf(tool: AnsweringTool<unknown>, result: ToolResult): unknown {
  const { name, outputSchema } = tool ?? {};
  if (typeof name !== "string" || (outputSchema !== undefined && !isStandardSchema(outputSchema)))
    throw new ToolError("invalid_argument", "outputOf() takes a tool that defineTool() made, and a result.");
  checkResult(result, "outputOf(tool, result)");
  const { status, output, truncation } = result;
  if (status !== "ok" || output === undefined || truncation !== undefined || splitName(result.name).name !== name) return undefined;
  if (outputSchema === undefined) return output;
  const verdict = outputSchema["~standard"].validate(output);
  return "issues" in verdict || verdict instanceof Promise ? undefined : output;
}
