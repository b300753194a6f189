/** The session that the handler of a call begins: its id, and whether a log is that session's. */
import { ToolError } from "../core/error.ts";
import type { CallPlace, SessionEvent } from "../core/event.ts";
import type { Store } from "../core/store/store.ts";
import { shortId } from "../session/session-id.ts";

/** The id of the session that a call begins. */
export function nestedSessionId(sessionId: string, callId: string): string {
  return shortId(`${sessionId}/${callId}`);
}

/** Whether the log with this first event was begun by the call. Checked because a client may begin a session with any id and any history. */
export function isStartedBy({ sessionId, callId }: CallPlace, first: SessionEvent | undefined): boolean {
  const starter = first?.type === "session-start" ? first.parentCall : undefined;
  return starter?.sessionId === sessionId && starter.callId === callId;
}

/** Maximum number of sessions looked up in one request to the store. */
const LISTED_AT_ONCE = 500;

/** Returns those of a session's calls whose own sessions were left open by a process that has ended. */
export function findCallsLeftOpen(store: Store, sessionId: string, callIds: readonly string[]): Promise<readonly string[]> {
  return findCallsWithSession(store, { sessionId, callIds, leftOpen: true });
}

/** Returns those of a session's calls that have begun sessions which are in the store. */
export async function findCallsWithSession(
  store: Store,
  { sessionId, callIds, leftOpen }: { readonly sessionId: string; readonly callIds: readonly string[]; readonly leftOpen?: true },
): Promise<readonly string[]> {
  const callIdBySession = new Map(callIds.map((callId) => [nestedSessionId(sessionId, callId), callId]));
  const found: string[] = [];
  for (let ids = [...callIdBySession.keys()]; ids.length > 0; ids = ids.slice(LISTED_AT_ONCE)) {
    const sessionIds = ids.slice(0, LISTED_AT_ONCE);
    for (const stored of await store.list({ sessionIds, limit: sessionIds.length }))
      if (leftOpen === undefined || stored.isLeftOpen === true) found.push(callIdBySession.get(stored.sessionId) ?? stored.sessionId);
  }
  return found;
}

/** @throws ToolError `duplicate` */
export function checkStartedBy(place: CallPlace, first: SessionEvent, id: string): void {
  if (isStartedBy(place, first)) return;
  throw new ToolError("duplicate", `The session ${JSON.stringify(id)} already exists, and this call did not begin it.`, {
    operatorHint: "Find out what began it, then delete it.",
  });
}
