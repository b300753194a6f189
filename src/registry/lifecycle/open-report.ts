/** The reports of opening and refreshing toolsets. */
import { ToolError } from "../../core/error.ts";
import type { ToolsetChange } from "../prepare-toolset.ts";
import type { ToolsetFailure } from "./merge-toolsets.ts";

/** The enabled toolsets that were opened and that failed, in the given order. A source that failed is listed under its own name. */
export interface OpenReport {
  readonly opened: readonly string[];
  readonly failed: readonly ToolsetFailure[];
}

/** The report of a refresh. Toolsets that failed stay as they were. */
export interface RefreshReport {
  readonly changed: readonly ToolsetChange[];
  readonly failed: readonly ToolsetFailure[];
}

export function closedBeforeOpenError(): ToolError {
  return new ToolError("cancelled", "it was closed before it was open.");
}

export function openFailedError(toolset: string, error: ToolError): ToolError {
  return new ToolError("unavailable", `The toolset ${JSON.stringify(toolset)} could not be opened: ${error.message}`, {
    details: error.details,
    cause: error,
  });
}

/** For toolsets that are closed for good. @throws ToolError `invalid_argument` */
export function throwClosed(): never {
  throw new ToolError("invalid_argument", "The toolsets are closed and cannot be opened again.", { hint: "Create a new runtime." });
}
