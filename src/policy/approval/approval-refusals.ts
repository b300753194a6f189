import type { ApprovalEnd } from "../../core/store/approval-store.ts";
import { ToolError } from "../../core/error.ts";

interface RefusedCall {
  readonly toolName: string;
  readonly reason: string;
}

/** Returns the error of a call whose question ended with this status; undefined if the call may run. */
export function findApprovalRefusal(question: RefusedCall, { status, by }: Pick<ApprovalEnd, "status" | "by">): ToolError | undefined {
  switch (status) {
    case "allowed":
      return undefined;
    case "denied":
      return approvalDeniedError(question, "the answer was no");
    case "expired":
      return approvalDeniedError(question, "no answer came in time");
    case "withdrawn":
      return approvalCancelledError(question, by === undefined ? undefined : `by ${by}`);
  }
}

/** @param why the reason, with or without a final full stop */
export function approvalDeniedError({ toolName }: RefusedCall, why: string): ToolError {
  return new ToolError("approval_denied", `${toolName} was not approved: ${why.replace(/\.$/u, "")}.`, {
    hint: "Do not call it again with this input unless the user asks for it; continue without it, or ask the user what to do.",
  });
}

export function approvalCancelledError({ toolName }: RefusedCall, by?: string): ToolError {
  const how = by === undefined ? "" : ` ${by}`;
  return new ToolError("cancelled", `${toolName} was cancelled${how} while it waited for approval.`, { outcome: "not_started" });
}

/** Returns the error of a call that got no decision. @param why the end of a sentence, or a whole sentence as an approver throws it */
export function noDecisionError({ toolName, reason }: RefusedCall, why: string): ToolError {
  const clause = /[.!?]$/u.test(why) ? `. ${why}` : `, and ${why}.`;
  return new ToolError("approval_required", `${toolName} needs approval${clause} ${reason}`, {
    hint: "A person must approve this call, and none can be asked here. Continue without it, or tell the user what it would do and that it needs approval.",
    operatorHint:
      'Run it where a person can be asked, or allow it beforehand: "never" of [approval] in the configuration file, --yes on the command line, approval: { approve } or { never } in code.',
  });
}
