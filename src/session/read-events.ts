/** Reads all events of a session from a store, page by page. */
import { ToolError } from "../core/error.ts";
import { checkStore, checkString } from "../core/check-argument.ts";
import type { SessionEvent } from "../core/event.ts";
import type { EventPage, LogDamage, ReadOptions, Store } from "../core/store/store.ts";

const PAGE = 1_000;

/** A log, as far as reading needs it. */
export interface ReadableLog {
  readonly sessionId: string;
  read(options: ReadOptions): Promise<EventPage>;
}

/**
 * Reads a log from a position on, oldest event first. Positions start at 0.
 *
 * @throws ToolError `corrupt_record` after the last event before the damage
 */
export async function* readEvents(log: ReadableLog, from: number = 0): AsyncGenerator<SessionEvent> {
  for await (const events of readEventPages(log, from)) yield* events;
}

/** Like `readEvents`, but yields the pages of the store. */
export async function* readEventPages(log: ReadableLog, from: number = 0): AsyncGenerator<readonly SessionEvent[]> {
  const ahead = new PagePrefetcher(log);
  let page = await log.read({ from: from + 1, limit: PAGE });
  for (;;) {
    const { events, damage, next } = page;
    // The store reads the next page while this one is used.
    const following = damage !== undefined || next === undefined ? undefined : ahead.nextPage(next, events.length === PAGE);
    if (events.length > 0) yield events;
    if (damage !== undefined) throw damagedLogError(log.sessionId, damage);
    if (following === undefined) return;
    page = await following;
  }
}

/** Requests two pages at a time, so that the store reads one while the other is parsed. */
class PagePrefetcher {
  readonly #log: ReadableLog;
  #guess: { readonly from: number; readonly page: Promise<EventPage> } | undefined;

  constructor(log: ReadableLog) {
    this.#log = log;
  }

  /** @param isFull whether the previous page was full: then this one may be too, and the page after it begins at a known position */
  nextPage(from: number, isFull: boolean): Promise<EventPage> {
    const page = this.#guess?.from === from ? this.#guess.page : this.#read(from);
    this.#guess = isFull ? { from: from + PAGE, page: this.#read(from + PAGE) } : undefined;
    return page;
  }

  #read(from: number): Promise<EventPage> {
    const page = this.#log.read({ from, limit: PAGE });
    page.catch(() => {}); // reported where the page is awaited, if it is
    return page;
  }
}

/** Reads every event of a stored session, claimed by another process or not. @throws ToolError `not_found`; `corrupt_record` as `readEvents` */
export function storedEvents(store: Store, sessionId: string): AsyncGenerator<SessionEvent> {
  checkStore(store, "storedEvents(store, sessionId)");
  checkString(sessionId, "storedEvents(store, sessionId)", "the id of a session");
  return readEvents({ sessionId, read: (options) => store.read(sessionId, options) });
}

/** Returns the error for a damaged log. It is retryable if a newer version of Haft wrote the log, because a process with that version can read it. */
export function damagedLogError(sessionId: string, { position, reason, isNewer = false }: LogDamage): ToolError {
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

/** A session, as far as reading its events needs it. */
interface ReadableSession {
  readonly eventLog: ReadableLog | undefined;
  readonly broken: ToolError | undefined;
  readonly firstKept: number;
  readonly log: readonly SessionEvent[];
}

/** All events of a session: those in memory if that is all of them, or if its stored log belongs to another process now. */
export function wholeLog(session: ReadableSession): Iterable<SessionEvent> | AsyncIterable<SessionEvent> {
  const { eventLog, firstKept, broken } = session;
  return eventLog === undefined || firstKept === 0 || broken !== undefined ? session.log : readEvents(eventLog);
}

/** Yields the first `count` items. */
export async function* takeFirst<T>(items: AsyncIterable<T>, count: number): AsyncGenerator<T> {
  let left = count;
  if (left <= 0) return;
  for await (const item of items) {
    yield item;
    if (--left === 0) return;
  }
}
