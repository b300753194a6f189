/** `haft approvals`: calls that wait for approval, in any process. */
import { allowApproval, denyApproval } from "./approvals/answer-approvals.ts";
import { approvalRules } from "./approvals/approval-rules.ts";
import { listApprovals } from "./approvals/list-approvals.ts";
import { showApproval } from "./approvals/show-approval.ts";
import type { GroupBody } from "../command.ts";

export const approvalsCommand: GroupBody = {
  details: [
    "A call that needs approval waits in the store that --store names, or that the",
    "configuration names in a [store] table. The process that asks gets the answer",
    "within about a second. Where it has ended, the answer applies when its session",
    "is resumed.",
  ],
  commands: [listApprovals, showApproval, allowApproval, denyApproval, approvalRules],
};
