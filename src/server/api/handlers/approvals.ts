/** Handlers of the routes for calls that wait for approval, and for rules that allow calls. */
import { APPROVAL_STATUSES, type ApprovalRecord } from "../../../core/store/approval-store.ts";
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import { ToolError } from "../../../core/error.ts";
import type { Runtime } from "../../../runtime/runtime.ts";
import type { Principal } from "../../auth/principal.ts";
import type { AnswerOf } from "../../api.ts";
import type { Handlers } from "../services.ts";
import { approvalLimit, checkMayApprove, checkMayGiveRule, checkRulePattern } from "./approval-rights.ts";
import { checkVisible, refuseSessionKey } from "../sessions/session-ids.ts";
import { noContent } from "./responses.ts";

export const approvalHandlers = {
  async listApprovals({ runtime, principal, query: { status = "open", limit, after, tool, ...query } }) {
    const sessionId = principal.sessionId ?? query.sessionId;
    const approvals = await runtime.approvals.list({
      status: APPROVAL_STATUSES.filter((one) => status.split(",").includes(one)),
      after,
      limit,
      ...omitUndefined({ sessionId, tool }),
    });
    const seen = query.sessionId === undefined || query.sessionId === sessionId ? approvals : [];
    return { approvals: seen, ...omitUndefined({ next: approvals.length < limit ? undefined : approvals.at(-1)?.position }) };
  },

  getApproval: ({ runtime, principal, params: { callId } }) => findApproval(callId, { runtime, principal }),

  async decideApproval({ runtime, principal, params: { callId }, body }, services) {
    const { id, toolName } = await findOpenApproval(callId, { runtime, principal });
    checkMayGiveRule(body, principal, services);
    checkMayApprove(toolName, body, principal, services);
    const decided = await runtime.approvals.answer({ ...body, id, by: principal.id });
    if (!decided) {
      await findOpenApproval(id, { runtime, principal }); // another answer may have come at the same time
      throw new ToolError("conflict", "The digest does not match the question: it belongs to another call or another input.", {
        hint: "Read the question again, and answer with its digest.",
      });
    }
    return { decided };
  },

  async previewApproval({ runtime, principal, params: { callId }, signal }) {
    const { id } = await findApproval(callId, { runtime, principal });
    const preview = await runtime.approvals.preview(id, { signal });
    // its values and patches are JSON, as its type documents
    return preview as unknown as AnswerOf<"previewApproval">;
  },

  async decideApprovals({ runtime, principal, body: { decisions } }, services) {
    for (const decision of decisions) checkMayGiveRule(decision, principal, services);
    const found = await Promise.all(
      decisions.map(async (decision) => ({ decision, question: await findUndamagedApproval(decision.callId, { runtime, principal }) })),
    );
    for (const { decision, question } of found)
      if (question !== undefined) checkMayApprove(question.toolName, decision, principal, services);
    const decided = found.map(async ({ decision: { callId, ...decision }, question }) => ({
      callId,
      decided: question !== undefined && (await runtime.approvals.answer({ ...decision, id: question.id, by: principal.id })),
    }));
    return { decisions: await Promise.all(decided) };
  },

  async decideMatchingApprovals({ runtime, principal, body }, services) {
    const sessionId = body.sessionId ?? principal.sessionId;
    if (sessionId !== undefined) checkVisible(principal, sessionId);
    if (sessionId === undefined && body.tool === undefined)
      throw new ToolError("invalid_argument", "Say which calls are meant: by tool, by sessionId, or by both.", {
        hint: 'For every call that waits: "tool": "*".',
      });
    checkMayGiveRule(body, principal, services);
    const permits = approvalLimit(principal, body, services);
    const approvals = await runtime.approvals.answerMany({ ...body, by: principal.id, ...omitUndefined({ sessionId, permits }) });
    return { approvals };
  },

  async listApprovalRules({ runtime, principal: { sessionId } }) {
    const rules = await runtime.approvals.rules();
    return { rules: sessionId === undefined ? rules : rules.filter((rule) => rule.sessionId === sessionId) };
  },

  addApprovalRule({ runtime, principal, body }, services) {
    refuseSessionKey(principal);
    checkRulePattern(body, principal, services);
    return runtime.approvals.addRule({ ...body, by: principal.id });
  },

  async revokeApprovalRule({ runtime, principal, params: { ruleId } }) {
    refuseSessionKey(principal);
    if (await runtime.approvals.revokeRule(ruleId)) return noContent();
    throw new ToolError("not_found", `There is no approval rule ${JSON.stringify(ruleId.slice(0, 200))}.`, {
      hint: "GET /v1/approval-rules lists them.",
    });
  },
} satisfies Partial<Handlers>;

interface ApprovalContext {
  readonly runtime: Runtime;
  readonly principal: Principal;
}

/** Finds an approval by its id, or the latest one by the id of its call; undefined also if a session key may not see it. */
async function searchApproval(name: string, { runtime, principal: { sessionId } }: ApprovalContext): Promise<ApprovalRecord | undefined> {
  const { approvals } = runtime;
  const found = (await approvals.get(name)) ?? (await approvals.list({ callId: name, first: "newest", limit: 1 }))[0];
  return found === undefined || (sessionId ?? found.sessionId) !== found.sessionId ? undefined : found;
}

/** Like `searchApproval`, but undefined for a damaged approval too, so that the other decisions of the request still count. */
async function findUndamagedApproval(name: string, context: ApprovalContext): Promise<ApprovalRecord | undefined> {
  try {
    const found = await searchApproval(name, context);
    return found?.damage === undefined ? found : undefined;
  } catch (thrown: unknown) {
    const error = ToolError.fromUnknown(thrown, "store_failed");
    if (error.code !== "corrupt_record") throw error;
    return undefined;
  }
}

/** @throws ToolError `not_found` */
async function findApproval(name: string, context: ApprovalContext): Promise<ApprovalRecord> {
  const found = await searchApproval(name, context);
  if (found !== undefined) return found;
  throw new ToolError("not_found", `No call ${JSON.stringify(name.slice(0, 200))} waits for approval.`, {
    hint: "GET /v1/approvals lists those that do.",
  });
}

/** @throws ToolError `not_found`; `conflict` if it is no longer open */
async function findOpenApproval(name: string, context: ApprovalContext): Promise<ApprovalRecord> {
  const found = await findApproval(name, context);
  if (found.status === "open") return found;
  throw new ToolError("conflict", `The question is already ${found.status}: this answer has no effect.`);
}
