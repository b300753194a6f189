/** The handler of the audit. */
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import { ToolError } from "../../../core/error.ts";
import { readAudit, type AuditEntry } from "../../auth/audit.ts";
import { hasScope } from "../../auth/principal.ts";
import type { Handlers } from "../services.ts";

export const auditHandlers: Handlers<"listAudit"> = {
  async listAudit({ principal, query: { limit, cursor, ...filter }, signal }, { store }) {
    const { since = -Infinity, until = Infinity } = filter;
    if (since >= until) throw new ToolError("invalid_argument", `since ${since} is not before until ${until}, so nothing is between them.`);
    if (store === undefined) return { entries: [], damaged: [] };
    const own = hasScope(principal, "admin") ? {} : { own: principal.id };
    const damaged: { readonly sessionId: string; readonly reason: string }[] = [];
    const after = placeOf(cursor);
    const found = await readAudit(
      store,
      { ...filter, ...own, ...omitUndefined({ after, sessionId: principal.sessionId }), limit: limit + 1, signal },
      (sessionId, reason) => damaged.push({ sessionId, reason }),
    );
    const entries = found.slice(0, limit);
    return { entries, damaged, ...(found.length > limit ? { next: cursorOf(entries, after) } : {}) };
  },
};

interface AuditPlace {
  readonly at: number;
  /** How many of this time come before it, or are it. */
  readonly count: number;
}

/** The place of the last of these entries. New entries come before it, so no page has one twice. */
function cursorOf(entries: readonly AuditEntry[], after: AuditPlace | undefined): string {
  const at = entries.at(-1)?.at ?? 0;
  const earlier = after?.at === at ? after.count : 0;
  return `${at}_${earlier + entries.filter((entry) => entry.at === at).length}`;
}

function placeOf(cursor: string | undefined): AuditPlace | undefined {
  const [at, count] = cursor?.split("_").map(Number) ?? [];
  return at === undefined || count === undefined ? undefined : { at, count };
}
