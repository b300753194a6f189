/** The events that a session has recorded, read from memory or from its store. */
import type { SessionEvent } from "../core/event.ts";
import { readEvents, take } from "../session/read-events.ts";
import type { OpenSessions } from "./open-sessions.ts";
import { RuntimeSession } from "./runtime-session.ts";
import { noteTakenOver } from "./session-errors.ts";

/** The events of a session from a position on, the oldest first; read page by page where a store keeps them. */
export async function* recordedEvents(session: RuntimeSession, from: number = 0): AsyncGenerator<SessionEvent> {
  const { eventLog } = session;
  if (eventLog === undefined || session.broken !== undefined) {
    const { parent, firstKept } = session;
    // Events that a simulation shares with its session and that are not in memory any more are in that session's store.
    if (eventLog === undefined && from < firstKept && parent instanceof RuntimeSession)
      yield* take(recordedEvents(parent, from), firstKept - from);
    yield* session.log.slice(Math.max(0, from - firstKept));
    return;
  }
  yield* readEvents(eventLog, from);
}

/**
 * The same, waiting until the store has them at their places: what is read there before may be what another process wrote that has taken
 * the session over.
 *
 * @throws ToolError why they are lost: to another process, or where memory has not all of them
 */
export async function* ownEvents(session: RuntimeSession, from: number): AsyncGenerator<SessionEvent> {
  await session.eventLog?.whenDurable()?.catch(() => {}); // what cannot be written now is in memory
  const { broken, firstKept } = session;
  if (broken !== undefined && (firstKept > from || broken.code === "conflict")) throw broken;
  let position = from;
  for await (const event of recordedEvents(session, from)) {
    if (position++ >= session.length) throw noteTakenOver(session);
    yield event;
  }
}

/** A tool's answer, in full. */
type WholeAnswer = Pick<SessionEvent & { readonly type: "output-keep" }, "output" | "content">;

/** The whole answer of a call whose result was cut, from the log of its session; undefined when nothing has it. */
export async function findOutput(
  open: OpenSessions,
  { sessionId, callId }: { readonly sessionId: string; readonly callId: string },
): Promise<WholeAnswer | undefined> {
  let session = open.holderOf(sessionId);
  while (session?.parent !== undefined && session.eventLog === undefined) session = open.holderOf(session.parent.id);
  if (session === undefined) return undefined;
  for await (const event of recordedEvents(session)) if (event.type === "output-keep" && event.callId === callId) return event;
  return undefined;
}
