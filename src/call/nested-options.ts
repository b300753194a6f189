/** How the calls are run that a handler makes as part of its own. */
import type { ToolCall } from "../core/call.ts";
import type { ToolResult } from "../core/result.ts";

export interface NestedCalls {
  readonly signal: AbortSignal;
  readonly idempotencyKey?: string;
  readonly background?: boolean;
}

/** Makes the calls of a handler in the session of its own call. */
export type ExecuteWithin<Run> = (
  run: Run,
  calls: ToolCall | readonly ToolCall[],
  options: NestedCalls,
) => Promise<ToolResult | readonly ToolResult[]>;
