/** All events of a session that a store keeps, page by page. */
import { ToolError } from "../core/error.ts";
import { checkStore, checkText } from "../core/check-argument.ts";
import type { SessionEvent } from "../core/event.ts";
import type { EventPage, LogDamage, ReadOptions, Store } from "../core/store.ts";

const PAGE = 1_000;

/** As much of a log as is read of it at once. */
export interface ReadableLog {
  readonly sessionId: string;
  read(options: ReadOptions): Promise<EventPage>;
}

/**
 * Reads a log from a position on, which counts from 0, the oldest event first.
 *
 * @throws ToolError `corrupt_record` after the last event before a damage
 */
export async function* readEvents(log: ReadableLog, from: number = 0): AsyncGenerator<SessionEvent> {
  for await (const events of readEventPages(log, from)) yield* events;
}

/** The same, in the pages that the store gives. */
export async function* readEventPages(log: ReadableLog, from: number = 0): AsyncGenerator<readonly SessionEvent[]> {
  const ahead = new PagesAhead(log);
  let page = await log.read({ from: from + 1, limit: PAGE });
  for (;;) {
    const { events, damage, next } = page;
    // The store reads on while this page is used.
    const following = damage !== undefined || next === undefined ? undefined : ahead.take(next, events.length === PAGE);
    if (events.length > 0) yield events;
    if (damage !== undefined) throw damagedLog(log.sessionId, damage);
    if (following === undefined) return;
    page = await following;
  }
}

/** Two pages, so that the store has one to read while the answer with the other is parsed. */
class PagesAhead {
  readonly #log: ReadableLog;
  #guess: { readonly from: number; readonly page: Promise<EventPage> } | undefined;

  constructor(log: ReadableLog) {
    this.#log = log;
  }

  /** @param isFull the page before it was: then this one may be as well, which says where the one behind it begins */
  take(from: number, isFull: boolean): Promise<EventPage> {
    const page = this.#guess?.from === from ? this.#guess.page : this.#read(from);
    this.#guess = isFull ? { from: from + PAGE, page: this.#read(from + PAGE) } : undefined;
    return page;
  }

  #read(from: number): Promise<EventPage> {
    const page = this.#log.read({ from, limit: PAGE });
    page.catch(() => {}); // reported where it is waited for, if it is
    return page;
  }
}

/** Reads every event of a session that a store has, claimed by others or not. @throws ToolError `not_found`; `corrupt_record` as `readEvents` */
export function storedEvents(store: Store, sessionId: string): AsyncGenerator<SessionEvent> {
  checkStore(store, "storedEvents(store, sessionId)");
  checkText(sessionId, "storedEvents(store, sessionId)", "the id of a session");
  return readEvents({ sessionId, read: (options) => store.read(sessionId, options) });
}

/** The error for a log that cannot be read on. Another process may be able to, where a newer version has written it: that error may be tried again. */
export function damagedLog(sessionId: string, { position, reason, isNewer = false }: LogDamage): ToolError {
  const session = JSON.stringify(sessionId);
  const before =
    position === 1
      ? "No event before it can be read."
      : `The ${position - 1 === 1 ? "event" : `${position - 1} events`} before it can be read and exported.`;
  if (!isNewer)
    return new ToolError("corrupt_record", `The log of session ${session} is damaged at event ${position}: ${reason}`, { hint: before });
  return new ToolError("corrupt_record", `The log of session ${session} cannot be read from event ${position} on: ${reason}`, {
    retryable: true,
    hint: `Nothing was changed. Open the session with the version that wrote it. ${before}`,
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
