/** Rules for session ids, and which of them a principal may use. */
import { KEYED_REQUEST_RETENTION_MS } from "../../../core/store/access-store.ts";
import { ToolError } from "../../../core/error.ts";
import type { Principal } from "../../auth/principal.ts";
import { TASK_SESSION_PREFIX } from "../../mcp/tasks/task-id.ts";

/** Prefix of the ids of sessions that the server makes for requests outside any session; they are not listed. */
export const OWN_SESSION_PREFIX = "haft-request-";

/** The id prefix of a session that the server made for one request or task; undefined for other sessions. */
export function ownPrefixOf(id: string | undefined): string | undefined {
  return [OWN_SESSION_PREFIX, TASK_SESSION_PREFIX].find((prefix) => id?.startsWith(prefix) === true);
}

/** @throws ToolError `invalid_argument` for an id with a prefix of the server, or one that URLs cannot contain: clients resolve `.` and `..` */
export function checkNewId(id: string | undefined): void {
  if (id === "." || id === ".." || id?.isWellFormed() === false)
    throw new ToolError("invalid_argument", `The session id ${JSON.stringify(id)} cannot be part of a URL.`, {
      hint: "Choose another id: any text except . and .. without lone surrogates",
    });
  const own = ownPrefixOf(id);
  if (own !== undefined) throw new ToolError("invalid_argument", `Ids that begin with ${own} are reserved for the server.`);
}

/** Hides every session but its own from a session key. @throws ToolError `not_found` */
export function checkVisible({ sessionId }: Principal, id: string): void {
  if (sessionId !== undefined && sessionId !== id) throw noSession(id);
}

/** Refuses session keys, which may only use their own session. @throws ToolError `permission_denied` */
export function refuseSessionKey({ sessionId }: Principal): void {
  if (sessionId === undefined) return;
  throw new ToolError("permission_denied", "This key belongs to a session, and works only in that session.", {
    hint: `Use the routes under /v1/sessions/${encodeURIComponent(sessionId)}.`,
  });
}

export function noSession(id: string): ToolError {
  return new ToolError("not_found", `There is no session ${JSON.stringify(id.slice(0, 200))}.`, {
    hint: "GET /v1/sessions lists them; POST /v1/sessions begins one.",
  });
}

/** How long a request's own session is kept, in milliseconds: as long as the answer to the request. */
export const REQUEST_RETENTION_MS = KEYED_REQUEST_RETENTION_MS;

/** Whether a session of a request is not needed any more: without a store, such a session is useful only until its key expires. */
export function isExpiredRequest(id: string, idleMs: number): boolean {
  return id.startsWith(OWN_SESSION_PREFIX) && idleMs > REQUEST_RETENTION_MS;
}
