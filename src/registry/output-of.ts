/** The output of a result with the type of its tool's schema. */
import { splitName } from "../core/call.ts";
import { ToolError } from "../core/error.ts";
import { checkResult } from "../core/check-argument.ts";
import type { ToolResult } from "../core/result.ts";
import { type StandardJsonSchema } from "../schema/standard-schema.ts";
import { isStandardSchema } from "../schema/library-schema.ts";

/** A tool of `defineTool`, as `outputOf` takes it. */
export interface AnsweringTool<Answer> {
  /** As in `Tool`, without a toolset. */
  readonly name: string;
  /** By which the output is checked, and from which it has its type. */
  readonly outputSchema?: StandardJsonSchema<unknown, Answer>;
}

/**
 * Returns the output of a result with the type that the tool's `outputSchema` gives it.
 *
 * Returns undefined where the result has none of that type: it is of a tool with another name, its status is not `ok`, it was
 * cut (`truncation`), or the output does not fit the schema, as where a hook changed it. So the outputs of one tool can be picked
 * from the results of many. Without an output schema nothing is checked, and the type is `unknown`.
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
