/** All events of a session that a store keeps, page by page. */
import { ToolError } from "../core/error.ts";
import type { SessionEvent } from "../core/event.ts";
import type { EventPage, ReadOptions, Store } from "../core/store.ts";

const PAGE = 1_000;

/**
 * Reads a log from a position on, which counts from 0, the oldest event first.
 *
 * @throws ToolError `corrupt_record` after the last event before a damage
 */
export async function* readEvents(
  log: { readonly sessionId: string; read(options: ReadOptions): Promise<EventPage> },
  from: number = 0,
): AsyncGenerator<SessionEvent> {
  let ahead: Promise<EventPage> | undefined = log.read({ from: from + 1, limit: PAGE });
  while (ahead !== undefined) {
    const page: EventPage = await ahead;
    const { damage, next } = page;
    // The store reads the next page while this one is used.
    ahead = damage !== undefined || next === undefined ? undefined : log.read({ from: next, limit: PAGE });
    ahead?.catch(() => {}); // reported when it is waited for
    yield* page.events;
    if (damage !== undefined) throw damaged(log.sessionId, damage.position, damage.reason);
  }
}

/** Reads every event of a session that a store has, claimed by others or not. @throws ToolError `not_found`; `corrupt_record` as `readEvents` */
export function storedEvents(store: Store, sessionId: string): AsyncGenerator<SessionEvent> {
  return readEvents({ sessionId, read: (options) => store.read(sessionId, options) });
}

function damaged(sessionId: string, position: number, reason: string): ToolError {
  return new ToolError("corrupt_record", `The log of session ${JSON.stringify(sessionId)} is damaged at event ${position}: ${reason}`, {
    hint:
      position === 1
        ? "No event before it can be read."
        : `The ${position - 1 === 1 ? "event" : `${position - 1} events`} before it can be read and exported.`,
  });
}

/** The first so many. */
export async function* take<T>(items: AsyncIterable<T>, count: number): AsyncGenerator<T> {
  let left = count;
  if (left <= 0) return;
  for await (const item of items) {
    yield item;
    if (--left === 0) return;
  }
}
