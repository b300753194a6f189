/** The seam behind which the approval questions of all processes of a store, their answers, and the rules that answer later ones are kept. */
import type { JsonObject } from "./base/json.ts";

/** `open` waits for an answer; `withdrawn`: its call ended without one; `expired`: none came in time. */
export type ApprovalStatus = "open" | "allowed" | "denied" | "withdrawn" | "expired";

/** Every status, the one that may still change first. */
export const APPROVAL_STATUSES: readonly ApprovalStatus[] = Object.freeze(["open", "allowed", "denied", "withdrawn", "expired"]);

/**
 * How far a yes reaches: this call; calls of this session with this input; calls of this session of this tool; calls of all sessions that a
 * rule names. All but the last hold for the tool as it is defined now. An answer to a simulation holds in it alone, and is not kept as a rule.
 */
export type ApprovalScope = "once" | "input" | "tool" | "rule";

/** Every scope, the narrowest first. */
export const APPROVAL_SCOPES: readonly ApprovalScope[] = Object.freeze(["once", "input", "tool", "rule"]);

/** A call whose handler makes other calls. */
export interface EnclosingCall {
  readonly callId: string;
  readonly toolName: string;
  readonly input: JsonObject;
}

/** A call that a simulation of the call in question made. */
export interface CoveredCall {
  /** Qualified. */
  readonly toolName: string;
  readonly input: JsonObject;
  /** The fingerprint of the tool's definition then: a call of a tool that is defined otherwise later is not this one. */
  readonly definition: string;
}

/** A question as it is put to a store: plain JSON. */
export interface NewApproval {
  /** Made of its session and its call: a call that is asked about again, after a crash, has the same. */
  readonly id: string;
  readonly sessionId: string;
  readonly callId: string;
  readonly turnId: string;
  /** Qualified. */
  readonly toolName: string;
  readonly description: string;
  /** The final input: what is approved is exactly what runs. */
  readonly input: JsonObject;
  /**
   * The fields of the input by which the model's provider wants the call confirmed. Only an answer for this call or this input allows it: they were not
   * shown to the author of any other. Left out where there are none.
   */
  readonly safetyChecks?: JsonObject;
  /** SHA-256 over tool name, definition and canonical input, in hex: what the answer is bound to. */
  readonly digest: string;
  /** The fingerprint of the tool's definition. */
  readonly definition: string;
  readonly reason: string;
  readonly simulated: boolean;
  /** The calls that it is made in, the innermost first. Left out where there is none. */
  readonly within?: readonly EnclosingCall[];
  /**
   * The calls that it would make, by a simulation: a yes to this question is one to each of them as well, with this input and as often as it is here. Left
   * out where each is asked about on its own.
   */
  readonly covers?: readonly CoveredCall[];
  /** The principal or agent whose call it is, where that is known. */
  readonly askedBy?: string;
  /** Wall-clock milliseconds since the epoch, as all times here. */
  readonly askedAt: number;
  /**
   * An answer that comes later counts for nothing. Left out = it waits as long as its call does. A store with a clock of its own keeps how long
   * this is after `askedAt`, and its records have the time by that clock.
   */
  readonly expiresAt?: number;
}

/** A question as a store has it. */
export interface ApprovalRecord extends NewApproval {
  /** Its place among all questions of the store, by when it was asked last. Counts from 1. */
  readonly position: number;
  readonly status: ApprovalStatus;
  /** How far the answer reaches; set where it is `allowed`. */
  readonly scope?: ApprovalScope;
  /** The rule that answered, or that was made of the answer. */
  readonly ruleId?: string;
  /** The author of the answer, as the answer says. */
  readonly answeredBy?: string;
  /** When it was answered, withdrawn or expired. */
  readonly answeredAt?: number;
  /** The living process that waits for the answer, as text; undefined where none does: its session must be resumed. */
  readonly askedIn?: string;
  /**
   * Set where what the store has of it cannot be read: its id, digest, position, status, session, call and tool are right, the rest is empty. It
   * takes no answer.
   */
  readonly damage?: string;
}

/** The end of a question. Plain JSON. */
export interface ApprovalEnd {
  readonly id: string;
  /** As in the question: an end of another input, or of another definition, ends nothing. */
  readonly digest: string;
  readonly status: Exclude<ApprovalStatus, "open">;
  readonly at: number;
  /**
   * Set where the asker gives up: it ends the question only while this store object is the last that asked it. A person's or a rule's decision
   * ends it for every process. `withdrawn` and `expired` are always the asker's.
   */
  readonly byAsker?: true;
  readonly scope?: ApprovalScope;
  readonly ruleId?: string;
  readonly by?: string;
  /** Kept with it: the answer holds for later questions, too. */
  readonly rule?: ApprovalRule;
}

/** A standing answer to later questions: calls that fit it are allowed without a question. */
export interface ApprovalRule {
  readonly id: string;
  /** Over qualified names; `*` matches any text. */
  readonly pattern: string;
  /** Set for a rule of one session: calls of others are asked about. */
  readonly sessionId?: string;
  /** Set for a rule of one input: the digest of the question it was made of. */
  readonly digest?: string;
  /** Set for a rule of one tool: it no longer holds once the tool is defined otherwise. */
  readonly definition?: string;
  readonly scope: Exclude<ApprovalScope, "once">;
  readonly createdAt: number;
  readonly createdBy?: string;
  /** From then on it no longer holds. Left out = until it is revoked. */
  readonly expiresAt?: number;
  /** Set where what the store has of it cannot be read: only its id, session and times are right, and it allows nothing. */
  readonly damage?: string;
}

/** Which questions are listed. */
export interface ListApprovalsOptions {
  /** Those with one of these. @default all */
  readonly status?: ApprovalStatus | readonly ApprovalStatus[];
  readonly sessionId?: string;
  readonly callId?: string;
  /** The tool's qualified name, or a pattern: `files::*`. */
  readonly tool?: string;
  /** Those asked after the one at this position; where the newest come first, before it. @default from the first */
  readonly after?: number;
  /** @default "oldest" */
  readonly first?: "oldest" | "newest";
  /** Most questions. Integer ≥ 1. @default 100 */
  readonly limit?: number;
}

/**
 * As `ListApprovalsOptions`, for a store: the tool is a whole name, and overdue questions are `expired` at `now`, or by the clock of the store
 * where it has one.
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

/** Which open questions are withdrawn, and when. */
export interface AbandonedQuestions {
  readonly sessionId: string;
  readonly at: number;
  /** @default all of the session */
  readonly callIds?: readonly string[];
  /** Calls whose questions stay open: they are still to be asked about again. @default none */
  readonly exceptCallIds?: readonly string[];
}

/**
 * Keeps approval questions, next to the event logs. Every store passes `approvalStoreContract` of `haft/testing`.
 *
 * Arguments and results are plain JSON. All methods but `list`, `rules`, `preview` and `previewRequests` write.
 */
export interface ApprovalStore {
  /**
   * Keeps a question as open, at a new position, asked by this store object. One that another store object asked, with the same digest, and
   * that has an answer stays as it is. Resolves to the question as it is kept then.
   *
   * @throws ToolError `conflict` for a question of a session that another store object has claimed: that one asks its questions. By rejecting
   */
  put(question: NewApproval): Promise<ApprovalRecord>;
  list(query: StoredApprovalQuery): Promise<readonly ApprovalRecord[]>;
  /**
   * Ends an open question with this digest, and keeps the rule with it; of several ends one counts, and the same one again counts still. False
   * when there is no such question, or none any more at the time `at`, or by the clock of the store where it has one.
   */
  end(end: ApprovalEnd): Promise<boolean>;
  /**
   * Leaves a question that this store object asked, at this position, to whatever takes its call up: it is kept as if its process were gone.
   */
  leave(question: { readonly id: string; readonly digest: string; readonly position: number }): Promise<void>;
  /**
   * Withdraws the open questions of a session that no living process waits for and, where this store object has claimed the session, those that
   * others have asked: their calls are not theirs any more. With `callIds`, only those of these calls, and
   * never those of `exceptCallIds`. Resolves to how many.
   */
  withdrawAbandoned(request: AbandonedQuestions): Promise<number>;
  /** Those that hold at a time, the oldest first; with `sessionId` those of all sessions and of that one. */
  rules(query: { readonly now: number; readonly sessionId?: string }): Promise<readonly ApprovalRule[]>;
  /** @throws ToolError `duplicate` for an id that is taken. By rejecting */
  addRule(rule: ApprovalRule): Promise<void>;
  /** Revokes a rule. Resolves to whether there was one. */
  removeRule(id: string): Promise<boolean>;
  /** Asks the process that waits for an answer what its call would change: `previewRequests` there names it until `keepPreview`. */
  requestPreview(request: { readonly id: string; readonly digest: string }): Promise<boolean>;
  /** The ids of open questions of this store object whose preview is wanted. */
  previewRequests(): Promise<readonly string[]>;
  keepPreview(preview: { readonly id: string; readonly digest: string; readonly preview: JsonObject }): Promise<void>;
  /** The preview that was kept of a question since it was asked last. */
  preview(id: string): Promise<JsonObject | undefined>;
  /**
   * Forgets ended questions but the latest `keep`, and rules that have ended; withdraws open questions that can never be asked again, as
   * their process is gone and the store does not have their session. Resolves to how many questions were forgotten.
   */
  prune(options: { readonly keep: number; readonly now: number }): Promise<number>;
}
