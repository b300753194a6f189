/** A call that waits for approval, as the client returns it. */
import type { AnswerOf } from "../../client/client.ts";

export type Approval = AnswerOf<"listApprovals">["approvals"][number];
