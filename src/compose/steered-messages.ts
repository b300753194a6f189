/** Messages that were given to a loop, to be said before its next request. */
import type { SessionMessage } from "../core/message.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";

/** Takes all of them; those of the session's inbox that another agent of the session has said are left out. */
export function takeSteered(steered: SessionMessage[], session: RuntimeSession): readonly SessionMessage[] {
  const waiting = new Set(session.inbox.map(({ id }) => id));
  return steered.splice(0).filter(({ inboxId }) => inboxId === undefined || waiting.has(inboxId));
}
