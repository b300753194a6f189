/** Routes of calls that wait for approval. */
import { answer, array, flag, id, object, oneOf, ref, text } from "../json-schema.ts";
import type { Routes } from "../route.ts";

const digest = text("That of the question: an answer to another input decides nothing.", { minLength: 1, maxLength: 256 });
const decision = oneOf("allow-always holds for the tool until the session ends.", ["allow-once", "allow-always", "deny"]);
const callId = id("The call that waits.");

export const approvalRoutes = {
  listApprovals: {
    method: "GET",
    path: "/v1/approvals",
    scope: "read",
    summary: "List the calls that wait for approval, the oldest first.",
    query: { sessionId: id("Only calls of this session."), tool: text("Only calls of this tool.", { minLength: 1, maxLength: 512 }) },
    answer: answer({ approvals: array(ref("PendingApproval")) }, ["approvals"]),
    example: {},
  },
  decideApproval: {
    method: "POST",
    path: "/v1/approvals/{callId}",
    scope: "approve",
    summary: "Decide one call that waits.",
    params: { callId },
    body: object({ answer: decision, digest }, ["answer", "digest"]),
    answer: answer({ decided: flag("Whether this answer was the one.") }, ["decided"]),
    example: { params: { callId: "call_1" }, body: { answer: "allow-once", digest: "0000" } },
  },
  decideApprovals: {
    method: "POST",
    path: "/v1/approvals",
    scope: "approve",
    summary: "Decide several calls that wait, each for itself.",
    body: object(
      { decisions: array(object({ callId, answer: decision, digest }, ["callId", "answer", "digest"]), { minItems: 1, maxItems: 1_000 }) },
      ["decisions"],
    ),
    answer: answer(
      {
        decisions: array(answer({ callId, decided: flag("False where no question of this call has this digest.") }, ["callId", "decided"])),
      },
      ["decisions"],
    ),
    example: { body: { decisions: [{ callId: "call_1", answer: "deny", digest: "0000" }] } },
  },
} as const satisfies Routes;
