import type { ApprovalEnd } from "../../core/approval-store.ts";
import { ToolError } from "../../core/error.ts";

interface Refused {
  readonly toolName: string;
  readonly reason: string;
}

/** Returns the error of a call whose question ended with this status; undefined if the call may run. */
export function refusalOf(question: Refused, { status, by }: Pick<ApprovalEnd, "status" | "by">): ToolError | undefined {
  switch (status) {
    case "allowed":
      return undefined;
    case "denied":
      return denied(question, "the answer was no");
    case "expired":
      return denied(question, "no answer came in time");
    case "withdrawn":
      return cancelled(question, by === undefined ? undefined : `by ${by}`);
  }
}

/** @param why the reason, with or without a final full stop */
export function denied({ toolName }: Refused, why: string): ToolError {
  return new ToolError("approval_denied", `${toolName} was not approved: ${why.replace(/\.$/u, "")}.`, {
    hint: "Do not call it again with this input unless the user asks for it; continue without it, or ask the user what to do.",
  });
}

export function cancelled({ toolName }: Refused, by?: string): ToolError {
  const how = by === undefined ? "" : ` ${by}`;
  return new ToolError("cancelled", `${toolName} was cancelled${how} while it waited for approval.`, { outcome: "not_started" });
}

/** Returns the error of a call that got no decision. @param why the end of a sentence, or a whole sentence as an approver throws it */
export function undecided({ toolName, reason }: Refused, why: string): ToolError {
  const said = /[.!?]$/u.test(why) ? `. ${why}` : `, and ${why}.`;
  return new ToolError("approval_required", `${toolName} needs approval${said} ${reason}`, {
    hint: "A person must approve this call, and none can be asked here. Go on without it, or tell the user what it would do and that it needs approval.",
    operatorHint:
      'Run it where a person can be asked, or allow it beforehand: "never" of [approval] in the configuration file, --yes on the command line, approval: { approve } or { never } in code.',
  });
}
