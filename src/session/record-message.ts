/** Records what a person or a program said. */
import type { SessionMessage } from "../core/message.ts";
import type { Session } from "./session.ts";
import type { TurnCall } from "../session/turn-queue.ts";

/** @param madeIn the call whose handler says it: it is left out with that one */
export function recordMessage(
  session: Session,
  message: SessionMessage,
  place: { readonly at: number; readonly madeIn: TurnCall | undefined },
): void {
  const { at, madeIn } = place;
  const parent = madeIn === undefined ? {} : { parentCallId: madeIn.callId };
  session.recordAndTell({ type: "message-add", sessionId: session.id, at, message, ...parent });
}
