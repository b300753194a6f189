/** Adds what a person or a program said to a session. */
import type { SessionMessage } from "../core/message.ts";
import { checkSentBy, type SentBy } from "../core/sent-by.ts";
import type { MakeEvent } from "../session/inbox.ts";
import { readMessage } from "../session/read-message.ts";
import { recordMessage } from "../session/record-message.ts";
import { closedSession } from "./session-errors.ts";
import { type RuntimeSession } from "./runtime-session.ts";
import { whenStored } from "./when-stored.ts";
import { callerIn } from "../session/turn.ts";

/** Records it between two turns, or in the turn whose handler says it. Resolves when it is durable. */
export async function addMessage(session: RuntimeSession, message: SessionMessage, options: SentBy): Promise<void> {
  checkSentBy(options, "addMessage()");
  const read = readMessage(message);
  if (session.closed) throw closedSession(session);
  if (session.ready !== undefined) await session.ready;
  await session.turns.run((turn, caller) => {
    const refusal = session.closed ? closedSession(session) : session.broken;
    if (refusal !== undefined) throw refusal;
    recordMessage(session, read, { at: session.ports.clock.wallTime(), madeIn: callerIn(turn, caller), ...options });
  });
  await whenStored(session);
}

/** Records what comes from outside, whatever runs; `make` is called when the session can take it. Resolves when it is durable. */
export async function recordReceived(session: RuntimeSession, make: MakeEvent): Promise<boolean> {
  if (session.ready !== undefined) await session.ready;
  const refusal = session.closed ? closedSession(session) : session.broken;
  if (refusal !== undefined) throw refusal;
  const event = make({ sessionId: session.id, inbox: session.received, ports: session.ports });
  if (event !== undefined) session.recordAndTell(event);
  await whenStored(session);
  return event !== undefined;
}
