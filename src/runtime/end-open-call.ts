/** The end of a call that no process runs, written into the log of its session. */
import type { ToolError } from "../core/error.ts";
import type { SessionEvent } from "../core/event.ts";
import { readEvent } from "../core/recording/read-event.ts";
import type { ToolResult } from "../core/result.ts";
import type { OpenCall } from "./fold-events.ts";

/** The result of a call that had begun, and the end of its background job: to be appended together. */
export function endOpenCall(
  { callId, turnId, call, job }: OpenCall,
  error: ToolError,
  { sessionId, at }: { readonly sessionId: string; readonly at: number },
): readonly SessionEvent[] {
  const status = error.code === "cancelled" ? "cancelled" : "error";
  const result: ToolResult = {
    callId,
    ...(call.id === undefined ? {} : { id: call.id }),
    name: job?.toolName ?? call.name,
    status,
    error: error.toJSON(),
    origin: "live",
    attempts: 0,
    durationMs: 0,
    repairs: [],
    warnings: [],
  };
  const base = { callId, turnId, sessionId, at };
  const end = readEvent({ ...base, type: "call-end", result }, "The result of an interrupted call");
  if (job === undefined) return [end];
  const { toolName, notify } = job;
  return [end, readEvent({ ...base, type: "job-end", toolName, status, notify }, "The end of an interrupted job")];
}
