/** Errors of functions that a tool calls with what the model gave. */
import { ToolError } from "../core/error.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";

/**
 * Runs work whose arguments a model chose, and turns `invalid_argument` into `invalid_input`: there, the mistake is the model's, and it needs the hint.
 *
 * @throws ToolError what the work throws, as a rejection
 */
export async function asInputError<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (thrown: unknown) {
    if (!(thrown instanceof ToolError) || thrown.code !== "invalid_argument") throw thrown;
    const { message, hint } = thrown;
    throw new ToolError("invalid_input", message, { cause: thrown, outcome: "not_started", ...omitUndefined({ hint }) });
  }
}
