/** The events of a loop, as they happen. */
import type { ToolError } from "../core/error.ts";
import type { ModelCall, ModelEvent, ModelReply } from "../core/model.ts";
import type { ToolResult } from "../core/result.ts";
import type { LoopResult } from "./loop-result.ts";

/**
 * The model's own events are passed on as they come, between `round-start` and `round-end`. The progress of the tools is reported by the
 * runtime's events, under the `callId` of `call-add`.
 */
export type LoopEvent<Output = unknown> =
  | ModelEvent
  | { readonly type: "round-start"; readonly round: number }
  | {
      readonly type: "call-add";
      readonly callId: string;
      readonly call: ModelCall;
      /** Why it is not run. */
      readonly refusal?: ToolError;
    }
  | {
      readonly type: "round-end";
      readonly round: number;
      /** Undefined when the model failed before its message was over. */
      readonly reply: ModelReply | undefined;
      readonly results: readonly ToolResult[];
    }
  /** The loop has sent the model a note: an alarm, a hint. */
  | { readonly type: "note-add"; readonly note: string }
  | { readonly type: "stop"; readonly result: LoopResult<Output> };

/** Throwing is logged and changes nothing. */
export type LoopListener = (event: LoopEvent) => void;
