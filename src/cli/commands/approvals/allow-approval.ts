/** `haft approvals allow`: lets calls run. */
import { APPROVAL_SCOPES, type ApprovalScope } from "../../../core/approval-store.ts";
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import { ToolError } from "../../../core/error.ts";
import type { Command, CommandContext } from "../../command.ts";
import { answerApprovals } from "./answer-approvals.ts";
import { answerer, expiryOf } from "./approval-words.ts";

export const allowApproval: Command = {
  name: "approvals allow",
  usage: "[<id> …]",
  summary: "Let calls run: those named, or all that fit.",
  details: [
    "How far a yes reaches: once, this call; input, calls of its session with the",
    "same tool and input; tool, calls of its session of the same tool; rule, calls of",
    "every session that --pattern matches, until --for is over or the rule is",
    "revoked. It also answers the other calls that wait and that it reaches.",
  ],
  args: [0, 100],
  options: ["store", "config", "session", "tools", "remember", "pattern", "for", "digest"],
  examples: [
    "haft approvals allow approval_1f",
    "haft approvals allow approval_1f --remember tool",
    "haft approvals allow approval_1f --remember rule --pattern 'notes::*' --for 7d",
    "haft approvals allow --tools 'files::*' --session travel",
  ],
  async run(context) {
    const scope = scopeOf(context);
    const { pattern, for: time } = context.options;
    if (scope !== "rule" && (pattern !== undefined || time !== undefined))
      throw new ToolError("invalid_argument", "--pattern and --for are for a rule: give --remember rule as well.");
    const rule = omitUndefined({ pattern, expiresAt: expiryOf(time) });
    await answerApprovals(context, { answer: "allow", scope, by: answerer(), ...(scope === "rule" ? { rule } : {}) });
    return 0;
  },
};

/** @throws ToolError `invalid_argument` */
function scopeOf({ options: { remember: name = "once" } }: CommandContext): ApprovalScope {
  const scope = APPROVAL_SCOPES.find((one) => one === name);
  if (scope !== undefined) return scope;
  throw new ToolError("invalid_argument", `--remember is ${JSON.stringify(name)}; it takes ${APPROVAL_SCOPES.join(", ")}.`);
}
