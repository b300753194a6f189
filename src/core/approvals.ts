/** Which calls need approval, which questions are open and what was allowed: the seam behind which another process may answer. */
import type { ApprovalPreview } from "./approval-preview.ts";
import type {
  AbandonedQuestions,
  ApprovalRecord,
  ApprovalRule,
  ApprovalScope,
  ApprovalStatus,
  ListApprovalsOptions,
} from "./approval-store.ts";
import type { ApprovalAnswer, ApprovalRequest } from "./ask.ts";
import type { ToolError } from "./error.ts";

/** A call that needs approval; its signal withdraws the question. */
export interface ApprovalQuestion extends Omit<ApprovalRequest, "id" | "digest" | "askedAt" | "expiresAt"> {
  /** Resolves when the call is in the log of its session; the question is kept after that. */
  readonly whenRecorded?: () => Promise<void> | undefined;
  /** Called when the question has been kept, so that it can be answered, and when it has ended. The promise of the first call is waited for. */
  readonly note?: (note: ApprovalNote) => Promise<void> | undefined;
  /** Whether the call continues in another process: an abort of the signal then leaves the question open for that one. */
  readonly isLeft?: () => boolean;
}

/** The beginning or the end of a question, for the log of its session. */
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

/** A question that has no answer yet, as JSON. */
export type PendingApproval = ApprovalRecord;

/** The question that is answered: by its own id, or by that of its call. */
export type ApprovalKey = { readonly id: string } | { readonly callId: string };

/** An answer to one question, bound to what the question showed. */
export type ApprovalDecision = ApprovalKey &
  ApprovalVerdict & {
    /** As in the question: an answer to another input, or to another definition of the tool, decides nothing. */
    readonly digest: string;
  };

/** A yes or no. */
export interface ApprovalVerdict {
  /** `allow` reaches as far as `scope` says; the others say it themselves. */
  readonly answer: ApprovalAnswer | "allow";
  /** With `allow`: how far it reaches. @default "once" */
  readonly scope?: ApprovalScope;
  /** With the scope `rule`. @default calls of this tool, in all sessions, until it is revoked */
  readonly rule?: NewApprovalRule;
  /** The author of the answer, such as the id of a principal: it is kept with the answer. */
  readonly by?: string;
}

/** Which calls need not be asked about. */
export interface NewApprovalRule {
  /** Over qualified names; `*` matches any text. @default the tool that was asked about */
  readonly pattern?: string;
  /** Calls of this session only. @default all sessions */
  readonly sessionId?: string;
  /** From then on it no longer holds, as wall-clock milliseconds since the epoch. @default until it is revoked */
  readonly expiresAt?: number;
  readonly by?: string;
}

/** An answer to several questions. */
export interface ManyApprovals extends ApprovalVerdict {
  readonly sessionId?: string;
  /** A pattern over the tools' qualified names. */
  readonly tool?: string;
  /** Those asked up to the one at this position: later ones were not seen by the person who answers. */
  readonly upTo: number;
}

/** Why a session's calls of a tool need approval besides what the rules say; undefined where they do not. */
export type SessionRule = (qualifiedName: string) => string | undefined;

/**
 * The questions of all processes that share a store, and the answers to them: for a page, a chat, a command.
 *
 * Nothing here waits for a process that asks; it finds an answer within about a second.
 */
export interface ApprovalInbox {
  /** In the order they were asked. @throws ToolError `invalid_argument` for options that are none. By rejecting, as all here */
  list(options?: ListApprovalsOptions): Promise<readonly ApprovalRecord[]>;
  /** One question by its id, whatever its status. */
  get(id: string): Promise<ApprovalRecord | undefined>;
  /**
   * Answers an open question. Of several answers one counts; the others, and those to another digest, resolve to false.
   *
   * @throws ToolError `invalid_argument` for an answer that is none
   */
  answer(decision: ApprovalDecision): Promise<boolean>;
  /** Answers every open question that fits, up to a position. Resolves to those that were answered by this. @throws as `answer` */
  answerMany(many: ManyApprovals): Promise<readonly ApprovalRecord[]>;
  /** Has the process that asks simulate the call of an open question. Resolves to the reason where that cannot be done. */
  preview(id: string, options?: { readonly signal?: AbortSignal }): Promise<ApprovalPreview>;
  /** The rules that hold now, the oldest first. */
  rules(): Promise<readonly ApprovalRule[]>;
  /** @throws ToolError `invalid_argument` for a pattern that cannot be used, or a time that has passed */
  addRule(rule: NewApprovalRule & { readonly pattern: string }): Promise<ApprovalRule>;
  /** Resolves to whether there was such a rule. Calls that it allowed stay allowed. */
  revokeRule(id: string): Promise<boolean>;
}

/**
 * Decides which calls need approval, puts them to an approver, and keeps what was allowed.
 *
 * A session's calls run in one process at a time. The settings of that process for its own sessions (`allowOnce`, `allowAlways`, `askMore`,
 * `forget`) hold at once; all of `ApprovalInbox` may be asked in any process that shares the questions.
 */
export interface Approvals extends ApprovalInbox {
  /** Whether an approver answers its questions; without one, `ask` ends with `approval_required` at once. */
  readonly hasApprover: boolean;
  /** Some call may need approval that destroys nothing: where this is false, `needed` need not be asked about such calls. */
  readonly mayAsk: boolean;
  /** Why a call must be approved; undefined when it need not be. @param session whose own rule holds as well */
  needed(qualifiedName: string, destructive: boolean, session?: { readonly id: string }): string | undefined;
  /**
   * Asks, and waits for the answer: undefined when the call may run, else the error it ends with.
   *
   * Never rejects. Answers at once when the session or a rule has allowed the tool or this very input, and when the same question of the same
   * call was answered before. The question is kept before the approver is called. An answer that reaches further also answers the open
   * questions that it fits. The approver's signal aborts when its answer is no longer wanted; a later answer changes nothing.
   */
  ask(question: ApprovalQuestion): Promise<ToolError | undefined>;
  /** The open questions of all sessions, oldest first. */
  pending(): Promise<readonly PendingApproval[]>;
  /** Allows one call of a session that has this digest. The returned function takes that back, unless it was used. */
  allowOnce(sessionId: string, digest: string): () => void;
  /**
   * Allows a tool in a session until the session ends, as the answer `allow-always` does. It is kept as a rule, unless the session is a
   * simulation that has asked.
   *
   * @param definition the fingerprint of the tool as it was shown: one that is defined otherwise later is asked about again. @default any
   */
  allowAlways(sessionId: string, toolName: string, definition?: string): void;
  /** Sets the session's own rule, in place of an earlier one. Tools that `never` names are not asked for even so. */
  askMore(sessionId: string, rule: SessionRule): void;
  /** Drops what a session allowed, and its rule. Its open questions stay open, but can no longer allow a tool for good. */
  forget(sessionId: string): void;
  /**
   * A session was taken up after a crash, and its calls have been asked about again, or have ended: questions of it that no process waits for are withdrawn.
   *
   * @param of those of `callIds` alone, where these have ended later; not those of `exceptCallIds`, which are still to be asked about again: an answer to
   * them counts as soon as it is given. @default all of the session
   */
  resumed(sessionId: string, of?: Pick<AbandonedQuestions, "callIds" | "exceptCallIds">): Promise<void>;
  /** Resolves when everything that became of questions is in the store. Never rejects. */
  whenSettled(): Promise<void>;
}
