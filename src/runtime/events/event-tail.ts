/** The end of a log, or of all logs, as readers follow it: new events are read once for all of them. */
import { addTo } from "../../core/base/add-to.ts";
import { ToolError } from "../../core/error.ts";
import type { RuntimeEvent, SessionEvent } from "../../core/event.ts";
import { onNextTurn } from "../../core/system/lazy-timer.ts";
import type { Ports } from "../../core/ports.ts";
import { EventWindow, isEvent } from "./event-window.ts";
import type { FeedItem } from "./feed-item.ts";

/** Events of a log after a cursor. */
export interface TailPage {
  readonly items: readonly FeedItem[];
  /** Cursor of the last item; without items, the cursor that was asked for. */
  readonly cursor: string;
  readonly isEnd: boolean;
}

/** A reader that waits for events. */
export interface TailReader {
  wake(): void;
}

/** The parts that all tails of a runtime have in common. */
export interface SharedTailOptions {
  /** Events read from a log; listeners may get the same objects. */
  readonly logged: WeakSet<RuntimeEvent>;
  readonly ports: Pick<Ports, "clock" | "log">;
}

export interface EventTailOptions extends SharedTailOptions {
  /** Minimum number of events that stay in the window. */
  readonly keep: number;
}

/** How soon a log is read again after a failure, in milliseconds: there may be no further signal for the same events. */
const RETRY_MS = 500;

export abstract class EventTail {
  readonly window: EventWindow;
  readonly #ports: EventTailOptions["ports"];
  readonly #waiters = new Set<TailReader>();
  /** Pages that are being read, by cursor. */
  readonly #reading = new Map<string, Promise<TailPage>>();
  readonly #logged: WeakSet<RuntimeEvent>;
  readonly #live = new LiveEvents();
  #isDue = false;
  #catchingUp: Promise<void> | undefined;
  #hasEnded = false;
  #failure: ToolError | undefined;
  /** Set while a retry after a failed read is scheduled. */
  #cancelRetry: (() => void) | undefined;
  /** The failure to read the log was logged, and no read has succeeded since. */
  #isWarned = false;
  readers = 0;

  constructor({ keep, logged, ports }: EventTailOptions) {
    this.window = new EventWindow(keep);
    this.#logged = logged;
    this.#ports = ports;
  }

  /** The cursor at which a reader without `after` begins. */
  abstract startCursor(): Promise<string>;

  /** Converts a cursor to the form of this tail. */
  normalize(cursor: string): string {
    return cursor;
  }

  /** Refuses a cursor after which events cannot be read. @throws ToolError `gone`, `not_found`, `invalid_argument`, as a rejection */
  abstract checkCursor(cursor: string): Promise<void>;
  /** Reads durable events after a cursor. */
  protected abstract read(cursor: string): Promise<TailPage>;

  /** Waits until the events of these sessions that have happened can be read. */
  protected async waitUntilReadable(_sessionIds: Iterable<string>): Promise<void> {}

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  get failure(): ToolError | undefined {
    return this.#failure;
  }

  /** Notes an event that listeners got when the log of its session had this length. */
  noteEvent(event: RuntimeEvent, sessionId: string, length: number): void {
    this.#live.add(event, sessionId, length);
    this.wake();
  }

  /** Schedules a read, because there may be new events. */
  wake(): void {
    if (this.#isDue || this.#hasEnded) return;
    this.#isDue = true;
    onNextTurn(() => void this.catchUp()); // reads events of the same tick together, once their own commit has begun
  }

  /** Reads new events. Never rejects. */
  catchUp(): Promise<void> {
    this.#isDue = false;
    this.#catchingUp = (this.#catchingUp ?? Promise.resolve()).then(() => this.#catchUp());
    return this.#catchingUp;
  }

  /** Reads a page for readers that are behind the window; concurrent requests for the same page share one read. */
  async page(cursor: string): Promise<TailPage> {
    let reading = this.#reading.get(cursor);
    if (reading === undefined) {
      reading = this.read(cursor).finally(() => this.#reading.delete(cursor));
      this.#reading.set(cursor, reading);
    }
    const page = await reading;
    if (page.isEnd) this.startAt(page.cursor);
    return page;
  }

  /** Returns durable events after a cursor, without waiting for more. */
  readLogged(cursor: string): Promise<TailPage> {
    return this.page(cursor);
  }

  /** Wakes the reader, once, when there may be more to read. */
  addWaiter(reader: TailReader): void {
    this.#waiters.add(reader);
  }

  removeWaiter(reader: TailReader): void {
    this.#waiters.delete(reader);
  }

  #wakeReaders(): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const reader of waiters) reader.wake();
  }

  /** Ends the tail: readers get what is in memory, and nothing more. */
  end(): void {
    this.#hasEnded = true;
    this.#cancelRetry?.();
    this.#wakeReaders();
  }

  protected fail(error: ToolError): void {
    this.#failure ??= error;
    this.#wakeReaders();
  }

  /** Sets where the window begins in the log. Only the first call counts. */
  protected startAt(cursor: string): void {
    if (this.window.cursor !== undefined) return;
    this.window.startAt(cursor);
    this.wake(); // for events that arrived meanwhile
  }

  /** Notes events of a log, so that they are not also shown as live-only events when listeners get them. */
  protected markLogged(events: readonly SessionEvent[]): void {
    for (const event of events) this.#logged.add(event);
  }

  async #catchUp(): Promise<void> {
    const { window } = this;
    if (window.cursor === undefined || this.#failure !== undefined || this.#hasEnded) return;
    const live = this.#live.takeAll();
    try {
      await this.waitUntilReadable(live.sessions);
      for (let isEnd = false; !isEnd;) {
        const page = await this.read(window.cursor);
        for (const item of page.items) this.#push(item, live);
        if (page.items.length === 0) break;
        ({ isEnd } = page);
      }
      this.#isWarned = false;
    } catch (thrown: unknown) {
      // Which of these events the log will have is not known: those will be read later, with their position.
      live.dropped += live.remaining().length;
      this.#handleReadFailure(ToolError.fromUnknown(thrown, "store_failed"));
    }
    if (live.dropped > 0) window.push(Object.freeze({ gap: Object.freeze({ missed: live.dropped, of: "live" as const }) }));
    else this.#pushLive(live.remaining());
    this.#wakeReaders();
  }

  #push(item: FeedItem, live: LiveEvents): void {
    if (isEvent(item) && item.position !== undefined) this.#pushLive(live.takeBefore(item.sessionId, item.position));
    this.window.push(item);
  }

  #pushLive(events: readonly RuntimeEvent[]): void {
    for (const event of events) if (!this.#logged.has(event)) this.window.push({ event });
  }

  /** Handles a failed read: a failing store is read again later. */
  #handleReadFailure(error: ToolError): void {
    if (error.code !== "store_failed") return this.fail(error);
    if (this.#hasEnded || this.readers === 0) return; // the store may have been closed since
    const { clock, log } = this.#ports;
    if (!this.#isWarned) log.warn(`The next events could not be read; it is tried again later: ${error.message}`);
    this.#isWarned = true;
    const retry = (): void => {
      this.#cancelRetry = undefined;
      if (this.readers > 0) this.wake();
    };
    this.#cancelRetry ??= clock.timer(retry, RETRY_MS, { background: true });
  }
}

interface QueuedEvent {
  readonly event: RuntimeEvent;
  /** Length of its session's log at that time: the event comes after that many events. */
  readonly length: number;
}

/** Maximum number of waiting events; more are dropped. */
const MAX_WAITING = 10_000;

/** Events as listeners got them, until it is known which of them a log has. */
class LiveEvents {
  /** By session; events without a session under the empty id. */
  #bySession = new Map<string, QueuedEvent[]>();
  #count = 0;
  /** How many events were dropped. */
  dropped = 0;

  add(event: RuntimeEvent, sessionId: string, length: number): void {
    if (event.type === "output-keep") return; // the log has it, without its output
    if (this.#count >= MAX_WAITING) {
      this.dropped++;
      return;
    }
    this.#count++;
    addTo(this.#bySession, sessionId, { event, length });
  }

  get sessions(): Iterable<string> {
    return this.#bySession.keys();
  }

  /** Takes all waiting events; later ones wait for the next call. */
  takeAll(): LiveEvents {
    const taken = new LiveEvents();
    taken.#bySession = this.#bySession;
    taken.#count = this.#count;
    taken.dropped = this.dropped;
    this.dropped = 0;
    this.#bySession = new Map();
    this.#count = 0;
    return taken;
  }

  /** Removes and returns the events that come before an event of a log. */
  takeBefore(sessionId: string, position: number): readonly RuntimeEvent[] {
    const queued = this.#bySession.get(sessionId);
    if (queued === undefined) return NONE;
    const end = queued.findIndex(({ length }) => length >= position);
    return queued.splice(0, end < 0 ? queued.length : end).map(({ event }) => event);
  }

  /** The remaining events. */
  remaining(): readonly RuntimeEvent[] {
    return [...this.#bySession.values()].flat().map(({ event }) => event);
  }
}

const NONE: readonly RuntimeEvent[] = Object.freeze([]);
