/** A call and its result, as a session remembers them. */
import type { ToolCall } from "./call.ts";
import type { JsonObject } from "./base/json.ts";
import type { ToolResult } from "./result.ts";

/** An earlier call of a session, with its result. */
export interface HistoryEntry {
  readonly callId: string;
  readonly turnId: string;
  readonly call: ToolCall;
  /** The input that ran, after repair; undefined while the call runs, or if it never got that far. */
  readonly input?: JsonObject;
  /** Undefined while the call runs. */
  readonly result: ToolResult | undefined;
  /** The outcome of the call, if it became known after the result had said that it is unknown. */
  readonly resolved?: "applied";
}
