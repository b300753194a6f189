/** The seam that stores approval questions of all processes, their answers, and the rules that answer later questions. */
import type { JsonObject } from "../base/json.ts";

/** `open`: waits for an answer; `withdrawn`: its call ended before an answer; `expired`: no answer came in time. */
export type ApprovalStatus = "open" | "allowed" | "denied" | "withdrawn" | "expired";

/** Every status; `open`, the only one that can still change, first. */
export const APPROVAL_STATUSES: readonly ApprovalStatus[] = Object.freeze(["open", "allowed", "denied", "withdrawn", "expired"]);

/**
 * How far an approval reaches. `once`: this call; `input`: calls in this session with this input; `tool`: calls of this tool in this session; `rule`:
 * calls in all sessions that match a rule. All but `rule` apply to the tool as now defined. An answer in a simulation applies only there and is not
 * kept.
 */
export type ApprovalScope = "once" | "input" | "tool" | "rule";

/** Every scope, narrowest first. */
export const APPROVAL_SCOPES: readonly ApprovalScope[] = Object.freeze(["once", "input", "tool", "rule"]);

/** A call whose handler makes other calls. */
export interface EnclosingCall {
  readonly callId: string;
  readonly toolName: string;
  readonly input: JsonObject;
}

/** A call that was made when the call in question was simulated. */
export interface CoveredCall {
  /** The qualified name. */
  readonly toolName: string;
  readonly input: JsonObject;
  /** The fingerprint of the tool's definition at that time: a call of a tool that is redefined later is not covered. */
  readonly definition: string;
}

/** An approval question to be stored: plain JSON. */
export interface NewApproval {
  /** Derived from session and call: if the call needs approval again after a crash, the question has the same id. */
  readonly id: string;
  readonly sessionId: string;
  readonly callId: string;
  readonly turnId: string;
  /** The qualified name. */
  readonly toolName: string;
  readonly description: string;
  /** The final input: exactly this runs after approval. */
  readonly input: JsonObject;
  /**
   * The fields of the input that the model's provider wants confirmed. Only an answer for this call or this input allows the call: the author of any
   * broader approval did not see them. Left out if there are none.
   */
  readonly safetyChecks?: JsonObject;
  /** SHA-256 of tool name, definition and canonical input, in hex: the answer is valid for exactly these. */
  readonly digest: string;
  /** The fingerprint of the tool's definition. */
  readonly definition: string;
  readonly reason: string;
  /**
   * Set if a rule of the session asks, such as `taint` of a loop. A standing approval answers only if it was itself the answer to such a question in
   * this session: the author of any other did not see the warning.
   */
  readonly warned?: true;
  readonly simulated: boolean;
  /** The calls inside which this call is made, innermost first. Left out if there are none. */
  readonly within?: readonly EnclosingCall[];
  /**
   * The calls that this call would make, according to a simulation. Approving the question also approves each of them, with this input and as many
   * times as listed. Left out if each is asked about separately.
   */
  readonly covers?: readonly CoveredCall[];
  /** The principal or agent that made the call, if known. */
  readonly askedBy?: string;
  /** Wall-clock milliseconds since the epoch, like all times here. */
  readonly askedAt: number;
  /**
   * Answers after this time do not count. Left out: the question waits as long as its call does. A store with its own clock keeps the duration after
   * `askedAt`, and its records have the time by that clock.
   */
  readonly expiresAt?: number;
}

/** An approval question as a store keeps it. */
export interface ApprovalRecord extends NewApproval {
  /** Position among all questions of the store, by when each was last asked. Starts at 1. */
  readonly position: number;
  readonly status: ApprovalStatus;
  /** How far the approval reaches; set if `allowed`. */
  readonly scope?: ApprovalScope;
  /** The rule that answered, or that was created from the answer. */
  readonly ruleId?: string;
  /** The author of the answer, as stated in the answer. */
  readonly answeredBy?: string;
  /** When it was answered, withdrawn or expired. */
  readonly answeredAt?: number;
  /** Describes the living process that waits for the answer; undefined if none does: the session must be resumed. */
  readonly askedIn?: string;
  /**
   * Set if the stored question cannot be read: id, digest, position, status, session, call and tool are right, the rest is empty. It takes no answer.
   */
  readonly damage?: string;
}

/** How a question ended. Plain JSON. */
export interface ApprovalEnd {
  readonly id: string;
  /** As in the question: an end for another input or another definition has no effect. */
  readonly digest: string;
  readonly status: Exclude<ApprovalStatus, "open">;
  readonly at: number;
  /**
   * Set if the asker gives up: this ends the question only while this store object is the last one that asked it. A decision of a person or a rule
   * ends it for every process. `withdrawn` and `expired` always come from the asker.
   */
  readonly byAsker?: true;
  readonly scope?: ApprovalScope;
  readonly ruleId?: string;
  readonly by?: string;
  /** A rule to store with the answer: it also answers later questions. */
  readonly rule?: ApprovalRule;
}

/** A standing approval: matching calls are allowed without a question. */
export interface ApprovalRule {
  readonly id: string;
  /** A pattern for qualified names; `*` matches any text. */
  readonly pattern: string;
  /** Set for a rule of one session: it does not apply to calls of others. */
  readonly sessionId?: string;
  /** Set for a rule of one input: the digest of the question it was created from. */
  readonly digest?: string;
  /** Set for a rule of one tool: the rule stops applying when the tool's definition changes. */
  readonly definition?: string;
  readonly scope: Exclude<ApprovalScope, "once">;
  /** Set if the rule answered a `warned` question: in this session it also answers later ones. */
  readonly warnedIn?: string;
  readonly createdAt: number;
  readonly createdBy?: string;
  /** When the rule stops applying. Left out: when it is revoked. */
  readonly expiresAt?: number;
  /** Set if the stored rule cannot be read: only id, session and times are right, and it allows nothing. */
  readonly damage?: string;
}

/** Which questions to list. */
export interface ListApprovalsOptions {
  /** Only questions with one of these statuses. @default all */
  readonly status?: ApprovalStatus | readonly ApprovalStatus[];
  readonly sessionId?: string;
  readonly callId?: string;
  /** The tool's qualified name, or a pattern: `files::*`. */
  readonly tool?: string;
  /** Only questions asked after the one at this position; before it if the newest come first. @default from the first */
  readonly after?: number;
  /** @default "oldest" */
  readonly first?: "oldest" | "newest";
  /** Maximum number of questions. Integer ≥ 1. @default 100 */
  readonly limit?: number;
}

/**
 * `ListApprovalsOptions` for a store: `toolName` is a complete name; overdue questions are `expired` at `now`, or by the store's own clock if any.
 */
export interface StoredApprovalQuery {
  readonly now: number;
  readonly statuses?: readonly ApprovalStatus[];
  readonly ids?: readonly string[];
  readonly sessionId?: string;
  readonly callId?: string;
  readonly toolName?: string;
  readonly after?: number;
  readonly first: "oldest" | "newest";
  readonly limit: number;
}

/** Which open questions to withdraw, and when. */
export interface AbandonedQuestions {
  readonly sessionId: string;
  readonly at: number;
  /** @default all of the session */
  readonly callIds?: readonly string[];
  /** Calls whose questions stay open: they will be asked again. @default none */
  readonly exceptCallIds?: readonly string[];
}

/**
 * Stores approval questions, next to the event logs. Every store passes `approvalStoreContract` of `haft/testing`.
 *
 * Arguments and results are plain JSON. All methods but `list`, `rules`, `preview` and `previewRequests` write.
 */
export interface ApprovalStore {
  /**
   * Stores a question as open, at a new position, asked by this store object. If another store object asked a question with the same digest and it
   * has been answered, that one stays unchanged. Resolves to the stored question.
   *
   * @throws ToolError `conflict` if another store object has claimed the session, as only that one asks its questions, as a rejection
   */
  put(question: NewApproval): Promise<ApprovalRecord>;
  list(query: StoredApprovalQuery): Promise<readonly ApprovalRecord[]>;
  /**
   * Ends the open question with this digest and stores the rule with it. Only the first of several ends counts; repeating the same one still counts.
   * Resolves to false if there is no such question, or if it is no longer open at `at`, or by the store's own clock if it has one.
   */
  end(end: ApprovalEnd): Promise<boolean>;
  /**
   * Gives up a question that this store object asked, at this position: it is kept as if its process were gone, for the one that resumes its call.
   */
  leave(question: { readonly id: string; readonly digest: string; readonly position: number }): Promise<void>;
  /**
   * Withdraws the open questions of a session that no living process waits for and, if this store object has claimed the session, those of other
   * store objects, whose calls are no longer theirs. With `callIds` only those of these calls, never of `exceptCallIds`. Resolves to their number.
   */
  withdrawAbandoned(request: AbandonedQuestions): Promise<number>;
  /** Returns the rules that apply at a time, oldest first; with `sessionId`, those of all sessions and of that session. */
  rules(query: { readonly now: number; readonly sessionId?: string }): Promise<readonly ApprovalRule[]>;
  /** @throws ToolError `duplicate` if the id is taken, as a rejection */
  addRule(rule: ApprovalRule): Promise<void>;
  /** Revokes a rule. Resolves to whether it existed. */
  removeRule(id: string): Promise<boolean>;
  /** Asks the waiting process to preview what the call would change: `previewRequests` of that process lists the question until `keepPreview`. */
  requestPreview(request: { readonly id: string; readonly digest: string }): Promise<boolean>;
  /** Returns the ids of open questions of this store object for which a preview was requested. */
  previewRequests(): Promise<readonly string[]>;
  keepPreview(preview: { readonly id: string; readonly digest: string; readonly preview: JsonObject }): Promise<void>;
  /** Returns the preview stored since the question was last asked. */
  preview(id: string): Promise<JsonObject | undefined>;
  /**
   * Deletes ended questions except the latest `keep`, and ended rules; withdraws open questions that can never be asked again, because their process
   * is gone and the store does not have their session. Resolves to the number of questions deleted.
   */
  prune(options: { readonly keep: number; readonly now: number }): Promise<number>;
}
