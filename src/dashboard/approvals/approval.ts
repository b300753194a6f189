/** A call that waits for a yes or no, as the client gives it. */
import type { AnswerOf } from "../../client/client.ts";

export type Approval = AnswerOf<"listApprovals">["approvals"][number];
