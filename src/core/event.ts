/** The events of a runtime, and the subset of them that a session's log keeps. */
import type { ApprovalScope, ApprovalStatus } from "./store/approval-store.ts";
import type { ToolCall } from "./call.ts";
import type { CallPhase } from "./call-phase.ts";
import type { ContentPart } from "./content.ts";
import type { ProgressUpdate } from "./context.ts";
import type { ErrorInfo } from "./error.ts";
import type { JsonPatch } from "./base/json-patch.ts";
import type { JsonObject, JsonValue } from "./base/json.ts";
import type { SessionMessage } from "./message.ts";
import type { FinishReason, TokenUsage } from "./model.ts";
import type { JobMode } from "./jobs/job-status.ts";
import type { ResultStatus, ToolResult } from "./result.ts";
import type { AnswerSource } from "./answers/answer-source.ts";

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
 * The events in a session's log and in a store, in order. Replaying them gives the session's state and history.
 *
 * A fork's log begins with the events of its parent; they keep the parent's `sessionId`.
 */
export type SessionEvent =
  | (SessionFact & {
      readonly type: "session-start";
      readonly parent?: BranchPoint;
      /** How many of the events after this one were copied from the snapshot that the session was made from; they report what happened elsewhere. */
      readonly copied?: number;
      /** The call, in another session, whose handler started this session, for example a delegate's. */
      readonly parentCall?: CallPlace;
    })
  | (SessionFact & {
      readonly type: "message-add";
      readonly message: SessionMessage;
      /** The call whose handler added the message. */
      readonly parentCallId?: string;
      /** The id of the principal that sent the message. */
      readonly principal?: string;
    })
  | (SessionFact & {
      /** A message that arrived while no run was active. It joins the conversation with a `message-add` of the same id. */
      readonly type: "inbox-add";
      readonly id: string;
      readonly message: SessionMessage;
      readonly sender?: string;
      /** The trigger that sent the message. */
      readonly triggerId?: string;
      /** The tick of the trigger that the message belongs to, in wall-clock milliseconds. Each tick is accepted once. */
      readonly tick?: number;
      /** The id of the authenticated principal that sent the message; `sender` is the name that it gives itself. */
      readonly principal?: string;
      /** The span in which the message was sent, as a `traceparent` header, if traced. */
      readonly traceparent?: string;
    })
  | (SessionFact & {
      readonly type: "trigger-add";
      readonly id: string;
      readonly kind: string;
      readonly settings: JsonObject;
      /** Set if a program or configuration declared the trigger for all of its sessions: it runs only in programs that declare it. */
      readonly declared?: true;
      /** The trigger has finished all ticks up to this one. A trigger that reads a source starts reading from here. */
      readonly tick?: number;
    })
  | (SessionFact & { readonly type: "trigger-pause"; readonly id: string })
  | (SessionFact & {
      readonly type: "trigger-resume";
      readonly id: string;
      /** The trigger has finished all ticks up to this one. Left out: up to `at`. */
      readonly tick?: number;
    })
  | (SessionFact & { readonly type: "trigger-remove"; readonly id: string })
  | (SessionFact & {
      /**
       * A batch that may be submitted again; its `call-start` events follow directly, in call order. A later batch with the same key lists the calls
       * that ran before among its own, and only the calls that the store had kept from starting follow.
       */
      readonly type: "batch-start";
      readonly turnId: string;
      readonly callIds: readonly string[];
      readonly idempotencyKey: string;
      /** SHA-256 of the calls as they were sent: the key is valid for these calls only. */
      readonly digest: string;
    })
  | (CallEvent & {
      readonly type: "call-start";
      readonly call: ToolCall;
      /** The call whose handler made this one, in the same session. If that call is voided or rolled back, so is this one. */
      readonly parentCallId?: string;
      /** Set if a composite tool made the call as part of its own work: models see only the result of that tool. */
      readonly ofComposite?: true;
      /** Set if the call belongs to a message that the model is still writing: the call counts only from the `round-end` on. */
      readonly inRound?: true;
      /** Set if its batch is strict: none of the calls runs unless all of them may run. */
      readonly strict?: true;
      /** The answer sources for the call, if its caller or a rule named them. */
      readonly answerFrom?: readonly AnswerSource[];
      /** Set if its caller derives the input that runs from this one, when the call is admitted. */
      readonly rewritten?: true;
      /** True: its caller sent the call to the background. False: its caller asked to wait for the result. Left out: the tool decides. */
      readonly background?: boolean;
      /**
       * Set if a model wrote `run_in_background` into its input without having been offered it: it is then input like any other. Older logs lack it.
       */
      readonly keepsFlag?: true;
      /** The id of the principal for whom the call is made: that of `ExecuteOptions`, else that of the call whose handler made it. */
      readonly principal?: string;
      /** Layers of tool rules that apply to the call and to the calls of its handler. They also apply when the call is resumed after a crash. */
      readonly allow?: readonly { readonly allow?: readonly string[]; readonly deny?: readonly string[] }[];
      /** Why the session's own approval rule, which is not stored, requires approval. It is also required when the call is resumed after a crash. */
      readonly asks?: string;
      /** If several tools shared the name when the call began: the `fingerprint` of the tool whose schema the input matched. Older logs lack it. */
      readonly overload?: string;
      /** The span in which the call is made, as a `traceparent` header, if it is traced and a store keeps it. */
      readonly traceparent?: string;
    })
  | (CallEvent & {
      readonly type: "call-intent";
      readonly toolName: string;
      readonly input: JsonObject;
      readonly idempotencyKey: string;
    })
  | (CallEvent & {
      /** The engine continues the work remotely, under an id by which a later process can ask for it: see `Engine.attach`. */
      readonly type: "call-remote";
      readonly toolName: string;
      readonly remoteId: string;
    })
  | (CallEvent & {
      /** The call needs approval and its approver is called next. The question is in the inbox under `approvalId`. */
      readonly type: "approval-ask";
      readonly toolName: string;
      readonly approvalId: string;
      /** SHA-256 of tool name, definition and input: an answer is valid for exactly these. */
      readonly digest: string;
      /** The input to be approved. */
      readonly input: JsonObject;
      readonly reason: string;
      /** Set if the session's own rule asks: `reason` includes that of the rule. */
      readonly warned?: true;
      /** Set if the call was resumed after a crash, and may have been run before it: the question does not show that it was not. */
      readonly begun?: true;
      /** Answers after this time do not count. */
      readonly expiresAt?: number;
    })
  | (CallEvent & {
      /** The question has ended. Without an `approval-ask` before it, a rule answered. */
      readonly type: "approval-answer";
      readonly toolName: string;
      readonly approvalId: string;
      readonly digest: string;
      readonly status: Exclude<ApprovalStatus, "open">;
      /** How far the approval reaches. */
      readonly scope?: ApprovalScope;
      /** The rule that answered, or that was created from the answer. */
      readonly ruleId?: string;
      /** The author of the answer, as stated in the answer. */
      readonly by?: string;
    })
  | (CallEvent & { readonly type: "state-change"; readonly toolset: string; readonly key: string; readonly patch: JsonPatch })
  | (CallEvent & {
      readonly type: "call-end";
      readonly result: ToolResult;
      /** The input that ran, after repair; undefined when the call never got that far. */ readonly input?: JsonObject;
      /** The phases of the call, in order. Left out if the call was a single attempt that began at once. */
      readonly timing?: readonly CallPhase[];
    })
  | (CallEvent & {
      /** The call continues in the background: its turn does not wait for it, and its caller got a `pending` result. */
      readonly type: "job-start";
      readonly toolName: string;
      readonly mode: JobMode;
      /** Whether the end of the job wakes an agent. */
      readonly notify: boolean;
      /** The job waits for a slot; a `job-run` follows when it has one. */
      readonly queued?: true;
      /** The span of the call, as a `traceparent` header, if traced. */
      readonly traceparent?: string;
    })
  | (CallEvent & {
      /** A background job starts to run that had waited for a slot, or whose process had ended. */
      readonly type: "job-run";
      readonly toolName: string;
      /** How many times the job was started, including this start. */
      readonly starts: number;
      /** The job waits for a slot, because its process ended or handed it over. Another `job-run` follows when it has one. */
      readonly queued?: true;
      /** The process handed the job over in an orderly stop, so the job did not cause the end of its last start. */
      readonly handedOver?: true;
      /** All calls that the job had made waited for approval when its process ended, so the job did not cause the end of its last start. */
      readonly awaited?: true;
      /** The `traceparent` of the job's `job-start`, if the job's process had ended. */
      readonly traceparent?: string;
    })
  | (CallEvent & {
      /** Output of a background job, or a question it asks. */
      readonly type: "job-output";
      readonly toolName: string;
      /** How many characters (UTF-16 units) the job had written before. */
      readonly position: number;
      readonly text: string;
      /** Set if the job waits for a `job-input`. */
      readonly asks?: true;
    })
  | (CallEvent & { readonly type: "job-input"; readonly input: JsonValue; readonly principal?: string })
  | (CallEvent & {
      /** Follows the `call-end` of a background job directly; a store keeps both or neither. */
      readonly type: "job-end";
      readonly toolName: string;
      readonly status: Exclude<ResultStatus, "pending">;
      readonly notify: boolean;
    })
  | (CallEvent & {
      /** The complete answer of a truncated result; only a store keeps it. */
      readonly type: "output-keep";
      readonly output?: JsonValue;
      readonly content?: readonly ContentPart[];
    })
  | (CallEvent & {
      readonly type: "outcome-resolve";
      readonly toolName: string;
      /** The effect of the call did happen. */
      readonly outcome: "applied";
    })
  | (SessionFact & {
      /** A message of the model has ended. Its calls were recorded before, in this order, unless they are not recorded at all. */
      readonly type: "round-end";
      readonly turnId: string;
      /** The calls of the message. If it is voided, followed by the calls made inside them, at any depth. */
      readonly callIds: readonly string[];
      /** The call whose handler asked the model. */
      readonly parentCallId?: string;
      /** The content of the message besides its calls. */
      readonly message: SessionMessage;
      readonly finish: FinishReason;
      readonly usage: TokenUsage;
      /** The model's name, as the provider reports it. */
      readonly model?: string;
      /** The tools that the provider itself ran for the message, each once, by the provider's names. Older logs lack it. */
      readonly providerTools?: readonly string[];
      /** Why the message is void: its calls were cancelled, and the message is not sent to the model again. */
      readonly voided?: string;
    })
  | (SessionFact & { readonly type: "batch-rollback"; readonly turnId: string; readonly callIds: readonly string[] })
  | (SessionFact & {
      readonly type: "branch-commit";
      readonly branchId: string;
      /** How many of the events that follow came from the branch. */
      readonly events: number;
    });

/** A call and its session. */
export interface CallPlace {
  readonly sessionId: string;
  readonly callId: string;
}

/** The point where a branch left its parent session: after this many events of the parent's log. */
export interface BranchPoint {
  readonly sessionId: string;
  readonly length: number;
}

/** The events of a runtime, as its listeners get them. */
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
  | (SessionFact & {
      /** Text of a message that a model is writing. The `round-end` of its turn has the complete text, or says that the message is void. */
      readonly type: "round-text";
      readonly turnId: string;
      /** How many characters of the message came before. */
      readonly position: number;
      readonly text: string;
      /** The call whose handler asked the model. */
      readonly parentCallId?: string;
    })
  | ToolsetEvent
  | { readonly type: "circuit-change"; readonly at: number; readonly toolName: string; readonly state: "open" | "half-open" | "closed" };

/** The events of a toolset. */
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
  | {
      /** A connection of the toolset's engine to its server has ended; the engine may connect again. Of an MCP server: its session. */
      readonly type: "toolset-disconnect";
      readonly at: number;
      readonly toolset: string;
      /** The kind of the engine. */
      readonly engine: string;
      readonly durationMs: number;
      /** Facts about the server, as in `metadata.server` of its tools. */
      readonly server: JsonObject;
      /** Why it was lost; left out if it was closed. */
      readonly error?: ErrorInfo;
    }
  | { readonly type: "toolset-close"; readonly at: number; readonly toolset: string; readonly error?: ErrorInfo };

/** Receives every event, in order. Throwing is logged and changes nothing. */
export type EventListener = (event: RuntimeEvent) => void;
