import type { ToolResult } from "./result.ts";

/** Whether the store could not take the intent of the call: nothing of it has happened, and it may be run when the store can. */
export function wasKeptFromStarting({ error, attempts }: ToolResult): boolean {
  return attempts === 0 && error?.code === "store_failed" && error.outcome === "not_started";
}
