/** What opening and refreshing toolsets came to. */
import { ToolError } from "../../core/error.ts";
import type { ToolsetChange } from "../prepare-toolset.ts";
import type { ToolsetFailure } from "./merge-toolsets.ts";

/** What became of the enabled toolsets, in the order they were given; a source that gave none is under its own name. */
export interface OpenReport {
  readonly opened: readonly string[];
  readonly failed: readonly ToolsetFailure[];
}

/** What a refresh came to. What failed stays as it was. */
export interface RefreshReport {
  readonly changed: readonly ToolsetChange[];
  readonly failed: readonly ToolsetFailure[];
}

export function closedMeanwhile(): ToolError {
  return new ToolError("cancelled", "it was closed before it was open.");
}

export function couldNotOpen(toolset: string, error: ToolError): ToolError {
  return new ToolError("unavailable", `The toolset ${JSON.stringify(toolset)} could not be opened: ${error.message}`, {
    details: error.details,
    cause: error,
  });
}
