/** Keeps the calls of sessions that the server has made for itself, before these are removed with their logs. */
import type { AuditedCall } from "../../core/access-store.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { Store } from "../../core/store.ts";
import { entriesOf } from "./audit.ts";
import { MAX_KEPT } from "./call-log.ts";

/** Resolves when the audit has them without the session. By rejecting where the store does not take them: the session is to stay then. */
export async function keepCallsOf(store: Store, { sessionId, via }: Required<Pick<AuditedCall, "sessionId" | "via">>): Promise<void> {
  const entries = await entriesOf(store, { sessionId }, () => {}); // what is damaged is removed as well
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
  if (calls.length > 0) await store.access.addCalls({ calls, keep: MAX_KEPT });
}
