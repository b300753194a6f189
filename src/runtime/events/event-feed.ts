/** A reader of events: first the events that a log already has after its cursor, then new ones, without gaps or duplicates. */
import type { RuntimeEvent } from "../../core/event.ts";
import type { Clock } from "../../core/ports.ts";
import type { EventTail, TailPage } from "./event-tail.ts";
import { isEvent } from "./event-window.ts";
import type { FeedItem } from "./feed-item.ts";

/** Maximum number of items returned at a time. */
const MAX_ITEMS = 256;

interface EventFeedOptions {
  /** Called once, on the first read. */
  readonly join: () => Promise<EventTail>;
  readonly after: string | undefined;
  readonly matches: ((event: RuntimeEvent) => boolean) | undefined;
  readonly signal: AbortSignal | undefined;
  readonly clock: Clock;
  /** Called once, when the feed is closed. */
  readonly onClose: (tail: EventTail) => void;
}

/**
 * A reader of events, made by `Runtime.events`. It reads only as fast as its consumer: events of logs stay in the log, and of live-only events the
 * latest wait in memory. If the consumer is too slow for these, it gets an `EventGap` in their place.
 */
export class EventFeed implements AsyncIterable<FeedItem> {
  readonly #options: EventFeedOptions;
  #tail: EventTail | undefined;
  #joining: Promise<EventTail> | undefined;
  /** Cursor of the last durable event that was read, whether or not it passed the filter. */
  #cursor: string | undefined;
  /** The feed's index in the window of the tail; undefined while it is behind the window. */
  #index: number | undefined;
  /** Live-only events before this index of the window happened before the feed joined. */
  #liveFrom = 0;
  /** How many live-only events there were up to the feed's place. */
  #liveSeen = 0;
  #isClosed = false;
  #onWake: (() => void) | undefined;

  constructor(options: EventFeedOptions) {
    this.#options = options;
    options.signal?.addEventListener("abort", this.#onAbort, { once: true });
    if (options.signal?.aborted === true) this.close();
  }

  /** The cursor to continue after, for another reader; undefined before the first read. */
  get cursor(): string | undefined {
    return this.#cursor;
  }

  /**
   * Joins at its cursor, as the first `read` does; idempotent.
   *
   * @throws ToolError `gone` if the log no longer has the events after `after`, `not_found`, `invalid_argument`, `store_failed`; as a rejection
   */
  async begin(): Promise<void> {
    await this.#joinOnce();
  }

  /**
   * Returns the available events, at most 256; waits for the first one. An empty array = the feed was closed, or the session has ended.
   *
   * @throws ToolError as `begin`; `corrupt_record` in place of a damaged event, and `not_found` once the session was removed, about ten
   * seconds later if another process removed it; as a rejection
   */
  async read(): Promise<readonly FeedItem[]> {
    const tail = await this.#joinOnce();
    while (!this.#isClosed) {
      if (tail.failure !== undefined) throw tail.failure;
      const items = this.#index === undefined ? await this.#readBehind(tail) : this.#readWindow(tail);
      if (items.length > 0) return items;
      if (this.#index === undefined || this.#index < tail.window.end) continue;
      if (tail.hasEnded) break;
      await this.#waitForEvents(tail);
    }
    return [];
  }

  /**
   * Returns durable events after the feed's cursor without waiting. The filter is not applied.
   *
   * @throws ToolError as `read`, as a rejection
   */
  async readKept(limit: number): Promise<{ readonly items: readonly FeedItem[]; readonly isEnd: boolean }> {
    const tail = await this.#joinOnce();
    const page = await tail.readLogged(this.#cursor ?? "0");
    const items = page.items.slice(0, limit);
    this.#index = undefined;
    this.#cursor = items.at(-1)?.cursor ?? page.cursor;
    return { items, isEnd: page.isEnd && items.length === page.items.length };
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<FeedItem> {
    try {
      for (let items = await this.read(); items.length > 0; items = await this.read()) yield* items;
    } finally {
      this.close();
    }
  }

  /** Closes the feed; a pending `read` resolves to an empty array. Idempotent. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#options.signal?.removeEventListener("abort", this.#onAbort);
    this.wake();
    if (this.#tail === undefined) return;
    this.#tail.removeWaiter(this);
    this.#options.onClose(this.#tail);
  }

  /** @internal */
  wake(): void {
    const woken = this.#onWake;
    this.#onWake = undefined;
    woken?.();
  }

  readonly #onAbort = (): void => this.close();

  #joinOnce(): Promise<EventTail> {
    return (this.#joining ??= this.#join());
  }

  async #join(): Promise<EventTail> {
    const tail = await this.#options.join();
    if (this.#isClosed) {
      this.#options.onClose(tail);
      return tail;
    }
    this.#tail = tail;
    try {
      const { after } = this.#options;
      const cursor = after === undefined ? await tail.startCursor() : tail.normalize(after);
      await tail.checkCursor(cursor);
      this.#cursor = cursor;
      this.#liveFrom = tail.window.end;
      this.#liveSeen = tail.window.liveBefore(tail.window.end);
      return tail;
    } catch (thrown: unknown) {
      this.close();
      throw thrown;
    }
  }

  /** Waits for new events, which keeps the process alive. */
  async #waitForEvents(tail: EventTail): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { clock } = this.#options;
    this.#onWake = resolve;
    tail.addWaiter(this);
    clock.hold?.();
    await promise;
    clock.release?.();
  }

  /** Enters the window, or reads a page of the events before it. */
  async #readBehind(tail: EventTail): Promise<readonly FeedItem[]> {
    const { window } = tail;
    const cursor = this.#cursor ?? "0";
    const index = window.indexAfter(cursor);
    if (index === undefined) {
      const page = cutAtWindow(await tail.page(cursor), window.base);
      this.#cursor = page.cursor;
      // A log that was read to its end is in the window, or will be in a moment.
      if (page.items.length === 0 && window.indexAfter(page.cursor) === undefined) await tail.catchUp();
      return this.#filterItems(page.items);
    }
    this.#index = index;
    const from = Math.max(index, this.#liveFrom);
    const missed = window.liveBefore(from) - this.#liveSeen;
    this.#liveSeen = window.liveBefore(from);
    return missed > 0 && this.#options.matches === undefined
      ? [Object.freeze({ gap: Object.freeze({ missed, of: "live" as const }) })]
      : [];
  }

  #readWindow({ window }: EventTail): readonly FeedItem[] {
    let index = this.#index ?? window.end;
    if (index < window.start) {
      this.#index = undefined;
      return [];
    }
    const items: FeedItem[] = [];
    for (; index < window.end && items.length < MAX_ITEMS; index++) {
      const item = window.item(index);
      if (item === undefined) break;
      if (item.cursor !== undefined) this.#cursor = item.cursor;
      else if (index < this.#liveFrom) continue;
      items.push(item);
    }
    this.#index = index;
    this.#liveSeen = Math.max(this.#liveSeen, window.liveBefore(index));
    return this.#filterItems(items);
  }

  #filterItems(items: readonly FeedItem[]): readonly FeedItem[] {
    const { matches } = this.#options;
    return items.filter((item) => (isEvent(item) ? matches === undefined || matches(item.event) : item.gap.missed > 0));
  }
}

/** Only the events before the window, because inside the window they are in order with live-only events. */
function cutAtWindow(page: TailPage, base: string | undefined): TailPage {
  const last = base === undefined ? -1 : page.items.findIndex(({ cursor }) => cursor === base);
  return last < 0 ? page : { ...page, items: page.items.slice(0, last + 1), cursor: base ?? page.cursor };
}
