/** What happens in a runtime, as it happens. A session's log is the `call-start` and `call-end` events of its calls. */
import type { ToolCall } from "./call.ts";
import type { ProgressUpdate } from "./context.ts";
import type { ErrorInfo } from "./error.ts";
import type { JsonObject } from "./json.ts";
import type { ToolResult } from "./result.ts";

interface CallEvent {
  readonly callId: string;
  readonly sessionId: string;
  readonly turnId: string;
  /** Wall-clock milliseconds since the epoch. */
  readonly at: number;
}

export type RuntimeEvent =
  | (CallEvent & { readonly type: "call-start"; readonly call: ToolCall })
  | (CallEvent & {
      readonly type: "call-wait";
      readonly toolName: string;
      readonly waitMs: number;
      readonly reason: "lock" | "slot";
      /** The ids of the calls that were in the way, at most 20. */ readonly waitedFor: readonly string[];
    })
  | (CallEvent & { readonly type: "call-attempt"; readonly toolName: string; readonly attempt: number })
  | (CallEvent & {
      readonly type: "call-retry";
      readonly toolName: string;
      readonly attempt: number;
      readonly delayMs: number;
      readonly error: ErrorInfo;
    })
  | (CallEvent & { readonly type: "call-progress"; readonly toolName: string; readonly update: ProgressUpdate })
  | (CallEvent & { readonly type: "call-orphan"; readonly toolName: string; readonly orphans: number })
  | (CallEvent & { readonly type: "call-late"; readonly toolName: string; readonly outcome: "returned" | "threw"; readonly lateMs: number })
  | (CallEvent & { readonly type: "call-block"; readonly toolName: string; readonly blockedMs: number })
  | (CallEvent & {
      readonly type: "call-end";
      readonly result: ToolResult;
      /** The input that ran, after repair; undefined when the call never got that far. */ readonly input?: JsonObject;
    })
  | {
      readonly type: "batch-rollback";
      readonly sessionId: string;
      readonly turnId: string;
      readonly at: number;
      readonly callIds: readonly string[];
    }
  | ToolsetEvent
  | { readonly type: "circuit-change"; readonly at: number; readonly toolName: string; readonly state: "open" | "half-open" | "closed" };

export type ToolsetEvent =
  | { readonly type: "toolset-open"; readonly at: number; readonly toolset: string; readonly tools: number }
  | { readonly type: "toolset-fail"; readonly at: number; readonly toolset: string; readonly error: ErrorInfo }
  | { readonly type: "toolset-close"; readonly at: number; readonly toolset: string; readonly error?: ErrorInfo };

/** Receives every event, in order. Throwing is logged and changes nothing. */
export type EventListener = (event: RuntimeEvent) => void;
