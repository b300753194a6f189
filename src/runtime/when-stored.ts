/** Waits until what a session recorded cannot be lost. */
import { ToolError, hintsOf } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import type { RuntimeSession } from "./runtime-session.ts";

/**
 * Resolves when what was recorded is durable, where that is to be waited for.
 *
 * @param results of the calls that were recorded. @default something was done
 * @throws ToolError why it is not. What was done stays done, and may be written later: only where no call was begun is the outcome `not_started`. By rejecting
 */
export async function whenStored(session: RuntimeSession, results?: ToolResult | readonly ToolResult[]): Promise<void> {
  const { eventLog } = session;
  try {
    if (eventLog?.options.durability !== "async") await eventLog?.whenDurable();
    if (session.broken !== undefined) throw session.broken;
  } catch (thrown: unknown) {
    const error = ToolError.fromUnknown(thrown, "store_failed");
    if (error.outcome !== "not_started" || isNothingBegun(results)) throw error;
    const { code, message, retryable, details } = error;
    throw new ToolError(code, message, { retryable, outcome: "unknown", details, ...hintsOf(error), cause: error });
  }
}

function isNothingBegun(results: ToolResult | readonly ToolResult[] | undefined): boolean {
  return results !== undefined && [results].flat().every(({ error }) => error?.outcome === "not_started");
}
