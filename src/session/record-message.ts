/** Records a message of a person or a program. */
import { omitUndefined } from "../core/base/omit-undefined.ts";
import type { SessionMessage } from "../core/message.ts";
import type { Session } from "./session.ts";
import type { TurnCall } from "./turn-queue.ts";

/** @param place.parentCall the call whose handler adds the message: if that call is voided, so is the message */
export function recordMessage(
  session: Session,
  message: SessionMessage,
  place: { readonly at: number; readonly parentCall: TurnCall | undefined; readonly principal?: string | undefined },
): void {
  const { at, parentCall, principal } = place;
  const optional = omitUndefined({ parentCallId: parentCall?.callId, principal });
  session.recordAndNotify({ type: "message-add", sessionId: session.id, at, message, ...optional });
}
