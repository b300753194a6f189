/** The seam for approvals: which calls need one, which questions are open, and what was allowed. Another process may answer. */
import type { ApprovalPreview } from "./approval-preview.ts";
import type {
  AbandonedQuestions,
  ApprovalRecord,
  ApprovalRule,
  ApprovalScope,
  ApprovalStatus,
  ListApprovalsOptions,
} from "../store/approval-store.ts";
import type { ApprovalAnswer, ApprovalRequest } from "./ask.ts";
import type { ToolError } from "../error.ts";

/** A call that needs approval; aborting its signal withdraws the question. */
export interface ApprovalQuestion extends Omit<ApprovalRequest, "id" | "digest" | "askedAt" | "expiresAt"> {
  /** Resolves when the call is in its session's log; the question is stored after that. */
  readonly whenRecorded?: () => Promise<void> | undefined;
  /** Called when the question has been stored, and so can be answered, and again when it has ended. The promise of the first call is awaited. */
  readonly onChange?: (note: ApprovalNote) => Promise<void> | undefined;
  /** Whether the call continues in another process: aborting the signal then leaves the question open for that process. */
  readonly isHandedOver?: () => boolean;
}

/** The beginning or the end of a question, for its session's log. */
export type ApprovalNote =
  | { readonly type: "ask"; readonly id: string; readonly digest: string; readonly expiresAt?: number }
  | {
      readonly type: "answer";
      readonly id: string;
      readonly digest: string;
      readonly status: Exclude<ApprovalStatus, "open">;
      readonly scope?: ApprovalScope;
      readonly ruleId?: string;
      readonly by?: string;
    };

/** An approval question without an answer, as JSON. */
export type PendingApproval = ApprovalRecord;

/** Identifies the question to answer: by its own id, or by its call's. */
export type ApprovalKey = { readonly id: string } | { readonly callId: string };

/** An answer to one question, bound to what the question showed. */
export type ApprovalDecision = ApprovalKey &
  ApprovalVerdict & {
    /** As in the question: an answer for another input, or another definition of the tool, has no effect. */
    readonly digest: string;
  };

/** An approval or a denial. */
export interface ApprovalVerdict {
  /** `allow` reaches as far as `scope` says; the other answers imply their scope. */
  readonly answer: ApprovalAnswer | "allow";
  /** For `allow`: how far the approval reaches. @default "once" */
  readonly scope?: ApprovalScope;
  /** For the scope `rule`. @default calls of this tool, in all sessions, until the rule is revoked */
  readonly rule?: NewApprovalRule;
  /** The author of the answer, such as the id of a principal; stored with the answer. */
  readonly by?: string;
}

/** Which calls are allowed without a question. */
export interface NewApprovalRule {
  /** A pattern for qualified names; `*` matches any text. @default the tool in question */
  readonly pattern?: string;
  /** Only calls of this session. @default all sessions */
  readonly sessionId?: string;
  /** When the rule stops applying, in wall-clock milliseconds since the epoch. @default when it is revoked */
  readonly expiresAt?: number;
  readonly by?: string;
}

/** An answer to several questions. */
export interface ManyApprovals extends ApprovalVerdict {
  readonly sessionId?: string;
  /** A pattern for the tools' qualified names. */
  readonly tool?: string;
  /** Only questions about tools for whose qualified name this returns true. @default all */
  readonly permits?: (toolName: string) => boolean;
  /** Only questions up to this position: the person who answers has not seen later ones. */
  readonly upTo: number;
}

/** The parts of a question that a person saw who allows its tool for a session. */
export interface ShownTool {
  /** The fingerprint of the tool: if the tool is redefined later, its calls are asked about again. @default any */
  readonly definition?: string;
  /** Whether the question had the warning of the session's own rule. @default false */
  readonly warned?: boolean;
}

/**
 * Returns why a session's calls of a tool need approval in addition to the rules; undefined if they do not. A rule that throws, or returns anything
 * else, such as a promise, asks for approval of the call.
 */
export type SessionRule = (qualifiedName: string) => string | undefined;

/**
 * The questions of all processes that share a store, and their answers: for a web page, a chat or a command.
 *
 * No method waits for the process that asks; that process sees an answer within about a second.
 */
export interface ApprovalInbox {
  /**
   * Returns questions in the order they were asked. @throws ToolError `invalid_argument` for invalid options, as a rejection, like all methods here
   */
  list(options?: ListApprovalsOptions): Promise<readonly ApprovalRecord[]>;
  /** Returns one question by its id, whatever its status. */
  get(id: string): Promise<ApprovalRecord | undefined>;
  /**
   * Answers an open question. If there are several answers, one counts; the others, and those with another digest, resolve to false.
   *
   * @throws ToolError `invalid_argument` for an invalid answer
   */
  answer(decision: ApprovalDecision): Promise<boolean>;
  /** Answers every matching open question up to a position. Resolves to the questions that this answered. @throws as `answer` */
  answerMany(many: ManyApprovals): Promise<readonly ApprovalRecord[]>;
  /** Makes the process that asks simulate the call of an open question. If that is not possible, resolves to the reason. */
  preview(id: string, options?: { readonly signal?: AbortSignal }): Promise<ApprovalPreview>;
  /** Returns the rules that apply now, oldest first. */
  rules(): Promise<readonly ApprovalRule[]>;
  /** @throws ToolError `invalid_argument` for an invalid pattern, or a time in the past */
  addRule(rule: NewApprovalRule & { readonly pattern: string }): Promise<ApprovalRule>;
  /** Resolves to whether the rule existed. Calls that it has allowed stay allowed. */
  revokeRule(id: string): Promise<boolean>;
}

/**
 * Decides which calls need approval, asks an approver, and stores what was allowed.
 *
 * A session's calls run in one process at a time. That process's settings for its own sessions (`allowOnce`, `allowAlways`, `setSessionRule`,
 * `forget`) apply at once; all methods of `ApprovalInbox` work in any process that shares the questions.
 */
export interface Approvals extends ApprovalInbox {
  /** Whether an approver answers the questions; without one, `ask` ends with `approval_required` at once. */
  readonly hasApprover: boolean;
  /** Whether calls that destroy nothing may need approval. If false, `needed` need not be called for them. */
  readonly mayAsk: boolean;
  /**
   * Returns why a call needs approval; undefined if it does not. The reason of the session's own rule comes before that of `always`.
   *
   * @param session the session whose own rule applies too
   */
  reasonFor(qualifiedName: string, destructive: boolean, session?: { readonly id: string }): string | undefined;
  /**
   * Asks for approval and waits for the answer: undefined if the call may run, else the error it ends with.
   *
   * Never rejects. Answers at once if the session or a rule has allowed the tool or this exact input, and if the same question of the same call was
   * answered before. The question is stored before the approver is called. An answer with a wider scope also answers the open questions that match
   * it. The approver's signal aborts when its answer is no longer wanted; a later answer has no effect.
   */
  ask(question: ApprovalQuestion): Promise<ToolError | undefined>;
  /** The open questions of all sessions, oldest first. */
  pending(): Promise<readonly PendingApproval[]>;
  /** Allows one call of a session, with this digest. The returned function revokes that, unless it was used. */
  allowOnce(sessionId: string, digest: string): () => void;
  /**
   * Allows a tool in a session until it ends, like `allow-always`. Stored as a rule, unless the session is a simulation that has asked for approval.
   *
   * Does not answer questions with `warned`, unless `warned` is set here.
   *
   * @throws ToolError `invalid_argument` if `shown` is not an object, or has other fields
   */
  allowAlways(sessionId: string, toolName: string, shown?: ShownTool): void;
  /**
   * Sets the session's own rule, replacing an earlier one. Tools listed in `never` still need no approval. What was allowed before the rule asks for
   * a tool does not answer its questions; `allow-input`, `allow-always` or a rule in answer to one of them does, until the session ends.
   *
   * @throws ToolError `invalid_argument` unless the rule is a function
   */
  setSessionRule(sessionId: string, rule: SessionRule): void;
  /** Deletes what a session allowed, and its rule. Its open questions stay open, but can no longer allow a tool permanently. */
  forget(sessionId: string): void;
  /**
   * Withdraws the questions of a resumed session that no process waits for, once its calls have been asked about again or have ended.
   *
   * @param of limits this to `callIds`, for calls that have ended later, and excludes `exceptCallIds`, for calls that are still to be asked about
   * again: an answer to those counts as soon as it is given. @default all of the session
   */
  withdrawAbandoned(sessionId: string, of?: Pick<AbandonedQuestions, "callIds" | "exceptCallIds">): Promise<void>;
  /** Resolves when the final state of all questions is in the store. Never rejects. */
  whenSettled(): Promise<void>;
}
