/** Removes expired sessions that the server made for itself; the audit keeps their calls. */
import type { AuditedCall } from "../core/store/access-store.ts";
import type { StoredSession } from "../core/store/store.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { copyCallsToAudit } from "./auth/copy-calls-to-audit.ts";

const PAGE = 1_000;

export interface RemoveExpiredOptions {
  /** Prefix of the ids of the sessions to remove: the server's own sessions have one. */
  readonly prefix: string;
  /** The interface through which their calls came. */
  readonly via: AuditedCall["via"];
  /** Sessions whose last event is older than this are removed, in wall-clock milliseconds. Sessions that a process has open stay. */
  readonly before: number;
  /** Whether to stop early. */
  readonly shouldStop: () => boolean;
}

/** Resolves to the number of removed sessions. */
export async function removeExpiredSessions(runtime: Runtime, { prefix, via, before, shouldStop }: RemoveExpiredOptions): Promise<number> {
  const { store, sessions } = runtime;
  if (store === undefined) return 0;
  const isOld = ({ sessionId, updatedAt, openedBy }: StoredSession): boolean =>
    sessionId.startsWith(prefix) && updatedAt < before && openedBy === undefined;
  const old: string[] = [];
  for (let offset = 0; !shouldStop(); offset += PAGE) {
    const page = await store.list({ limit: PAGE, offset });
    for (const session of page) if (isOld(session)) old.push(session.sessionId);
    if (page.length < PAGE) break;
  }
  let removed = 0;
  for (const sessionId of old) {
    if (shouldStop() || sessions.get(sessionId) !== undefined) continue;
    await copyCallsToAudit(store, { sessionId, via });
    if (await sessions.forget(sessionId)) removed++;
  }
  return removed;
}
