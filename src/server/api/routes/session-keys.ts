/** Routes of the keys of one session. */
import { answer, array, id, integer, object, oneOf, text } from "../openapi/json-schema.ts";
import type { Routes } from "../requests/route.ts";

const DAY_MS = 86_400_000;
const sessionId = id("The session that the key is for.");
const scopes = array(oneOf("A scope that the creator of the key has.", ["read", "execute", "simulate", "approve"]), {
  minItems: 1,
  maxItems: 4,
});
const patterns = array(text("A pattern over qualified names; * matches any text.", { minLength: 1, maxLength: 512 }), { maxItems: 1_000 });

export const sessionKeyRoutes = {
  createSessionKey: {
    method: "POST",
    path: "/v1/sessions/{sessionId}/keys",
    scope: "execute",
    summary: "Create a key for this session only, for a page or a program that should have no more access.",
    description:
      "The key is shown only in this answer. It has no scope and no tool that its creator lacks, ends with the creator's key, and cannot create other keys. A repeated request creates another key.",
    params: { sessionId },
    body: object(
      {
        name: text("For people: in lists and the audit.", { minLength: 1, maxLength: 128 }),
        scopes,
        allow: patterns,
        deny: patterns,
        ttlMs: integer("How long it is valid; 15 minutes by default.", 1, DAY_MS),
      },
      ["name", "scopes"],
    ),
    status: 201,
    answer: answer({
      id: id("Names it in lists, events and the audit."),
      key: text("The whole key, for the header Authorization."),
      sessionId,
      scopes: array(text("What it may do.")),
      expiresAt: integer("When it ends, in milliseconds since 1970-01-01 UTC.", 0, Number.MAX_SAFE_INTEGER),
    }),
    example: { params: { sessionId: "travel" }, body: { name: "page", scopes: ["read"] } },
  },
  revokeSessionKey: {
    method: "DELETE",
    path: "/v1/sessions/{sessionId}/keys/{keyId}",
    scope: "execute",
    summary: "Revoke a key of this session: one that you created, or any with the scope admin.",
    params: { sessionId, keyId: text("The id of the key.", { pattern: "^[0-9a-f]{16}$" }) },
    status: 204,
    example: { params: { sessionId: "travel", keyId: "3f2a9c41d07be655" } },
  },
} as const satisfies Routes;
