/** Handler of the audit route. */
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import { ToolError } from "../../../core/error.ts";
import { lastPosition, readAudit, type AuditOptions, type AuditPosition } from "../../auth/audit.ts";
import { hasScope } from "../../auth/principal.ts";
import type { Handlers } from "../services.ts";
import { ownPrefixOf } from "../sessions/session-ids.ts";

export const auditHandlers = {
  async listAudit({ principal, query: { limit, cursor, ...filter }, signal }, { store }) {
    const { since = -Infinity, until = Infinity } = filter;
    if (since >= until) throw new ToolError("invalid_argument", `since ${since} is not before until ${until}, so nothing is between them.`);
    if (store === undefined) return { entries: [], damaged: [] };
    const own: Pick<AuditOptions, "own"> = hasScope(principal, "admin") ? {} : { own: principal.id };
    const damaged: { readonly sessionId: string; readonly reason: string }[] = [];
    const after = cursor === undefined ? undefined : parseCursor(cursor);
    const found = await readAudit(
      store,
      { ...filter, ...own, ...omitUndefined({ after, sessionId: principal.sessionId }), limit: limit + 1, signal },
      (sessionId, reason) => {
        // a session that the server made for a request is visible to its sender only
        if (own.own === undefined || ownPrefixOf(sessionId) === undefined) damaged.push({ sessionId, reason });
      },
    );
    const entries = found.slice(0, limit);
    return { entries, damaged, ...(found.length > limit ? { next: formatCursor(lastPosition(entries, after)) } : {}) };
  },
} satisfies Partial<Handlers>;

/** Encodes a position. New entries come before it, so no entry is on two pages; entries of other sessions do not count, so removals skip none. */
function formatCursor({ at, count, sessionId }: AuditPosition): string {
  return `${at}_${count}_${Buffer.from(sessionId).toString("base64url")}`;
}

function parseCursor(cursor: string): AuditPosition {
  const [at = "", count = "", ...sessionId] = cursor.split("_");
  return { at: Number(at), count: Number(count), sessionId: Buffer.from(sessionId.join("_"), "base64url").toString() };
}
