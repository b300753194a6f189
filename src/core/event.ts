/** The events of a runtime, as they happen, and those of them that a session keeps. */
import type { ApprovalScope, ApprovalStatus } from "./approval-store.ts";
import type { ToolCall } from "./call.ts";
import type { CallPhase } from "./call-phase.ts";
import type { ContentPart } from "./content.ts";
import type { ProgressUpdate } from "./context.ts";
import type { ErrorInfo } from "./error.ts";
import type { JsonPatch } from "./base/json-patch.ts";
import type { JsonObject, JsonValue } from "./base/json.ts";
import type { SessionMessage } from "./message.ts";
import type { FinishReason, TokenUsage } from "./model.ts";
import type { JobMode } from "./job-status.ts";
import type { ResultStatus, ToolResult } from "./result.ts";
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
 * The events in a session's log and in a store, in order. Replaying them gives the session's state and history.
 *
 * A fork's log begins with the events of its parent; they keep the parent's `sessionId`.
 */
export type SessionEvent =
  | (SessionFact & {
      readonly type: "session-start";
      readonly parent?: BranchPoint;
      /** So many of the events behind it are those of the snapshot that it was made from: what happened elsewhere, as the snapshot says. */
      readonly copied?: number;
      /** The call of another session whose handler began it, such as that of a delegate. */
      readonly parentCall?: CallPlace;
    })
  | (SessionFact & {
      readonly type: "message-add";
      readonly message: SessionMessage;
      /** The call whose handler added it. */
      readonly parentCallId?: string;
      /** The id of the principal that sent it. */
      readonly principal?: string;
    })
  | (SessionFact & {
      /** A message that was received while no run was active; it joins the conversation as the `message-add` that has its id. */
      readonly type: "inbox-add";
      readonly id: string;
      readonly message: SessionMessage;
      readonly sender?: string;
      /** The trigger that sent it. */
      readonly triggerId?: string;
      /** The time that the trigger sent it for, as wall-clock milliseconds: each is taken once. */
      readonly tick?: number;
      /** The id of the principal that sent it, where that was authenticated; `sender` is what it calls itself. */
      readonly principal?: string;
      /** The span in which it was sent, where that is traced, as the header `traceparent` has it. */
      readonly traceparent?: string;
    })
  | (SessionFact & {
      readonly type: "trigger-add";
      readonly id: string;
      readonly kind: string;
      readonly settings: JsonObject;
      /** A program declared it for all of its sessions, as a configuration does: it runs in programs that declare it. */
      readonly declared?: true;
      /** Ticks up to this one are over for it: the place from which a trigger that reads something begins. */
      readonly tick?: number;
    })
  | (SessionFact & { readonly type: "trigger-pause"; readonly id: string })
  | (SessionFact & {
      readonly type: "trigger-resume";
      readonly id: string;
      /** Ticks up to this one are over for it. Left out: those up to `at`. */
      readonly tick?: number;
    })
  | (SessionFact & { readonly type: "trigger-remove"; readonly id: string })
  | (SessionFact & {
      /**
       * A batch that may be submitted again; its calls, in call order, follow at once. A second one under its key has the calls that ran before among its own,
       * and only those follow that the store had kept from starting.
       */
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
      /** A composite tool made it, as a part of its own work: models are shown the answer of that tool alone. */
      readonly ofComposite?: true;
      /** It belongs to a message of a model that is not over yet: only a `round-end` makes it count. */
      readonly inRound?: true;
      /** Its batch is strict: none of its calls is run unless all of them may be. */
      readonly strict?: true;
      /** The sources that were to answer it, where its caller or a rule named them. */
      readonly answerFrom?: readonly AnswerSource[];
      /** Its caller makes the input that it is run with of this one, when it is admitted. */
      readonly rewritten?: true;
      /** Its caller sent it to the background (true), or asked to wait for its result (false). Left out, its tool decides. */
      readonly background?: boolean;
      /** The id of the principal that it is made for: that of `ExecuteOptions`, else that of the call whose handler made it. */
      readonly principal?: string;
      /** The layers of rules over the tools that it may be of, and that its handler may call: they hold as well where it is taken up after a crash. */
      readonly allow?: readonly { readonly allow?: readonly string[]; readonly deny?: readonly string[] }[];
      /** Why its session's own rule, which no process keeps, asks before it: it holds as well where it is taken up after a crash. */
      readonly asks?: string;
      /** Of a name with several tools on offer when it began, the `fingerprint` of the one that its input fits. Older logs lack it. */
      readonly overload?: string;
    })
  | (CallEvent & {
      readonly type: "call-intent";
      readonly toolName: string;
      readonly input: JsonObject;
      readonly idempotencyKey: string;
    })
  | (CallEvent & {
      /** Its engine continues the work elsewhere, under a name by which a later process can ask for it: see `Engine.attach`. */
      readonly type: "call-remote";
      readonly toolName: string;
      readonly remoteId: string;
    })
  | (CallEvent & {
      /** The call needs approval, and its approver is called next: the question is in the inbox under `approvalId`. */
      readonly type: "approval-ask";
      readonly toolName: string;
      readonly approvalId: string;
      /** SHA-256 over the tool, its definition and the input: an answer holds for these. */
      readonly digest: string;
      /** The input that is approved. */
      readonly input: JsonObject;
      readonly reason: string;
      /** No answer counts from then on. */
      readonly expiresAt?: number;
    })
  | (CallEvent & {
      /** The end of the question; without an `approval-ask` before it, a rule answered. */
      readonly type: "approval-answer";
      readonly toolName: string;
      readonly approvalId: string;
      readonly digest: string;
      readonly status: Exclude<ApprovalStatus, "open">;
      /** How far a yes reaches. */
      readonly scope?: ApprovalScope;
      /** The rule that answered, or that was made of the answer. */
      readonly ruleId?: string;
      /** The author of the answer, as the answer says. */
      readonly by?: string;
    })
  | (CallEvent & { readonly type: "state-change"; readonly toolset: string; readonly key: string; readonly patch: JsonPatch })
  | (CallEvent & {
      readonly type: "call-end";
      readonly result: ToolResult;
      /** The input that ran, after repair; undefined when the call never got that far. */ readonly input?: JsonObject;
      /** Its phases, in order. Left out where it was nothing but one attempt, which began at once. */
      readonly timing?: readonly CallPhase[];
    })
  | (CallEvent & {
      /** The call continues in the background: its turn does not wait for it, and its caller was answered `pending`. */
      readonly type: "job-start";
      readonly toolName: string;
      readonly mode: JobMode;
      /** Whether its end is to wake an agent. */
      readonly notify: boolean;
      /** It waits for its place; `job-run` follows when it has one. */
      readonly queued?: true;
      /** The span of the call, where it is traced, as the header `traceparent` has it. */
      readonly traceparent?: string;
    })
  | (CallEvent & {
      /** A background job that waited for its place, or whose process had ended, begins to run. */
      readonly type: "job-run";
      readonly toolName: string;
      /** How many times it was begun to be run, this one included. */
      readonly starts: number;
      /** Its process had ended, or hands it over, and it waits for its place: another `job-run` follows when it has one. */
      readonly queued?: true;
      /** Its process hands it over: the last start was ended by an orderly stop, which no job causes. */
      readonly handedOver?: true;
      /** That of its `job-start`, where its process had ended. */
      readonly traceparent?: string;
    })
  | (CallEvent & {
      /** Output of a background job, or its question. */
      readonly type: "job-output";
      readonly toolName: string;
      /** How many characters (UTF-16 units) it had written before. */
      readonly position: number;
      readonly text: string;
      /** It waits for `job-input`. */
      readonly asks?: true;
    })
  | (CallEvent & { readonly type: "job-input"; readonly input: JsonValue; readonly principal?: string })
  | (CallEvent & {
      /** Follows the `call-end` of a background job at once; a store keeps both or neither. */
      readonly type: "job-end";
      readonly toolName: string;
      readonly status: Exclude<ResultStatus, "pending">;
      readonly notify: boolean;
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
      /** The content of the message besides its calls. */
      readonly message: SessionMessage;
      readonly finish: FinishReason;
      readonly usage: TokenUsage;
      /** As the provider names it. */
      readonly model?: string;
      /** The tools that the provider ran itself for the message, each once, as the provider names them. Older logs lack it. */
      readonly providerTools?: readonly string[];
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

/** A call, and the session that it belongs to. */
export interface CallPlace {
  readonly sessionId: string;
  readonly callId: string;
}

/** Where a session left its parent: after this many events of its log. */
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
      /** Text of a message that a model is writing; the `round-end` of its turn has all of it, or says that it is void. */
      readonly type: "round-text";
      readonly turnId: string;
      /** How many characters of the message came before. */
      readonly position: number;
      readonly text: string;
      /** The call in which it is written. */
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
  | { readonly type: "toolset-close"; readonly at: number; readonly toolset: string; readonly error?: ErrorInfo };

/** Receives every event, in order. Throwing is logged and changes nothing. */
export type EventListener = (event: RuntimeEvent) => void;
