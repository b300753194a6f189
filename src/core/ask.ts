/** The question put to a person or a rule before a call may run. */
import type { JsonObject } from "./base/json.ts";

/** The question that a person is asked before a call runs. */
export interface ApprovalRequest {
  readonly callId: string;
  readonly sessionId: string;
  readonly toolName: string;
  readonly description: string;
  /** The final input: what is approved is exactly what runs. */
  readonly input: JsonObject;
  /** SHA-256 over tool name and canonical input, in hex: what the answer is bound to. */
  readonly digest: string;
  readonly reason: string;
  /** The call belongs to a simulation whose caller allows side effects: approved, it happens for real. */
  readonly simulated: boolean;
  /** The calls that it is made in, such as that of the program that makes it, the innermost first. Left out where there is none. */
  readonly within?: readonly EnclosingCall[];
  readonly signal: AbortSignal;
}

/** A call whose handler makes other calls. */
export interface EnclosingCall {
  readonly callId: string;
  readonly toolName: string;
  readonly input: JsonObject;
}

/** `allow-always` holds for this tool until the session ends. */
export type ApprovalAnswer = "allow-once" | "allow-always" | "deny";

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
  readonly signal: AbortSignal;
}

/** Puts a question to a person. Throwing counts as `cancel`. */
export type Ask = (request: AskRequest) => QuestionAnswer | Promise<QuestionAnswer>;
