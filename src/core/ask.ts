/** The question put to a person or a rule before a call may run. */
import type { JsonObject } from "./json.ts";

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
  readonly signal: AbortSignal;
}

/** `allow-always` holds for this tool until the session ends. */
export type ApprovalAnswer = "allow-once" | "allow-always" | "deny";

/** Answers an approval request. Throwing, or answering anything else, denies. */
export type Approver = (request: ApprovalRequest) => ApprovalAnswer | Promise<ApprovalAnswer>;
