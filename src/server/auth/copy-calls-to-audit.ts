/** Copies the calls of the server's own sessions to the audit before the sessions are removed with their logs. */
import type { AuditedCall } from "../../core/store/access-store.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { Store } from "../../core/store/store.ts";
import { readSessionEntries } from "./audit.ts";
import { MAX_STORED_CALLS } from "./call-log.ts";

/** Resolves when the audit has the calls. Rejects if the store does not take them; the session must then be kept. */
export async function copyCallsToAudit(store: Store, { sessionId, via }: Required<Pick<AuditedCall, "sessionId" | "via">>): Promise<void> {
  const entries = await readSessionEntries(store, { sessionId }, () => {}); // damaged parts are removed as well
  const approvers = new Map<string | undefined, string>();
  for (const entry of entries)
    if (entry.type === "approval-answer" && entry.status === "allowed" && entry.principal !== undefined)
      approvers.set(entry.callId, entry.principal);
  const calls: AuditedCall[] = [];
  for (const entry of entries) {
    if (entry.type !== "call") continue;
    const { type: _type, ...call } = entry;
    calls.push({ ...call, via, ...omitUndefined({ approvedBy: approvers.get(entry.callId) }) });
  }
  if (calls.length > 0) await store.access.addCalls({ calls, keep: MAX_STORED_CALLS });
}
