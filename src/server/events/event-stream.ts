/** One stream of server-sent events: as fast as its client reads, and no faster. */
import { ToolError } from "../../core/error.ts";
import type { EventFeed } from "../../runtime/events/event-feed.ts";
import type { FeedItem } from "../../runtime/events/feed-item.ts";
import { frame, itemFrame, joined, KEEP_ALIVE, placeFrame, retryFrame } from "./sse.ts";

/** A piece has no more bytes than this, unless one event has more by itself. */
const MAX_PIECE_BYTES = 64 * 1024;

export interface EventStreamParts {
  readonly feed: EventFeed;
  /** Undefined for one of all sessions. */
  readonly sessionId: string | undefined;
  readonly retryMs: number;
  /** Called once, when it has ended. */
  readonly onEnd: (stream: EventStream) => void;
}

export class EventStream {
  readonly #parts: EventStreamParts;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** Read, and not written yet. */
  #waiting: readonly FeedItem[] = [];
  #isEnded = false;
  /** Waits for an event; nothing was written meanwhile. */
  #isIdle = false;
  /** The last place that was sent to the client. */
  #told: string | undefined;

  constructor(parts: EventStreamParts) {
    this.#parts = parts;
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
    controller.enqueue(retryFrame(this.#parts.retryMs));
  }

  async pull(): Promise<void> {
    try {
      if (this.#waiting.length === 0) {
        this.#isIdle = true;
        this.#waiting = await this.#parts.feed.read();
        this.#isIdle = false;
      }
      if (this.#isEnded) return;
      if (this.#waiting.length === 0) this.#end();
      else this.#write();
    } catch (thrown: unknown) {
      this.fail(ToolError.fromUnknown(thrown, "store_failed"));
    }
  }

  get sessionId(): string | undefined {
    return this.#parts.sessionId;
  }

  /** Ends it with the reason. */
  fail({ code, message, hint, retryable }: ToolError): void {
    this.#end(frame("gap", { code, message, retryable, ...(hint === undefined ? {} : { hint }) }));
  }

  /** Called when the client has closed it. No call is cancelled. */
  cancel(): void {
    this.#isEnded = true;
    this.#parts.feed.close();
    this.#parts.onEnd(this);
  }

  /** Writes a comment where nothing was written for a while, so that proxies keep the connection open; none behind one that is not read. */
  keepAlive(): void {
    if (!this.#isIdle || this.#isEnded || (this.#controller?.desiredSize ?? 0) <= 0) return;
    const { cursor } = this.#parts.feed;
    this.#controller?.enqueue(cursor === undefined || cursor === this.#told ? KEEP_ALIVE : placeFrame(cursor));
    this.#told = cursor;
  }

  /** Ends it because the server stops: the client connects again and continues where it was. */
  drain(): void {
    this.#end(frame("draining", {}));
  }

  #write(): void {
    const frames: Uint8Array[] = [];
    let length = 0;
    let count = 0;
    for (const item of this.#waiting) {
      const bytes = itemFrame(item);
      if (length > 0 && length + bytes.length > MAX_PIECE_BYTES) break;
      frames.push(bytes);
      length += bytes.length;
      count++;
      this.#told = item.cursor ?? this.#told;
    }
    this.#waiting = this.#waiting.slice(count);
    this.#controller?.enqueue(joined(frames, length));
  }

  #end(last?: Uint8Array): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#parts.feed.close();
    if (last !== undefined) this.#controller?.enqueue(last);
    this.#controller?.close();
    this.#parts.onEnd(this);
  }
}
