/** What happens in a runtime, as it happens, and what of it a session keeps. */
import type { ToolCall } from "./call.ts";
import type { ContentPart } from "./content.ts";
import type { ProgressUpdate } from "./context.ts";
import type { ErrorInfo } from "./error.ts";
import type { JsonPatch } from "./base/json-patch.ts";
import type { JsonObject, JsonValue } from "./base/json.ts";
import type { SessionMessage } from "./message.ts";
import type { FinishReason, TokenUsage } from "./model.ts";
import type { ToolResult } from "./result.ts";
import type { AnswerSource } from "./answer-source.ts";

interface SessionFact {
  readonly sessionId: string;
  /** Wall-clock milliseconds since the epoch. */
  readonly at: number;
}

interface CallEvent extends SessionFact {
  readonly callId: string;
  readonly turnId: string;
}

/**
 * What a session's log and a store hold, in order. Replaying them gives the session's state and history.
 *
 * A fork's log begins with the events of its parent; they keep the parent's `sessionId`.
 */
export type SessionEvent =
  | (SessionFact & { readonly type: "session-start"; readonly parent?: BranchPoint })
  | (SessionFact & {
      readonly type: "message-add";
      readonly message: SessionMessage;
      /** The call whose handler added it. */
      readonly parentCallId?: string;
    })
  | (SessionFact & {
      /** A batch that may be submitted again; its calls, in call order, follow at once. */
      readonly type: "batch-start";
      readonly turnId: string;
      readonly callIds: readonly string[];
      readonly idempotencyKey: string;
      /** SHA-256 over the calls as they were sent: the key belongs to these calls only. */
      readonly digest: string;
    })
  | (CallEvent & {
      readonly type: "call-start";
      readonly call: ToolCall;
      /** The call whose handler made it, in the same session: it is voided or rolled back with that one. */
      readonly parentCallId?: string;
      /** It belongs to a message of a model that is not over yet: only a `round-end` makes it count. */
      readonly inRound?: true;
      /** The sources that were to answer it, where its caller or a rule named them. */
      readonly answerFrom?: readonly AnswerSource[];
      /** Its caller makes the input that it is run with of this one, when it is admitted. */
      readonly rewritten?: true;
    })
  | (CallEvent & {
      readonly type: "call-intent";
      readonly toolName: string;
      readonly input: JsonObject;
      readonly idempotencyKey: string;
    })
  | (CallEvent & { readonly type: "state-change"; readonly toolset: string; readonly key: string; readonly patch: JsonPatch })
  | (CallEvent & {
      readonly type: "call-end";
      readonly result: ToolResult;
      /** The input that ran, after repair; undefined when the call never got that far. */ readonly input?: JsonObject;
    })
  | (CallEvent & {
      /** The whole answer of a result that is cut; kept by a store only. */
      readonly type: "output-keep";
      readonly output?: JsonValue;
      readonly content?: readonly ContentPart[];
    })
  | (CallEvent & {
      readonly type: "outcome-resolve";
      readonly toolName: string;
      /** The effect happened after all. */
      readonly outcome: "applied";
    })
  | (SessionFact & {
      /** A message of the model is over; its calls began before, in this order, unless they are not recorded. */
      readonly type: "round-end";
      readonly turnId: string;
      /** Of a message that is voided, its calls and then those that were made in them, at any depth. */
      readonly callIds: readonly string[];
      /** The call whose handler asked the model. */
      readonly parentCallId?: string;
      /** What it said beside its calls. */
      readonly message: SessionMessage;
      readonly finish: FinishReason;
      readonly usage: TokenUsage;
      /** As the provider names it. */
      readonly model?: string;
      /** Why it counts as never said: its calls were cancelled, and the model is not shown them. */
      readonly voided?: string;
    })
  | (SessionFact & { readonly type: "batch-rollback"; readonly turnId: string; readonly callIds: readonly string[] })
  | (SessionFact & {
      readonly type: "branch-commit";
      readonly branchId: string;
      /** How many of the events that follow came from the branch. */
      readonly events: number;
    });

/** Where a session left its parent: after this many events of its log. */
export interface BranchPoint {
  readonly sessionId: string;
  readonly length: number;
}

export type RuntimeEvent =
  | SessionEvent
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
  | ToolsetEvent
  | { readonly type: "circuit-change"; readonly at: number; readonly toolName: string; readonly state: "open" | "half-open" | "closed" };

export type ToolsetEvent =
  | { readonly type: "toolset-open"; readonly at: number; readonly toolset: string; readonly tools: number }
  | { readonly type: "toolset-fail"; readonly at: number; readonly toolset: string; readonly error: ErrorInfo }
  | {
      readonly type: "toolset-change";
      readonly at: number;
      readonly toolset: string;
      /** Unqualified names, sorted. */
      readonly added: readonly string[];
      readonly removed: readonly string[];
      readonly changed: readonly string[];
    }
  | { readonly type: "toolset-close"; readonly at: number; readonly toolset: string; readonly error?: ErrorInfo };

/** Receives every event, in order. Throwing is logged and changes nothing. */
export type EventListener = (event: RuntimeEvent) => void;
