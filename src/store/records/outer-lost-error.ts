/** The error of a claim for a call whose session this process no longer has. */
import { ToolError } from "../../core/error.ts";

export function outerLostError(outerId: string): ToolError {
  return new ToolError(
    "conflict",
    `Session ${JSON.stringify(outerId)} is not open here any more, so sessions of its calls cannot be claimed here.`,
  );
}
