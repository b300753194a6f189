/** The end of all logs of a store, in the order in which their events became durable. Its cursors are marks of the store's feed. */
import { pushAll } from "../../core/collections/push-all.ts";
import { ToolError } from "../../core/error.ts";
import { CopiedEventsFinder, findLastCopied } from "../../core/copied-events.ts";
import type { SessionEvent } from "../../core/event.ts";
import type { Store } from "../../core/store/store.ts";
import type { FeedEntry } from "../../core/store/store-feed.ts";
import { EventTail, type SharedTailOptions, type TailPage } from "./event-tail.ts";
import type { FeedItem } from "./feed-item.ts";
import { durableLength, toFeedItem, type LogSource } from "./log-source.ts";

const WINDOW_SIZE = 2_000;
const PAGE = 500;
/** Maximum number of sessions for which the end of the events copied from a snapshot is remembered. */
const MAX_REMEMBERED = 10_000;

export interface StoreTailOptions extends SharedTailOptions {
  readonly store: Store;
  readonly source: LogSource;
}

/** Events of one session in a page, with consecutive positions. */
interface EventRun {
  readonly first: number;
  count: number;
}

export class StoreTail extends EventTail {
  readonly #store: Store;
  readonly #source: LogSource;
  /** Position of the last event that came from a snapshot, by session. */
  readonly #copiedUntil = new Map<string, number>();

  constructor({ store, source, logged, ports }: StoreTailOptions) {
    super({ keep: WINDOW_SIZE, logged, ports });
    this.#store = store;
    this.#source = source;
  }

  startCursor(): Promise<string> {
    return this.#store.feed.latest();
  }

  async checkCursor(cursor: string): Promise<void> {
    await this.#store.feed.read({ after: cursor, limit: 1 });
    if (this.window.cursor === undefined) this.startAt(await this.#store.feed.latest());
  }

  protected override async waitUntilReadable(sessionIds: Iterable<string>): Promise<void> {
    for (const sessionId of sessionIds) {
      const session = this.#source.findOpenSession(sessionId);
      if (session !== undefined) await durableLength(session);
    }
  }

  protected async read(cursor: string): Promise<TailPage> {
    const { entries, isFull } = await this.#store.feed.read({ after: cursor, limit: PAGE });
    const runs = new Map<string, EventRun>();
    for (const { sessionId, position } of entries) {
      this.#source.noteStored(sessionId, position);
      const run = runs.get(sessionId);
      if (run === undefined) runs.set(sessionId, { first: position, count: 1 });
      else run.count = position - run.first + 1;
    }
    const found = new Map<string, FoundRun>();
    for (const [sessionId, run] of runs) {
      const events = await this.#readEvents(sessionId, run);
      found.set(sessionId, { first: run.first, events, copiedUntil: await this.#readCopiedUntil(sessionId, run.first, events) });
    }
    const items = entries.map((entry) => toItem(entry, found.get(entry.sessionId)));
    return { items, cursor: entries.at(-1)?.mark ?? cursor, isEnd: !isFull };
  }

  /** Returns as many of the events as can be read; undefined if the session was removed since. */
  async #readEvents(sessionId: string, { first, count }: EventRun): Promise<readonly SessionEvent[] | undefined> {
    const events: SessionEvent[] = [];
    try {
      while (events.length < count) {
        const page = await this.#source.read(sessionId, first - 1 + events.length, { limit: count - events.length });
        pushAll(events, page.events);
        if (page.events.length === 0) break;
      }
    } catch (thrown: unknown) {
      const { code } = ToolError.fromUnknown(thrown, "store_failed");
      if (code === "not_found") return undefined;
      if (code !== "corrupt_record") throw thrown;
    }
    this.markLogged(events);
    return events;
  }

  async #readCopiedUntil(sessionId: string, first: number, events: readonly SessionEvent[] | undefined): Promise<number> {
    if (events === undefined) return 0;
    const known = first === 1 ? undefined : this.#copiedUntil.get(sessionId);
    const last = known ?? (await this.#findCopiedUntil(sessionId, first === 1 ? events[0] : await this.#readFirstEvent(sessionId)));
    if (this.#copiedUntil.size >= MAX_REMEMBERED) this.#copiedUntil.clear();
    this.#copiedUntil.set(sessionId, last);
    return last;
  }

  /**
   * Finds the last event that came from a snapshot. If the first event is of another session, this is an imported branch, which may have begun before
   * the end of the snapshot's events.
   */
  async #findCopiedUntil(sessionId: string, start: SessionEvent | undefined): Promise<number> {
    const last = findLastCopied(start);
    if (last === 0 || start?.sessionId === sessionId) return last;
    const copiedFinder = new CopiedEventsFinder();
    let position = 0;
    let isFound = false;
    while (!isFound) {
      const { events } = await this.#source.read(sessionId, position, { limit: PAGE });
      for (const event of events) {
        copiedFinder.add(event, ++position);
        isFound ||= position > last && event.sessionId === sessionId; // after the session's own start, there are no events of an earlier session
      }
      if (events.length === 0) break;
    }
    return copiedFinder.findLast(sessionId);
  }

  /** The first event of a session; undefined if it cannot be read, and for a branch, whose own events come after everything that it began with. */
  async #readFirstEvent(sessionId: string): Promise<SessionEvent | undefined> {
    const [stored] = await this.#store.list({ sessionId });
    if (stored === undefined || stored.parent !== undefined) return undefined;
    return (await this.#readEvents(sessionId, { first: 1, count: 1 }))?.[0];
  }
}

/** The events of a run, as far as they could be read; undefined if the session was removed since. */
interface FoundRun {
  readonly first: number;
  readonly events: readonly SessionEvent[] | undefined;
  /** Position of the last event that came from a snapshot: such events happened elsewhere, and earlier. */
  readonly copiedUntil: number;
}

/** The feed item of an entry. Events that were removed or came from a snapshot leave only their cursor; damaged events count as missed. */
function toItem({ sessionId, position, mark }: FeedEntry, run: FoundRun | undefined): FeedItem {
  const event = run?.events?.[position - run.first];
  const isLeftOut = run?.events === undefined || position <= run.copiedUntil;
  if (event !== undefined && !(isLeftOut && position > 1)) return toFeedItem(event, sessionId, position, mark);
  return Object.freeze({ gap: Object.freeze({ missed: isLeftOut ? 0 : 1, of: "damaged" as const }), cursor: mark });
}
