/** Routes of calls that wait for approval. */
import { APPROVAL_SCOPES } from "../../../core/approval-store.ts";
import { answer, array, flag, id, integer, object, oneOf, record, ref, text } from "../json-schema.ts";
import type { Routes } from "../route.ts";

const digest = text("That of the question: an answer to another input decides nothing.", { minLength: 1, maxLength: 256 });
const decision = oneOf("allow reaches as far as scope says; allow-always holds for the tool until the session ends.", [
  "allow",
  "allow-once",
  "allow-always",
  "deny",
]);
const verdict = {
  answer: decision,
  digest,
  scope: oneOf(
    "With allow: this call, calls of the session with this input, calls of the session of this tool, or calls that the rule names. once by default.",
    APPROVAL_SCOPES,
  ),
  rule: object(
    {
      pattern: text("Over qualified names; the tool that was asked about by default.", { minLength: 1, maxLength: 512 }),
      sessionId: id("Calls of this session only."),
      expiresAt: integer("When it ends, in milliseconds since 1970-01-01 UTC.", 0, Number.MAX_SAFE_INTEGER),
    },
    [],
  ),
};
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
  previewApproval: {
    method: "POST",
    path: "/v1/approvals/{callId}/preview",
    scope: "approve",
    summary: "Simulate a call that waits, to see what it would change.",
    description: "Made by the process that waits, in a branch that is dropped: nothing is done for real.",
    params: { callId },
    answer: answer(
      {
        available: flag("Whether the call could be simulated."),
        reason: text("Why not."),
        state: array(record("A value of the state that would differ: toolset, key, before, after and patch.")),
        calls: array(record("A call that the call would make: toolName, input and outcome.")),
        writes: array(text("A resource that would be written.")),
        answer: text("The answer that the call would have."),
        isCut: flag("Parts were left out, because it would be too large."),
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
    params: { callId },
    body: object(verdict, ["answer", "digest"]),
    answer: answer({ decided: flag("Whether this answer was the one.") }, ["decided"]),
    example: { params: { callId: "call_1" }, body: { answer: "allow-once", digest: "0000" } },
  },
  decideApprovals: {
    method: "POST",
    path: "/v1/approvals",
    scope: "approve",
    summary: "Decide several calls that wait, each for itself.",
    body: object({ decisions: array(object({ callId, ...verdict }, ["callId", "answer", "digest"]), { minItems: 1, maxItems: 1_000 }) }, [
      "decisions",
    ]),
    answer: answer(
      {
        decisions: array(answer({ callId, decided: flag("False where no question of this call has this digest.") }, ["callId", "decided"])),
      },
      ["decisions"],
    ),
    example: { body: { decisions: [{ callId: "call_1", answer: "deny", digest: "0000" }] } },
  },
} as const satisfies Routes;
