/** Thrown by `execute(…, { onError: "throw" })` in place of the results. */
import type { ToolResult } from "../core/result.ts";

/** A call of the batch failed, the others were cancelled and awaited, and the session went back to before the batch. */
export class ToolExecutionError extends Error {
  override readonly name = "ToolExecutionError";
  /** The result that failed the batch. */
  readonly result: ToolResult;
  /** All results of the batch, in call order; effects that tools had outside the session are real. */
  readonly results: readonly ToolResult[];

  constructor(result: ToolResult, results: readonly ToolResult[]) {
    super(`${result.name}: ${result.error?.message ?? "failed"}`);
    this.result = result;
    this.results = results;
  }
}
