/** Removes sessions that the server made for itself and whose time is over; the audit keeps their calls. */
import type { AuditedCall } from "../core/access-store.ts";
import type { StoredSession } from "../core/store.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { keepCallsOf } from "./auth/keep-calls.ts";

const PAGE = 1_000;

export interface ForgetSessionsOptions {
  /** The sessions that are meant: the server's own are named with a prefix. */
  readonly prefix: string;
  /** The interface that their calls came in by. */
  readonly via: AuditedCall["via"];
  /** Those whose last event is older, as wall-clock milliseconds. Sessions that a process has open stay. */
  readonly before: number;
  /** Whether to stop. */
  readonly stopped: () => boolean;
}

/** Resolves to how many were removed. */
export async function forgetSessions(runtime: Runtime, { prefix, via, before, stopped }: ForgetSessionsOptions): Promise<number> {
  const { store, sessions } = runtime;
  if (store === undefined) return 0;
  const isOld = ({ sessionId, updatedAt, openedBy }: StoredSession): boolean =>
    sessionId.startsWith(prefix) && updatedAt < before && openedBy === undefined;
  const old: string[] = [];
  for (let offset = 0; !stopped(); offset += PAGE) {
    const page = await store.list({ limit: PAGE, offset });
    for (const session of page) if (isOld(session)) old.push(session.sessionId);
    if (page.length < PAGE) break;
  }
  let removed = 0;
  for (const sessionId of old) {
    if (stopped() || sessions.get(sessionId) !== undefined) continue;
    await keepCallsOf(store, { sessionId, via });
    if (await sessions.forget(sessionId)) removed++;
  }
  return removed;
}
