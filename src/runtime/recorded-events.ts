/** The events that a session has recorded, read from memory or from its store. */
import type { SessionEvent } from "../core/event.ts";
import { readEvents, takeFirst } from "../session/read-events.ts";
import type { OpenSessions } from "./open-sessions.ts";
import { RuntimeSession } from "./runtime-session.ts";
import { markTakenOver } from "./session-errors.ts";

/** The events of a session from a position on, the oldest first; read page by page if they are stored. */
export async function* readSessionEvents(session: RuntimeSession, from: number = 0): AsyncGenerator<SessionEvent> {
  const { eventLog } = session;
  if (eventLog === undefined || session.broken !== undefined) {
    const { parent, firstKept } = session;
    // Events that a simulation shares with its session and that are no longer in memory are read from that session's store.
    if (eventLog === undefined && from < firstKept && parent instanceof RuntimeSession)
      yield* takeFirst(readSessionEvents(parent, from), firstKept - from);
    yield* session.logSince(from) ?? session.log.slice(Math.max(0, from - firstKept));
    return;
  }
  yield* readEvents(eventLog, from);
}

/**
 * Like `readSessionEvents`, but waits until the store has all of them: before that, their positions may hold events of another process that has taken
 * over the session.
 *
 * @throws ToolError why they are lost: another process has the session, or memory does not have all of them
 */
export async function* readOwnEvents(session: RuntimeSession, from: number): AsyncGenerator<SessionEvent> {
  await session.eventLog?.whenDurable()?.catch(() => {}); // events that cannot be written now are in memory
  const { broken, firstKept } = session;
  if (broken !== undefined && (firstKept > from || broken.code === "conflict")) throw broken;
  let position = from;
  for await (const event of readSessionEvents(session, from)) {
    if (position++ >= session.length) throw markTakenOver(session);
    yield event;
  }
}

/**
 * Returns the first `length` events of a session as this process recorded them: from memory those that are there, because the stored log may have
 * events of a process that has taken the session over. @throws as `readOwnEvents`
 */
export async function readRecordedEvents(session: RuntimeSession, length: number): Promise<readonly SessionEvent[]> {
  const stored = Math.min(session.firstKept, length);
  const kept = session.log.slice(0, length - stored);
  const earlier: SessionEvent[] = [];
  for await (const event of readOwnEvents(session, 0)) if (earlier.push(event) >= stored) break;
  return [...earlier.slice(0, stored), ...kept];
}

/** The whole answer of a tool. */
type WholeAnswer = Pick<SessionEvent & { readonly type: "output-keep" }, "output" | "content">;

/** The whole answer of a call whose result was truncated, from the log of its session; undefined if it was not kept. */
export async function findOutput(
  open: OpenSessions,
  { sessionId, callId }: { readonly sessionId: string; readonly callId: string },
): Promise<WholeAnswer | undefined> {
  let session = open.findById(sessionId);
  while (session?.parent !== undefined && session.eventLog === undefined) session = open.findById(session.parent.id);
  if (session === undefined) return undefined;
  for await (const event of readSessionEvents(session)) if (event.type === "output-keep" && event.callId === callId) return event;
  return undefined;
}
