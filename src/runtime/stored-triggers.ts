/** The triggers of sessions of a store, read and paused from the logs alone: of sessions that no process needs to have open. */
import { ToolError } from "../core/error.ts";
import type { Ports } from "../core/ports.ts";
import type { Store, StoredSession } from "../core/store.ts";
import { pausing } from "../session/inbox-events.ts";
import { Inbox, isInboxEvent, type StoredTrigger } from "../session/inbox.ts";
import { readEventPages } from "../session/read-events.ts";
import { endLeftOpen } from "./end-stored-calls.ts";

/** The triggers of a session, in the order they were added. @throws ToolError `not_found`, `corrupt_record` */
export async function storedTriggers(store: Store, { sessionId, parent }: StoredSession): Promise<readonly StoredTrigger[]> {
  const log = { sessionId, read: store.read.bind(store, sessionId) };
  return (await inboxOf(log, parent?.length)).triggers;
}

/**
 * Pauses a trigger, or resumes it, in the log of a session that no process has open. Resolves when that is durable, to the trigger as it is then.
 *
 * @throws ToolError `resource_busy` where a process has it open; `not_found`; `corrupt_record`; `store_failed`. By rejecting
 */
export async function pauseStoredTrigger(
  store: Store,
  { sessionId, parent }: StoredSession,
  { id, paused, ports }: { readonly id: string; readonly paused: boolean; readonly ports: Ports },
): Promise<StoredTrigger> {
  const log = await store.claim(sessionId);
  try {
    await endLeftOpen(store, log, ports.clock.wallTime());
    const inbox = await inboxOf(log, parent?.length);
    const events = pausing(id, paused)({ sessionId, inbox, ports });
    if (events.length > 0) {
      log.append(events);
      await log.whenDurable();
    }
    for (const event of events) if (isInboxEvent(event)) inbox.notice(event);
    const trigger = inbox.trigger(id);
    if (trigger === undefined) throw new ToolError("not_found", `The trigger ${JSON.stringify(id)} was removed meanwhile.`);
    return trigger;
  } finally {
    await log.close();
  }
}

/** The triggers of the session that it is a branch of stay with that one. */
async function inboxOf(log: Parameters<typeof readEventPages>[0], from = 0): Promise<Inbox> {
  const inbox = new Inbox();
  for await (const events of readEventPages(log, from)) for (const event of events) if (isInboxEvent(event)) inbox.notice(event);
  return inbox;
}
