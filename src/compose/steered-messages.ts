/** Messages sent to a loop with `steer`, to be added before its next request. */
import type { SessionMessage } from "../core/message.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";

/** Takes all messages. Inbox messages that another agent of the session has already taken are left out. */
export function takeSteeredMessages(steered: SessionMessage[], session: RuntimeSession): readonly SessionMessage[] {
  const waiting = new Set(session.inbox.map(({ id }) => id));
  return steered.splice(0).filter(({ inboxId }) => inboxId === undefined || waiting.has(inboxId));
}
