/** The route of the audit. */
import { answer, array, id, integer, ref, text } from "../openapi/json-schema.ts";
import type { Routes } from "../requests/route.ts";
import { page } from "./paging.ts";

/** The maximum time value of a `Date`. */
const MAX_TIME = 8_640_000_000_000_000;

export const auditRoutes = {
  listAudit: {
    method: "GET",
    path: "/v1/audit",
    scope: "read",
    summary: "List who called what, when and with which outcome, the newest first.",
    description:
      "Calls, approvals, messages, keys and refused requests. With the scope admin those of all principals, otherwise your own. A server without a store has none.",
    query: {
      principal: text("Only entries of principals that fit this pattern, such as key:*.", { minLength: 1, maxLength: 1_024 }),
      tool: text("Only calls of tools that fit this pattern, such as files::*, their approvals, and refused requests for them.", {
        minLength: 1,
        maxLength: 1_024,
      }),
      outcome: text("Only calls with this outcome: ok, partial, error, cancelled, skipped, open, or an error code.", {
        minLength: 1,
        maxLength: 100,
      }),
      since: integer("Only entries at or after this time, in milliseconds since 1970-01-01 UTC.", -MAX_TIME, MAX_TIME),
      until: integer("Only entries before this time.", -MAX_TIME, MAX_TIME),
      limit: page.limit,
      cursor: text("The next of the previous page.", { pattern: "^-?[0-9]{1,16}(\\.[0-9]{1,20})?_[0-9]{1,9}_[A-Za-z0-9_-]*$" }),
    },
    answer: answer(
      {
        entries: array(ref("AuditEntry")),
        next: text("The cursor of the next page."),
        damaged: array(answer({ sessionId: id("Its id."), reason: text("Where it is damaged, and why.") }), {
          description: "Sessions whose log could not be read to its end.",
        }),
      },
      ["entries", "damaged"],
    ),
    example: { query: { tool: "notes::*", outcome: "ok" } },
  },
} as const satisfies Routes;
