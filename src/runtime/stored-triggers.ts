/** The triggers of stored sessions, read and paused in their logs, so that no process needs to have the sessions open. */
import { ToolError } from "../core/error.ts";
import type { Ports } from "../core/ports.ts";
import type { Store, StoredSession } from "../core/store/store.ts";
import { createPauseEvents } from "../session/inbox-events.ts";
import { Inbox, isInboxEvent, type StoredTrigger } from "../session/inbox.ts";
import { readEventPages } from "../session/read-events.ts";
import { endSessionsLeftOpen } from "./resume/end-stored-calls.ts";

/** The triggers of a session, in the order in which they were added. @throws ToolError `not_found`, `corrupt_record` */
export async function readStoredTriggers(store: Store, { sessionId, parent }: StoredSession): Promise<readonly StoredTrigger[]> {
  const log = { sessionId, read: store.read.bind(store, sessionId) };
  return (await readInbox(log, parent?.length)).triggers;
}

/**
 * Pauses or resumes a trigger in the log of a session that no process has open. Resolves to the updated trigger when that is durable.
 *
 * @throws ToolError `resource_busy` if a process has the session open; `not_found`; `corrupt_record`; `store_failed`; as a rejection
 */
export async function pauseStoredTrigger(
  store: Store,
  { sessionId, parent }: StoredSession,
  { id, paused, ports }: { readonly id: string; readonly paused: boolean; readonly ports: Ports },
): Promise<StoredTrigger> {
  const log = await store.claim(sessionId);
  try {
    await endSessionsLeftOpen(store, log, ports.clock.wallTime());
    const inbox = await readInbox(log, parent?.length);
    const events = createPauseEvents(id, paused)({ sessionId, inbox, ports });
    if (events.length > 0) {
      log.append(events);
      await log.whenDurable();
    }
    for (const event of events) if (isInboxEvent(event)) inbox.apply(event);
    const trigger = inbox.trigger(id);
    if (trigger === undefined) throw new ToolError("not_found", `The trigger ${JSON.stringify(id)} was removed meanwhile.`);
    return trigger;
  } finally {
    await log.close();
  }
}

/** The inbox of a session, without the triggers of the session that it branched from. */
async function readInbox(log: Parameters<typeof readEventPages>[0], from = 0): Promise<Inbox> {
  const inbox = new Inbox();
  for await (const events of readEventPages(log, from)) for (const event of events) if (isInboxEvent(event)) inbox.apply(event);
  return inbox;
}
