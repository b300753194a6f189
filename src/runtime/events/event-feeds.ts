/** The readers of a runtime's events, and the tails that they share. */
import { quoteValue } from "../../core/base/wording.ts";
import { ToolError } from "../../core/error.ts";
import type { EventListener, RuntimeEvent } from "../../core/event.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import type { Ports } from "../../core/ports.ts";
import type { Store } from "../../core/store/store.ts";
import { checkSessionId } from "../../session/session-id.ts";
import type { OpenSessions } from "../open-sessions.ts";
import { EventFeed } from "./event-feed.ts";
import { createEventFilter, type EventFilter } from "./event-filter.ts";
import type { EventTail } from "./event-tail.ts";
import { LogSource } from "./log-source.ts";
import { MemoryTail } from "./memory-tail.ts";
import { SessionTail } from "./session-tail.ts";
import { StoreTail } from "./store-tail.ts";
import { StoreWatch } from "./store-watch.ts";

/** Which events to read, and from where. */
export interface EventsOptions {
  /** Only one session. @default all sessions, and events without a session */
  readonly session?: string;
  /** The `cursor` of the last event that was read; 0 = from the first event that is kept. @default 0 for a session; for all sessions, from now on */
  readonly after?: string | number;
  readonly filter?: EventFilter;
  /** Closes the feed. */
  readonly signal?: AbortSignal;
}

const OPTIONS: OptionNames<EventsOptions> = { session: true, after: true, filter: true, signal: "AbortSignal" };

export interface EventFeedsOptions {
  readonly store: Store | undefined;
  readonly ports: Ports;
  readonly subscribe: (listener: EventListener) => () => void;
}

/** How long a memory tail is kept without readers, so that a reader that comes back misses nothing, in milliseconds. */
const RETENTION_MS = 60_000;

export class EventFeeds {
  readonly #options: EventFeedsOptions & { readonly open: OpenSessions };
  readonly #source: LogSource;
  readonly #logged = new WeakSet<RuntimeEvent>();
  readonly #sessions = new Map<string, SessionTail>();
  readonly #watch: StoreWatch | undefined;
  #all: StoreTail | MemoryTail | undefined;
  #unsubscribe: (() => void) | undefined;
  #isClosed = false;

  constructor(open: OpenSessions, options: EventFeedsOptions) {
    this.#options = { ...options, open };
    this.#source = new LogSource({ open, store: options.store });
    open.onRemoved = (session) => void this.#sessions.get(session.id)?.onSessionClosed(session);
    const { store, ports } = options;
    if (store === undefined) return;
    this.#watch = new StoreWatch({
      store,
      ports,
      hasReader: (sessionId) => this.#all !== undefined || this.#sessions.has(sessionId),
      onEvent: (sessionId, position) => {
        this.#source.noteStored(sessionId, position);
        this.#sessions.get(sessionId)?.wake();
        this.#all?.wake();
      },
      onLost: () => {
        for (const tail of this.#sessions.values()) tail.wake();
        this.#all?.wake();
      },
      onCheck: () => this.#checkRemovals(),
    });
  }

  /** Reads the tails of sessions that are not open here, one after the other: a tail fails when its session was removed. */
  async #checkRemovals(): Promise<void> {
    for (const tail of this.#sessions.values()) if (this.#source.findOpenSession(tail.sessionId) === undefined) await tail.catchUp();
  }

  /** @throws ToolError `invalid_argument` */
  feed(options: EventsOptions): EventFeed {
    checkKnownKeys(options, OPTIONS, "events()");
    const { session, after, filter, signal } = options;
    if (session !== undefined) checkSessionId(session);
    const cursor = toCursor(after);
    return new EventFeed({
      after: cursor,
      signal,
      clock: this.#options.ports.clock,
      matches: createEventFilter(filter),
      join: () => this.#join(session),
      onClose: (tail) => this.#releaseTail(tail),
    });
  }

  /** Reads all events so far for the readers, because the store is about to be closed. */
  async catchUpAll(): Promise<void> {
    this.#watch?.stop();
    const tails: readonly EventTail[] = [...this.#sessions.values(), ...(this.#all === undefined ? [] : [this.#all])];
    await Promise.all(tails.map((tail) => tail.catchUp()));
  }

  /** Ends all feeds, after what is in memory. Idempotent. */
  close(): void {
    this.#isClosed = true;
    this.#watch?.stop();
    this.#unsubscribe?.();
    for (const tail of this.#sessions.values()) tail.end();
    this.#all?.end();
  }

  async #join(sessionId: string | undefined): Promise<EventTail> {
    if (this.#isClosed) throw new ToolError("invalid_argument", "The runtime was closed: it has no more events.");
    const { store, subscribe } = this.#options;
    const tail = sessionId === undefined ? this.#allTail() : this.#sessionTail(sessionId);
    tail.readers++;
    this.#unsubscribe ??= subscribe((event) => this.#onEvent(event));
    try {
      await store?.open();
      await this.#watch?.start();
      return tail;
    } catch (thrown: unknown) {
      this.#releaseTail(tail);
      throw thrown;
    }
  }

  #sessionTail(sessionId: string): SessionTail {
    let tail = this.#sessions.get(sessionId);
    if (tail === undefined || tail.hasEnded || tail.failure !== undefined) {
      tail = new SessionTail({ sessionId, source: this.#source, logged: this.#logged, ports: this.#options.ports });
      this.#sessions.set(sessionId, tail);
    }
    return tail;
  }

  #allTail(): StoreTail | MemoryTail {
    const { store, open, ports } = this.#options;
    const shared = { source: this.#source, logged: this.#logged, ports };
    return (this.#all ??=
      store === undefined ? new MemoryTail({ ...shared, open, id: ports.ids.next("feed") }) : new StoreTail({ ...shared, store }));
  }

  #releaseTail(tail: EventTail): void {
    if (--tail.readers > 0) return;
    if (tail instanceof SessionTail) {
      if (this.#sessions.get(tail.sessionId) === tail) this.#sessions.delete(tail.sessionId);
    } else if (tail instanceof StoreTail) this.#all = undefined;
    else {
      this.#options.ports.clock.timer(() => this.#drop(tail), RETENTION_MS, { background: true });
      return;
    }
    this.#stopIfUnused();
  }

  #drop(tail: EventTail): void {
    if (tail.readers > 0 || this.#all !== tail) return;
    this.#all = undefined;
    this.#stopIfUnused();
  }

  /** Stops all work for readers when the last of them has left. */
  #stopIfUnused(): void {
    if (this.#sessions.size > 0 || this.#all !== undefined) return;
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    this.#watch?.stop();
  }

  #onEvent(event: RuntimeEvent): void {
    if (!("sessionId" in event)) return this.#all?.noteEvent(event, "", 0);
    const { sessionId } = event;
    const tail = this.#sessions.get(sessionId);
    if (tail === undefined && this.#all === undefined) return;
    const session = this.#source.findOpenSession(sessionId);
    const length = session?.eventLog?.length ?? session?.length ?? 0;
    tail?.noteEvent(event, sessionId, length);
    if (this.#all === undefined) return;
    if (session !== undefined && this.#all instanceof MemoryTail) this.#all.markChanged(session);
    this.#all.noteEvent(event, sessionId, length);
  }
}

function toCursor(after: unknown): string | undefined {
  if (after === undefined || typeof after === "string") return after;
  if (typeof after === "number" && Number.isSafeInteger(after) && after >= 0) return String(after);
  throw new ToolError("invalid_argument", `"after" of events() is ${quoteValue(after)}; it takes the cursor of an event, or 0.`);
}
