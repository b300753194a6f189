import type { ToolError } from "./error.ts";
import type { Tool } from "./tool.ts";

/** Compares tools with the definitions that a person approved. */
export interface ToolPins {
  /** Returns why a tool that an engine or a source provided may not be called; undefined if it matches its pin, or its toolset is not pinned. */
  check(toolset: string, tool: Tool): ToolError | undefined;
}
