/** Routes of calls that wait for approval. */
import { APPROVAL_SCOPES, APPROVAL_STATUSES } from "../../../core/store/approval-store.ts";
import { answer, array, flag, id, integer, object, oneOf, record, ref, text } from "../openapi/json-schema.ts";
import type { Routes } from "../requests/route.ts";

const digest = text("The digest of the question: an answer to another input decides nothing.", { minLength: 1, maxLength: 256 });
const decision = oneOf(
  "allow applies to what scope says; allow-input and allow-always hold for calls of the session with this input, or of this tool.",
  ["allow", "allow-once", "allow-input", "allow-always", "deny"],
);
const pattern = text("A pattern over qualified names; * matches any text.", { minLength: 1, maxLength: 512 });
const expiresAt = integer("When it ends, in milliseconds since 1970-01-01 UTC.", 0, 8_640_000_000_000_000);
const scopeFields = {
  scope: oneOf(
    "With allow: this call, calls of the session with this input, calls of the session of this tool, or calls that the rule names. By default once.",
    APPROVAL_SCOPES,
  ),
  rule: object({ pattern, sessionId: id("Calls of this session only."), expiresAt }, []),
};
const verdict = { answer: decision, digest, ...scopeFields };
const callId = id("The call that waits, or the id of its question.");
const statuses = APPROVAL_STATUSES.join("|");

export const approvalRoutes = {
  listApprovals: {
    method: "GET",
    path: "/v1/approvals",
    scope: "read",
    summary: "List the calls that wait for approval, the oldest first.",
    query: {
      sessionId: id("Only calls of this session."),
      tool: text("Only calls of this tool, or of those that a pattern such as files::* matches.", { minLength: 1, maxLength: 512 }),
      status: text("Questions with one of these states, separated by commas: allowed,denied. By default those that are open.", {
        pattern: `^(${statuses})(,(${statuses}))*$`,
      }),
      after: integer("The position of the last question that is known.", 0, Number.MAX_SAFE_INTEGER, { default: 0 }),
      limit: integer("Maximum number of questions per page.", 1, 1_000, { default: 1_000 }),
    },
    answer: answer(
      {
        approvals: array(ref("PendingApproval")),
        next: integer("The after of the next page. Absent on the last page.", 0, Number.MAX_SAFE_INTEGER),
      },
      ["approvals"],
    ),
    example: {},
  },
  getApproval: {
    method: "GET",
    path: "/v1/approvals/{callId}",
    scope: "read",
    summary: "Get one question, whatever its status.",
    params: { callId },
    answer: ref("PendingApproval"),
    example: { params: { callId: "call_1" } },
  },
  decideMatchingApprovals: {
    method: "POST",
    path: "/v1/approvals/matching",
    scope: "approve",
    summary: "Decide every waiting call that matches, with one answer.",
    description:
      "Decides those asked up to a position: the person who decides has not seen later ones. Select them by tool, by session, or both. " +
      "An approval leaves calls of tools open that the sender may not call.",
    body: object(
      {
        answer: decision,
        ...scopeFields,
        tool: text("Calls of this tool, or of those that a pattern such as files::* matches.", { minLength: 1, maxLength: 512 }),
        sessionId: id("Calls of this session."),
        upTo: integer("The position of the last question that was seen.", 0, Number.MAX_SAFE_INTEGER),
      },
      ["answer", "upTo"],
    ),
    answer: answer({ approvals: array(ref("PendingApproval"), { description: "The questions that this answer decided." }) }),
    example: { body: { answer: "deny", tool: "files::*", upTo: 7 } },
  },
  previewApproval: {
    method: "POST",
    path: "/v1/approvals/{callId}/preview",
    scope: "approve",
    summary: "Simulate a call that waits, to see what it would change.",
    description: "Simulated by the process that waits, in a branch that is dropped: nothing is done for real.",
    params: { callId },
    answer: answer(
      {
        available: flag("Whether the call could be simulated."),
        reason: text("Why it could not be simulated."),
        state: array(record("A value of the state that would differ: toolset, key, before, after and patch.")),
        calls: array(record("A call that the call would make: toolName, input and outcome.")),
        writes: array(text("A resource that would be written.")),
        answer: text("The answer that the call would have."),
        isCut: flag("Whether parts were left out because it would be too large."),
      },
      ["available"],
    ),
    example: { params: { callId: "call_1" } },
  },
  decideApproval: {
    method: "POST",
    path: "/v1/approvals/{callId}",
    scope: "approve",
    summary: "Decide one call that waits.",
    description: "A call is approved only by a sender who may call its tool; anyone with the scope may deny it.",
    params: { callId },
    body: object(verdict, ["answer", "digest"]),
    answer: answer({ decided: flag("Whether this answer decided the call.") }),
    keyed: true,
    example: { params: { callId: "call_1" }, body: { answer: "allow-once", digest: "0000" } },
  },
  decideApprovals: {
    method: "POST",
    path: "/v1/approvals",
    scope: "approve",
    summary: "Decide several calls that wait, each on its own.",
    body: object({ decisions: array(object({ callId, ...verdict }, ["callId", "answer", "digest"]), { minItems: 1, maxItems: 1_000 }) }),
    answer: answer({
      decisions: array(answer({ callId, decided: flag("False where no question of this call has this digest.") })),
    }),
    keyed: true,
    example: { body: { decisions: [{ callId: "call_1", answer: "deny", digest: "0000" }] } },
  },
  listApprovalRules: {
    method: "GET",
    path: "/v1/approval-rules",
    scope: "read",
    summary: "List the rules that allow calls without a question, the oldest first.",
    answer: answer({ rules: array(ref("ApprovalRule")) }),
    example: {},
  },
  addApprovalRule: {
    method: "POST",
    path: "/v1/approval-rules",
    scope: "approve",
    summary: "Allow calls of the tools that a pattern matches from now on.",
    body: object({ pattern, sessionId: id("Calls of this session only."), expiresAt }, ["pattern"]),
    status: 201,
    answer: ref("ApprovalRule"),
    keyed: true,
    example: { body: { pattern: "files::*" } },
  },
  revokeApprovalRule: {
    method: "DELETE",
    path: "/v1/approval-rules/{ruleId}",
    scope: "approve",
    summary: "Revoke a rule; calls that it allowed stay allowed.",
    params: { ruleId: id("The id of a rule.") },
    status: 204,
    example: { params: { ruleId: "rule_1" } },
  },
} as const satisfies Routes;
