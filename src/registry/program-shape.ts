/** A preset for tools that run programs and return `{output, exit_code, error?, metadata?}`, as those of KohakuTerrarium do. */
import { ToolOutput } from "../core/content.ts";
import type { ToolContext } from "../core/context.ts";
import { ToolError } from "../core/error.ts";
import { checkArgument } from "../core/check-argument.ts";
import { isJsonObject, type JsonObject } from "../core/base/json.ts";
import type { Tool } from "../core/tool.ts";
import { isPromiseLike } from "../policy/attempts/deadline.ts";
import { toPlainTool, rejectFieldAliases } from "./check-tool-fields.ts";

/**
 * Wraps a tool so that its result is the `output` that it returns. An `exit_code` (or `exitCode`) other than 0, or an `error`, makes the result an
 * `execution_failed` error that keeps the output. A value without `output` is returned unchanged. The tool may be an instance of a class.
 *
 * @throws ToolError `invalid_argument` for a tool without `execute`
 */
export function withProgramShape(given: Tool): Tool {
  checkArgument(typeof given === "object" && given !== null, "withProgramShape()", "a tool", given, "defineTool() makes one.");
  const tool = toPlainTool(given);
  rejectFieldAliases(given, tool);
  const { execute } = tool;
  if (execute === undefined)
    throw new ToolError("invalid_argument", `The tool ${JSON.stringify(tool.name)} has no execute function, so it has no answer to read.`);
  return {
    ...tool,
    execute: (input: never, context: ToolContext) => {
      const answer = execute(input, context);
      return isPromiseLike(answer) ? Promise.resolve(answer).then(readAnswer) : readAnswer(answer);
    },
  };
}

function readAnswer(answer: unknown): unknown {
  if (!isJsonObject(answer) || !Object.hasOwn(answer, "output")) return answer;
  const { output, error, metadata }: Partial<JsonObject> = answer;
  const exitCode = answer["exitCode"] ?? answer["exit_code"] ?? undefined;
  return new ToolOutput({
    output,
    ...(exitCode === undefined ? {} : { exitCode: typeof exitCode === "number" ? exitCode : Number.NaN }),
    ...(typeof error === "string" && error !== "" ? { error } : {}),
    ...(isJsonObject(metadata) ? { metadata } : {}),
  });
}
