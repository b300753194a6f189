/** The question put to a person or a rule before a call may run. */
import type { ApprovalPreview } from "./approval-preview.ts";
import type { NewApproval } from "./approval-store.ts";
import type { JsonObject } from "./base/json.ts";

/** The question that a person is asked before a call runs. */
export interface ApprovalRequest extends NewApproval {
  /**
   * Simulates the call, and says what it would change. Nothing is done for real; without a result within some seconds it says why there is none.
   * Never rejects. Left out where the call is asked about without a session that could be branched.
   */
  readonly preview?: () => Promise<ApprovalPreview>;
  /** Aborts when its answer is no longer wanted: it was answered elsewhere, or the call has ended. */
  readonly signal: AbortSignal;
}

/**
 * `allow-once`: this call. `allow-input`: this call, and calls of the session with the same tool and input. `allow-always`: this call, and
 * calls of this tool until the session ends, but those that the model's provider wants confirmed. Both hold for the tool as it is defined now.
 */
export type ApprovalAnswer = "allow-once" | "allow-input" | "allow-always" | "deny";

/**
 * Answers an approval request. Throwing, or answering anything else, denies. One that has no one to ask throws a `ToolError` with the
 * code `approval_required`, whose message says why: the call then ends as it does without an approver.
 */
export type Approver = (request: ApprovalRequest) => ApprovalAnswer | Promise<ApprovalAnswer>;

/** Something a tool needs to know from a person while its call runs. */
export interface Question {
  /** The text that the person reads, which may be third-party text. */
  readonly message: string;
  /** The fields to fill in: an object schema of flat properties. Left out with `url`, and where a yes is all that is wanted. */
  readonly schema?: { readonly [keyword: string]: unknown };
  /** A page to open instead of a form. http or https only. */
  readonly url?: string;
}

/** `accept` carries what was filled in; `decline` is a no; `cancel` means that there was no decision. */
export type QuestionAnswer =
  | { readonly action: "accept"; readonly content?: JsonObject }
  | { readonly action: "decline" }
  | { readonly action: "cancel" };

/** A question with who asks it. */
export interface AskRequest extends Question {
  /** The MCP server or tool that asks, for the person to know whom an answer goes to. */
  readonly asker: string;
  readonly callId: string;
  readonly toolName: string;
  readonly sessionId: string;
  /** Aborts when the answer is no longer wanted, as when the call is cancelled. */
  readonly signal: AbortSignal;
}

/** Puts a question to a person. Throwing counts as `cancel`. */
export type Ask = (request: AskRequest) => QuestionAnswer | Promise<QuestionAnswer>;
