/** Which calls need approval, which questions are open and what was allowed: the seam behind which another process may answer. */
import type { ApprovalAnswer, ApprovalRequest } from "./ask.ts";
import type { ToolError } from "./error.ts";

/** A call that needs approval; its signal withdraws the question. */
export type ApprovalQuestion = Omit<ApprovalRequest, "digest">;

/** A question that has no answer yet, as JSON. */
export type PendingApproval = Omit<ApprovalRequest, "signal">;

/** An answer to one question, bound to what the question showed. */
export interface ApprovalDecision {
  readonly callId: string;
  /** As in the question: an answer to another input decides nothing. */
  readonly digest: string;
  readonly answer: ApprovalAnswer;
}

/** Why a session's calls of a tool need approval besides what the rules say; undefined where they do not. */
export type SessionRule = (qualifiedName: string) => string | undefined;

/**
 * Decides which calls need approval, puts them to an approver, and keeps what was allowed.
 *
 * A session's calls run in one process at a time. The settings of that process for its own sessions (`allowOnce`, `allowAlways`, `askMore`,
 * `forget`) hold at once; `pending` and `answer` may be asked in any process that shares the questions.
 */
export interface Approvals {
  /** Whether an approver answers its questions; without one, `ask` ends with `approval_required` at once. */
  readonly hasApprover: boolean;
  /** Some call may need approval that destroys nothing: where this is false, `needed` need not be asked about such calls. */
  readonly mayAsk: boolean;
  /** Why a call must be approved; undefined when it need not be. @param session whose own rule holds as well */
  needed(qualifiedName: string, destructive: boolean, session?: { readonly id: string }): string | undefined;
  /**
   * Asks, and waits for the answer: undefined when the call may run, else the error it ends with.
   *
   * Never rejects. Answers at once when the session has allowed the tool or this very input. `allow-always` also answers the open
   * questions about the same tool and session. The approver's signal aborts when its answer is no longer wanted; a later answer changes
   * nothing.
   */
  ask(question: ApprovalQuestion): Promise<ToolError | undefined>;
  /** The open questions of all sessions, oldest first. */
  pending(): Promise<readonly PendingApproval[]>;
  /**
   * Answers an open question in place of the approver. False when there is none of this call with this digest.
   *
   * @throws ToolError `invalid_argument` for an answer that is none. By rejecting
   */
  answer(decision: ApprovalDecision): Promise<boolean>;
  /** Allows one call of a session that has this digest. The returned function takes that back, unless it was used. */
  allowOnce(sessionId: string, digest: string): () => void;
  /** Allows a tool in a session until the session ends, as the answer `allow-always` does. */
  allowAlways(sessionId: string, toolName: string): void;
  /** Sets the session's own rule, in place of an earlier one. Tools that `never` names are not asked for even so. */
  askMore(sessionId: string, rule: SessionRule): void;
  /** Drops what a session allowed, and its rule. Its open questions stay open, but can no longer allow a tool for good. */
  forget(sessionId: string): void;
}
