/** The error of a claim for a call whose session this process no longer has. */
import { ToolError } from "../../core/error.ts";

export function outerLostError(outerId: string): ToolError {
  return new ToolError(
    "conflict",
    `Session ${JSON.stringify(outerId)} was claimed by another process, so sessions of its calls can no longer be claimed here.`,
  );
}
