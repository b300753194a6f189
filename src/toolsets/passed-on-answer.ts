/** The answer of a call that a tool makes in a model's place. */
import { ToolOutput } from "../core/content.ts";
import { ToolError } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";

/** The answer of the call, as that of the tool which made it. @throws ToolError the one that it ended with */
export function passedOnAnswer({ name, status, output, content, error, metadata, exitCode }: ToolResult, madeBy: string): ToolOutput {
  if (status === "pending")
    throw new ToolError(
      "not_executable",
      `${name} is talked to while it runs, and goes on in the background: ${madeBy} cannot wait for it.`,
    );
  if (error !== undefined && (status !== "partial" || output === undefined)) {
    if (output === undefined && content === undefined) throw new ToolError(error.code, error.message, error);
    return new ToolOutput({ output, error: error.message, ...(content === undefined ? {} : { content }) });
  }
  return new ToolOutput({
    output,
    ...(content === undefined ? {} : { content }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(exitCode === undefined ? {} : { exitCode }),
  });
}
