/** Thrown by `execute(…, { onError: "throw" })` in place of the results. */
import { shareClass } from "../core/base/share-class.ts";
import type { ResultWithError, ToolResult } from "../core/result.ts";

/** A call of the batch failed. The other calls were cancelled and awaited, and the session was rolled back to before the batch. */
export class ToolExecutionError extends Error {
  static {
    shareClass(this, "ToolExecutionError");
  }

  override readonly name = "ToolExecutionError";
  /** The result that failed the batch. */
  readonly result: ResultWithError;
  /** All results of the batch, in call order; effects outside the session have happened. */
  readonly results: readonly ToolResult[];

  /** @param cause the error that the handler threw, if it did */
  constructor(result: ResultWithError, results: readonly ToolResult[], cause?: unknown) {
    super(`${result.name}: ${result.error.message}`, cause === undefined ? {} : { cause });
    this.result = result;
    this.results = results;
  }
}
