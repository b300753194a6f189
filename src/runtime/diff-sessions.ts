/** How two sessions differ, whether or not one is a branch of the other. */
import type { SessionEvent } from "../core/event.ts";
import { stateDiff, type SessionDiff } from "../session/session-diff.ts";
import { historyOf } from "../session/session-log.ts";
import type { RuntimeSession } from "./runtime-session.ts";

/**
 * Returns how a session differs from another of its runtime: values of state as they are there (`before`) and here (`after`), and the calls that only
 * the first one has. Shared history counts on neither side. Reads both sessions whole.
 *
 * @throws ToolError `store_failed`. By rejecting
 */
export async function diffSessions(session: RuntimeSession, other: RuntimeSession): Promise<SessionDiff> {
  const state = stateDiff(other.stateMap, session.stateMap);
  const shared = new Set<string>();
  for await (const event of other.events()) if (event.type === "call-start") shared.add(event.callId);
  const own: SessionEvent[] = [];
  for await (const event of session.events())
    if ("callId" in event && event.callId !== undefined && !shared.has(event.callId)) own.push(event);
  return { state, calls: historyOf(own), pretended: session.simulation?.pretended ?? [] };
}
