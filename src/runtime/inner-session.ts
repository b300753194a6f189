/** The session that the handler of a call begins: its id, and whether a log is that one's. */
import { ToolError } from "../core/error.ts";
import type { CallPlace, SessionEvent } from "../core/event.ts";
import { shortId } from "../session/session-id.ts";

/** The id of the session that a call begins. */
export function innerIdOf(sessionId: string, callId: string): string {
  return shortId(`${sessionId}/${callId}`);
}

/** Whether a log whose first event this is was begun by a call: a client may begin a session of any id, with a past of its own making. */
export function isBegunBy({ sessionId, callId }: CallPlace, first: SessionEvent | undefined): boolean {
  const begunBy = first?.type === "session-start" ? first.parentCall : undefined;
  return begunBy?.sessionId === sessionId && begunBy.callId === callId;
}

/** @throws ToolError `duplicate` */
export function checkBegunBy(place: CallPlace, first: SessionEvent, id: string): void {
  if (isBegunBy(place, first)) return;
  throw new ToolError("duplicate", `The session ${JSON.stringify(id)} is there already, and this call has not begun it.`, {
    operatorHint: "Find out who has begun it, then delete it.",
  });
}
