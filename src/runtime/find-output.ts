/** The whole answer of a call whose result was cut, read from the log of its session. */
import type { SessionEvent } from "../core/event.ts";
import type { OpenSessions } from "./open-sessions.ts";
import type { RuntimeSession } from "./runtime-session.ts";

/** A tool's answer, in full. */
type WholeAnswer = Pick<SessionEvent & { readonly type: "output-keep" }, "output" | "content">;

/** @param events every event of a session. Undefined when nothing has the answer */
export async function findOutput(
  open: OpenSessions,
  { sessionId, callId }: { readonly sessionId: string; readonly callId: string },
  events: (session: RuntimeSession) => AsyncIterable<SessionEvent>,
): Promise<WholeAnswer | undefined> {
  let session = open.holderOf(sessionId);
  while (session?.parent !== undefined && session.eventLog === undefined) session = open.holderOf(session.parent.id);
  if (session === undefined) return undefined;
  for await (const event of events(session)) if (event.type === "output-keep" && event.callId === callId) return event;
  return undefined;
}
