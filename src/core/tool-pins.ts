/** A tool's definition as it was when a person approved it. */
import type { ToolError } from "./error.ts";
import type { Tool } from "./tool.ts";

/** Compares tools with the definitions that were agreed to. */
export interface ToolPins {
  /** Why a tool that an engine or a source brought may not be called now; undefined when it is as pinned, or its toolset is not pinned. */
  check(toolset: string, tool: Tool): ToolError | undefined;
}
