/** A preset for tools that answer `{success, error?, data?}`, as the Evennia AI assistant does. */
import { ToolError } from "../core/error.ts";
import { isJsonObject } from "../core/base/json.ts";
import type { Tool } from "../core/tool.ts";

/**
 * The same tool under the rules of the Evennia AI assistant: unexpected input keys are dropped with a report, an answer that is
 * no object, or has a `success` that is not a boolean or an `error` that is not a string, is `invalid_output`,
 * and `success: false` is an error result with the tool's own words. Extra fields are kept.
 */
export function withSuccessShape(tool: Tool): Tool {
  const { parseOutput } = tool;
  return {
    ...tool,
    inputSchema: closed(tool.inputSchema),
    unknownKeys: "drop",
    parseOutput: (answer) => {
      checkAnswer(answer);
      return parseOutput === undefined ? { value: answer } : parseOutput(answer);
    },
  };
}

function closed(schema: Tool["inputSchema"]): Tool["inputSchema"] {
  if (typeof schema === "boolean") return schema ? { type: "object" } : schema;
  return "additionalProperties" in schema || !("properties" in schema) ? schema : { ...schema, additionalProperties: false };
}

function checkAnswer(answer: unknown): void {
  const problem = shapeProblem(answer);
  if (problem !== undefined) throw new ToolError("invalid_output", `The tool's answer is not {success, error?, data?}: ${problem}.`);
  if (isJsonObject(answer) && answer["success"] === false) {
    throw new ToolError("execution_failed", typeof answer["error"] === "string" ? answer["error"] : "The tool reported success: false.", {
      outcome: "failed",
    });
  }
}

function shapeProblem(answer: unknown): string | undefined {
  if (answer === null || answer === undefined) return "there is no answer";
  if (!isJsonObject(answer)) return "it is not an object";
  if (answer["success"] !== undefined && typeof answer["success"] !== "boolean") return '"success" is not a boolean';
  if (answer["error"] !== undefined && answer["error"] !== null && typeof answer["error"] !== "string") return '"error" is not a string';
  return undefined;
}
