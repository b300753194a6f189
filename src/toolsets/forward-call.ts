import { omitUndefined } from "../core/base/omit-undefined.ts";
import type { ToolCall } from "../core/call.ts";
import type { ToolContext } from "../core/context.ts";
import { NotStartedError, toNotStartedError, wasBlockedByStore } from "../core/not-started-error.ts";
import { ToolOutput } from "../core/content.ts";
import { ToolError } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";

/** Makes a call for a tool that calls others by name, and returns its answer. @throws ToolError the error that the call ended with, as a rejection */
export async function forwardCall({ execute }: ToolContext, call: ToolCall, madeBy: string): Promise<ToolOutput> {
  const result = await execute(call, { background: false }).catch((thrown: unknown) => {
    throw toNotStartedError(thrown);
  });
  if (result.error !== undefined && wasBlockedByStore(result)) throw new NotStartedError(result.error);
  return toForwardedOutput(result, madeBy);
}

/** Returns the answer of the call as that of the tool which made it. @throws ToolError the error that the call ended with */
function toForwardedOutput({ name, status, output, content, error, metadata, exitCode }: ToolResult, madeBy: string): ToolOutput {
  if (status === "pending")
    throw new ToolError(
      "not_executable",
      `${name} takes messages while it runs, and continues in the background: ${madeBy} cannot wait for it.`,
    );
  if (error !== undefined && (status !== "partial" || output === undefined)) {
    if (output === undefined && content === undefined) throw new ToolError(error.code, error.message, error);
    return new ToolOutput({ output, error: error.message, ...(content === undefined ? {} : { content }) });
  }
  return new ToolOutput({ output, ...omitUndefined({ content, metadata, exitCode }) });
}
