/** `haft approvals deny`: refuses calls. */
import type { Command } from "../../command.ts";
import { answerApprovals } from "./answer-approvals.ts";
import { answerer } from "./approval-words.ts";

export const denyApproval: Command = {
  name: "approvals deny",
  usage: "[<id> …]",
  summary: "Refuse calls: those named, or all that fit.",
  details: ["Each ends with approval_denied. A call that is made later is asked about again."],
  args: [0, 100],
  options: ["store", "config", "session", "tools", "digest"],
  examples: ["haft approvals deny approval_1f6c", "haft approvals deny --session travel"],
  async run(context) {
    await answerApprovals(context, { answer: "deny", by: answerer() });
    return 0;
  },
};
