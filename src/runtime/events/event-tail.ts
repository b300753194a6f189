/** The end of a log, or of all logs, that readers follow: what is new is read once for all of them. */
import { ToolError } from "../../core/error.ts";
import type { RuntimeEvent, SessionEvent } from "../../core/event.ts";
import type { Ports } from "../../core/ports.ts";
import { EventWindow, isEvent } from "./event-window.ts";
import type { FeedItem } from "./feed-item.ts";

/** Events of a log, behind a cursor. */
export interface TailPage {
  readonly items: readonly FeedItem[];
  /** Of the last item; where there is none, the one that was asked for. */
  readonly cursor: string;
  readonly isEnd: boolean;
}

/** A reader that waits. */
export interface TailReader {
  wake(): void;
}

/** The parts that all tails of a runtime have in common. */
export interface SharedTailParts {
  /** Events that came from a log: the same objects may come from listeners. */
  readonly kept: WeakSet<RuntimeEvent>;
  readonly ports: Pick<Ports, "clock" | "log">;
}

export interface EventTailParts extends SharedTailParts {
  /** How many events stay in its window, at least. */
  readonly keep: number;
}

/** How soon a log is read again that could not be read: what moved it does not move it a second time. */
const AGAIN_MS = 500;

export abstract class EventTail {
  readonly window: EventWindow;
  readonly #ports: EventTailParts["ports"];
  readonly #waiters = new Set<TailReader>();
  /** Pages that are being read, by cursor. */
  readonly #reading = new Map<string, Promise<TailPage>>();
  readonly #kept: WeakSet<RuntimeEvent>;
  readonly #live = new LiveEvents();
  #isDue = false;
  #catchingUp: Promise<void> | undefined;
  #isOver = false;
  #failure: ToolError | undefined;
  /** Set while a log that could not be read waits to be read again. */
  #cancelAgain: (() => void) | undefined;
  /** That its log cannot be read was logged, and it was not read since. */
  #isWarned = false;
  readers = 0;

  constructor({ keep, kept, ports }: EventTailParts) {
    this.window = new EventWindow(keep);
    this.#kept = kept;
    this.#ports = ports;
  }

  /** Where a reader without a place begins. */
  abstract first(): Promise<string>;

  /** A cursor as this tail writes it. */
  normalize(cursor: string): string {
    return cursor;
  }

  /** Refuses a cursor behind which nothing can be read. @throws ToolError `gone`, `not_found`, `invalid_argument`. By rejecting */
  abstract check(cursor: string): Promise<void>;
  /** Durable events behind a cursor. */
  protected abstract read(cursor: string): Promise<TailPage>;

  /** Waits until the events of these sessions that have happened are among those that are read. */
  protected async settle(_sessionIds: Iterable<string>): Promise<void> {}

  get isOver(): boolean {
    return this.#isOver;
  }

  get failure(): ToolError | undefined {
    return this.#failure;
  }

  /** A listener was called with an event, when the log of its session had this length. */
  notice(event: RuntimeEvent, sessionId: string, length: number): void {
    this.#live.add(event, sessionId, length);
    this.wake();
  }

  /** There may be something new. */
  wake(): void {
    if (this.#isDue || this.#isOver) return;
    this.#isDue = true;
    setImmediate(() => void this.catchUp()); // what happens together is read together, once its own commit is under way
  }

  /** Reads what is new. Never rejects. */
  catchUp(): Promise<void> {
    this.#isDue = false;
    this.#catchingUp = (this.#catchingUp ?? Promise.resolve()).then(() => this.#catchUp());
    return this.#catchingUp;
  }

  /** A page for readers that are behind the window; those that ask for the same one share it. */
  async page(cursor: string): Promise<TailPage> {
    let reading = this.#reading.get(cursor);
    if (reading === undefined) {
      reading = this.read(cursor).finally(() => this.#reading.delete(cursor));
      this.#reading.set(cursor, reading);
    }
    const page = await reading;
    if (page.isEnd) this.beginAt(page.cursor);
    return page;
  }

  /** Returns what is kept behind a cursor, without a wait for more. */
  kept(cursor: string): Promise<TailPage> {
    return this.page(cursor);
  }

  /** The reader is woken, once, when there may be more to read. */
  await(reader: TailReader): void {
    this.#waiters.add(reader);
  }

  forget(reader: TailReader): void {
    this.#waiters.delete(reader);
  }

  #stir(): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const reader of waiters) reader.wake();
  }

  /** Readers get what is here, and nothing more. */
  end(): void {
    this.#isOver = true;
    this.#cancelAgain?.();
    this.#stir();
  }

  protected fail(error: ToolError): void {
    this.#failure ??= error;
    this.#stir();
  }

  /** The window has what comes from here on. The first place counts. */
  protected beginAt(cursor: string): void {
    if (this.window.cursor !== undefined) return;
    this.window.begin(cursor);
    this.wake(); // what has come meanwhile
  }

  /** Notes events of a log, so that they are not taken for others when listeners are called with them. */
  protected keepInMind(events: readonly SessionEvent[]): void {
    for (const event of events) this.#kept.add(event);
  }

  async #catchUp(): Promise<void> {
    const { window } = this;
    if (window.cursor === undefined || this.#failure !== undefined || this.#isOver) return;
    const live = this.#live.take();
    try {
      await this.settle(live.sessions);
      for (let isEnd = false; !isEnd;) {
        const page = await this.read(window.cursor);
        for (const item of page.items) this.#push(item, live);
        if (page.items.length === 0) break;
        ({ isEnd } = page);
      }
      this.#isWarned = false;
    } catch (thrown: unknown) {
      // Which of them a log will have is not known: those come later, with their place.
      live.dropped += live.rest().length;
      this.#trouble(ToolError.fromUnknown(thrown, "store_failed"));
    }
    if (live.dropped > 0) window.push(Object.freeze({ gap: Object.freeze({ missed: live.dropped, of: "live" as const }) }));
    else this.#pushLive(live.rest());
    this.#stir();
  }

  #push(item: FeedItem, live: LiveEvents): void {
    if (isEvent(item) && item.position !== undefined) this.#pushLive(live.before(item.sessionId, item.position));
    this.window.push(item);
  }

  #pushLive(events: readonly RuntimeEvent[]): void {
    for (const event of events) if (!this.#kept.has(event)) this.window.push({ event });
  }

  /** A store that cannot be read now may be read later. */
  #trouble(error: ToolError): void {
    if (error.code !== "store_failed") return this.fail(error);
    if (this.#isOver || this.readers === 0) return; // the store may have been closed since
    const { clock, log } = this.#ports;
    if (!this.#isWarned) log.warn(`Events could not be read on, and are read later: ${error.message}`);
    this.#isWarned = true;
    const again = (): void => {
      this.#cancelAgain = undefined;
      if (this.readers > 0) this.wake();
    };
    this.#cancelAgain ??= clock.timer(again, AGAIN_MS, { background: true });
  }
}

interface Noticed {
  readonly event: RuntimeEvent;
  /** How long the log of its session was: it comes behind that many events. */
  readonly length: number;
}

/** Most that wait; more are dropped. */
const MAX_WAITING = 10_000;

/** Events as listeners got them, until it is known which of them a log keeps. */
class LiveEvents {
  /** By session; those of none under the empty id. */
  #bySession = new Map<string, Noticed[]>();
  #count = 0;
  /** How many were dropped. */
  dropped = 0;

  add(event: RuntimeEvent, sessionId: string, length: number): void {
    if (event.type === "output-keep") return; // a log has it, without its text
    const noticed = this.#bySession.get(sessionId);
    if (this.#count >= MAX_WAITING) {
      this.dropped++;
      return;
    }
    this.#count++;
    if (noticed === undefined) this.#bySession.set(sessionId, [{ event, length }]);
    else noticed.push({ event, length });
  }

  get sessions(): Iterable<string> {
    return this.#bySession.keys();
  }

  /** All that wait now; what comes from now on is left for the next time. */
  take(): LiveEvents {
    const taken = new LiveEvents();
    taken.#bySession = this.#bySession;
    taken.#count = this.#count;
    taken.dropped = this.dropped;
    this.dropped = 0;
    this.#bySession = new Map();
    this.#count = 0;
    return taken;
  }

  /** Those that come before an event of a log. */
  before(sessionId: string, position: number): readonly RuntimeEvent[] {
    const noticed = this.#bySession.get(sessionId);
    if (noticed === undefined) return NONE;
    const end = noticed.findIndex(({ length }) => length >= position);
    return noticed.splice(0, end < 0 ? noticed.length : end).map(({ event }) => event);
  }

  /** Those that are left. */
  rest(): readonly RuntimeEvent[] {
    return [...this.#bySession.values()].flat().map(({ event }) => event);
  }
}

const NONE: readonly RuntimeEvent[] = Object.freeze([]);
