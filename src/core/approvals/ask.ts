/** The question to a person or a rule before a call may run, and questions of tools while they run. */
import type { ApprovalPreview } from "./approval-preview.ts";
import type { NewApproval } from "../store/approval-store.ts";
import type { JsonObject } from "../base/json.ts";

/** The approval question that a person gets before a call runs. */
export interface ApprovalRequest extends NewApproval {
  /**
   * Simulates the call, and returns what it would change. Nothing is done for real; if there is no result within some seconds, it says why. Never
   * rejects. Left out if the call has no session that could be branched.
   */
  readonly preview?: () => Promise<ApprovalPreview>;
  /** Aborts when the answer is no longer wanted: the question was answered elsewhere, or the call has ended. */
  readonly signal: AbortSignal;
}

/**
 * `allow-once`: this call. `allow-input`: this call, and calls of the session with the same tool and input. `allow-always`: this call, and calls of
 * this tool until the session ends, except those that the model's provider wants confirmed, and those that a rule of the session asks about later.
 * The last two apply to the tool as it is defined now.
 */
export type ApprovalAnswer = "allow-once" | "allow-input" | "allow-always" | "deny";

/**
 * Answers an approval request. Throwing, or returning anything else, denies. An approver that can reach no one throws a `ToolError` with the code
 * `approval_required`, whose message says why: the call then ends as if no approver were configured.
 *
 * Called at once for each call that needs approval, so several of its promises may be pending: an approver that can ask only one question at a time,
 * such as one in a terminal, asks them one after the other.
 *
 * TypeScript reads the result of an `async` function with one answer as `string`: write `async () => "deny" as const`.
 */
export type Approver = (request: ApprovalRequest) => ApprovalAnswer | Promise<ApprovalAnswer>;

/** A question that a tool asks a person while its call runs. */
export interface Question {
  /** The text that the person reads, which may be third-party text. */
  readonly message: string;
  /** The fields to fill in: an object schema with flat properties. Left out with `url`, and if the answer is just yes or no. */
  readonly schema?: { readonly [keyword: string]: unknown };
  /** A page to open instead of a form. http or https only. */
  readonly url?: string;
}

/** `accept` has the content that was filled in; `decline` is a no; `cancel` means that no decision was made. */
export type QuestionAnswer =
  | { readonly action: "accept"; readonly content?: JsonObject }
  | { readonly action: "decline" }
  | { readonly action: "cancel" };

/** A question together with its asker. */
export interface AskRequest extends Question {
  /** The MCP server or tool that asks, so that the person knows where the answer goes. */
  readonly asker: string;
  readonly callId: string;
  readonly toolName: string;
  readonly sessionId: string;
  /** Aborts when the answer is no longer wanted, for example because the call was cancelled. */
  readonly signal: AbortSignal;
}

/** Asks a person a question. Throwing counts as `cancel`. */
export type Ask = (request: AskRequest) => QuestionAnswer | Promise<QuestionAnswer>;
