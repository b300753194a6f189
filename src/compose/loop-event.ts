/** The events of a loop, as they happen. */
import type { ToolError } from "../core/error.ts";
import type { ModelCall, ModelEvent, ModelReply } from "../core/model.ts";
import type { ToolResult } from "../core/result.ts";
import type { LoopResult } from "./loop-result.ts";

/**
 * An event of a loop. The model's own events are passed on as they arrive, between `round-start` and `round-end`. The progress of tools is reported
 * by the runtime's events, under the `callId` of `call-add`.
 */
export type LoopEvent<Output = unknown> =
  | ModelEvent
  | { readonly type: "round-start"; readonly round: number }
  | {
      readonly type: "call-add";
      readonly callId: string;
      readonly call: ModelCall;
      /** Why the call is not run. */
      readonly refusal?: ToolError;
    }
  | {
      readonly type: "round-end";
      readonly round: number;
      /** Undefined if the model failed before its message was complete. */
      readonly reply: ModelReply | undefined;
      readonly results: readonly ToolResult[];
    }
  /** The loop has sent the model a note, for example about its budget. */
  | { readonly type: "note-add"; readonly note: string }
  | { readonly type: "stop"; readonly result: LoopResult<Output> };

/** Receives the events of a loop. If it throws, that is logged and has no other effect. */
export type LoopListener = (event: LoopEvent) => void;
