/** The handlers of calls that wait for approval. */
import { ToolError } from "../../core/error.ts";
import type { ApprovalDecision, PendingApproval } from "../../core/approvals.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { Principal } from "../auth/principal.ts";
import type { AnswerOf } from "../api.ts";
import type { Handlers } from "./services.ts";
import { refuseSessionKey } from "./session-pool.ts";

export const approvalHandlers: Handlers<"listApprovals" | "decideApproval" | "previewApproval" | "decideApprovals"> = {
  async listApprovals({ runtime, principal, query: { sessionId, tool } }) {
    const pending = await seenBy(principal, runtime);
    return {
      approvals: pending.filter(
        (one) => (sessionId === undefined || one.sessionId === sessionId) && (tool === undefined || one.toolName === tool),
      ),
    };
  },

  async decideApproval({ runtime, principal, params: { callId }, body }) {
    await waitingCall(principal, runtime, callId);
    const decided = await runtime.approvals.answer(decisionOf(principal, { ...body, callId }));
    if (!decided)
      throw new ToolError("conflict", "The digest is not that of the question: the call or its input is another one.", {
        hint: "Read the question again, and answer with its digest.",
      });
    return { decided };
  },

  async previewApproval({ runtime, principal, params: { callId }, signal }) {
    const { id } = await waitingCall(principal, runtime, callId);
    const preview = await runtime.approvals.preview(id, { signal });
    // Its values and patches are JSON by what it promises.
    return preview as unknown as AnswerOf<"previewApproval">;
  },

  async decideApprovals({ runtime, principal, body: { decisions } }) {
    const seen = new Set((await seenBy(principal, runtime)).map(({ callId }) => callId));
    const decided = decisions.map(async (decision) => ({
      callId: decision.callId,
      decided: seen.has(decision.callId) && (await runtime.approvals.answer(decisionOf(principal, decision))),
    }));
    return { decisions: await Promise.all(decided) };
  },
};

/** The answer with its author. A rule reaches beyond a session, and is not for the key of one. @throws ToolError `permission_denied` */
function decisionOf(principal: Principal, decision: Omit<ApprovalDecision, "by"> & { readonly callId: string }): ApprovalDecision {
  if (decision.scope === "rule") refuseSessionKey(principal);
  return { ...decision, by: principal.id };
}

/** @throws ToolError `not_found` */
async function waitingCall(principal: Principal, runtime: Runtime, callId: string): Promise<PendingApproval> {
  const waits = (await seenBy(principal, runtime)).find((one) => one.callId === callId);
  if (waits !== undefined) return waits;
  throw new ToolError("not_found", `No call ${JSON.stringify(callId.slice(0, 200))} waits for approval.`, {
    hint: "GET /v1/approvals lists those that do.",
  });
}

async function seenBy({ sessionId }: Principal, runtime: Runtime): Promise<readonly PendingApproval[]> {
  const pending = await runtime.approvals.pending();
  return sessionId === undefined ? pending : pending.filter((one) => one.sessionId === sessionId);
}
