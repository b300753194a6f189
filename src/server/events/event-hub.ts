/** The events of a runtime for the clients of a server: pages, and streams that continue where a client stopped. */
import { ToolError } from "../../core/error.ts";
import type { SessionEvent } from "../../core/event.ts";
import { checkKnownKeys } from "../../core/known-keys.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { Clock } from "../../core/ports.ts";
import { systemPorts } from "../../core/system/system-ports.ts";
import type { EventFilter } from "../../runtime/events/event-filter.ts";
import type { EventFeed } from "../../runtime/events/event-feed.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { sessionRemovedError } from "../../runtime/events/log-source.ts";
import { eventWithoutStorePlace } from "../store-failures.ts";
import { EventStream } from "./event-stream.ts";

export interface EventHubOptions {
  readonly clock?: Clock;
  /** How long a stream may have no events before a keep-alive comment is written, in milliseconds. @default 15_000 */
  readonly keepAliveMs?: number;
  /** How long a client waits before it reconnects, in milliseconds. @default 1_000 */
  readonly retryMs?: number;
}

/** Selects the events of a stream. */
export interface StreamFilter extends EventFilter {
  /** Limits the stream to one session; cursors are then positions in its log. */
  readonly sessionId?: string;
}

export interface StreamOptions {
  /** The id of the last event that the client received. @default as `Runtime.events` */
  readonly after?: string | number | undefined;
  readonly signal?: AbortSignal;
}

/** One event with its position in the log of its session, counted from 1. */
export interface PlacedEvent {
  readonly position: number;
  readonly event: SessionEvent;
}

/** A page of a session's events. */
export interface PlacedEvents {
  readonly events: readonly PlacedEvent[];
  /** `after` of the next page; undefined if there are no more events. */
  readonly next?: number;
}

const MAX_PAGE = 1_000;

export class EventHub {
  readonly #runtime: Runtime;
  readonly #clock: Clock;
  readonly #keepAliveMs: number;
  readonly #retryMs: number;
  readonly #streams = new Set<EventStream>();
  #cancelTimer: (() => void) | undefined;
  #isClosed = false;

  constructor(runtime: Runtime, options: EventHubOptions = {}) {
    checkKnownKeys(options, { clock: true, keepAliveMs: true, retryMs: true }, "new EventHub()");
    this.#runtime = runtime;
    const { clock = systemPorts.clock, keepAliveMs = 15_000, retryMs = 1_000 } = options;
    this.#clock = clock;
    this.#keepAliveMs = keepAliveMs;
    this.#retryMs = retryMs;
  }

  /** Number of open streams. */
  get streams(): number {
    return this.#streams.size;
  }

  /**
   * Returns the durable events of a session after a position. Does not wait for new ones.
   *
   * @throws ToolError `not_found`, `gone`, `invalid_argument`, as a rejection
   */
  async readPage(
    sessionId: string,
    { after = 0, limit = MAX_PAGE }: { readonly after?: number; readonly limit?: number } = {},
  ): Promise<PlacedEvents> {
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE)
      throw new ToolError("invalid_argument", `"limit" is ${String(limit)}; it takes an integer from 1 to ${MAX_PAGE}.`);
    const feed = this.#runtime.events({ session: sessionId, after });
    try {
      const { items, isEnd } = await feed.readKept(limit);
      const events = items.flatMap((item) =>
        "event" in item && item.position !== undefined ? [{ position: item.position, event: eventWithoutStorePlace(item.event) }] : [],
      );
      return { events, ...omitUndefined({ next: isEnd ? undefined : events.at(-1)?.position }) };
    } finally {
      feed.close();
    }
  }

  /**
   * Opens a stream of server-sent events. First checks that events can be read from the given place, so that a server can refuse the request.
   *
   * Each event of a log has its cursor as `id`; other events have none. The stream ends when the signal aborts, when the client closes it (which
   * cancels no call), and when a session that was only in memory has ended.
   *
   * @throws ToolError `not_found`, `gone`, `invalid_argument`, and `unavailable` after `close`, as a rejection
   */
  async open(filter: StreamFilter = {}, options: StreamOptions = {}): Promise<ReadableStream<Uint8Array>> {
    const feed = this.#feed(filter, options);
    await feed.begin();
    return this.#stream(feed, filter);
  }

  /** Like `open`, but an invalid place is reported in the stream: by an event `gap` with a `code`, after which the stream ends. */
  stream(filter: StreamFilter = {}, options: StreamOptions = {}): ReadableStream<Uint8Array> {
    return this.#stream(this.#feed(filter, options), filter);
  }

  /** Ends the streams of a removed session with an event `gap`, as `stream` does for an invalid place. */
  endStreamsOf(sessionId: string): void {
    for (const stream of this.#streams) if (stream.sessionId === sessionId) stream.fail(sessionRemovedError(sessionId));
  }

  /** Ends every stream with the event `draining`. Idempotent. */
  close(): void {
    this.#isClosed = true;
    for (const stream of this.#streams) stream.drain();
  }

  #feed({ sessionId, ...filter }: StreamFilter, { after, signal }: StreamOptions): EventFeed {
    if (this.#isClosed)
      throw new ToolError("unavailable", "The server is stopping.", { retryable: true, hint: "Connect again in a moment." });
    return this.#runtime.events({ filter, ...omitUndefined({ session: sessionId, after, signal }) });
  }

  #stream(feed: EventFeed, { sessionId }: StreamFilter): ReadableStream<Uint8Array> {
    const stream = new EventStream({ feed, sessionId, retryMs: this.#retryMs, onEnd: () => this.#removeStream(stream) });
    this.#streams.add(stream);
    this.#cancelTimer ??= this.#clock.timer(() => this.#keepAlive(), this.#keepAliveMs, { background: true });
    return new ReadableStream<Uint8Array>(stream);
  }

  #keepAlive(): void {
    for (const stream of this.#streams) stream.keepAlive();
    this.#cancelTimer = this.#clock.timer(() => this.#keepAlive(), this.#keepAliveMs, { background: true });
  }

  #removeStream(stream: EventStream): void {
    this.#streams.delete(stream);
    if (this.#streams.size > 0) return;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }
}
