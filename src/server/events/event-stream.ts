/** One stream of server-sent events, which reads events no faster than its client does (back-pressure). */
import { ToolError } from "../../core/error.ts";
import type { EventFeed } from "../../runtime/events/event-feed.ts";
import type { FeedItem } from "../../runtime/events/feed-item.ts";
import { frame, itemFrame, joined, KEEP_ALIVE, placeFrame, retryFrame } from "./sse.ts";

/** Maximum size of a chunk in bytes, unless one event alone is larger. */
const MAX_PIECE_BYTES = 64 * 1024;

export interface EventStreamParts {
  readonly feed: EventFeed;
  /** undefined for a stream of all sessions. */
  readonly sessionId: string | undefined;
  readonly retryMs: number;
  /** Called once, when the stream has ended. */
  readonly onEnd: (stream: EventStream) => void;
}

export class EventStream {
  readonly #parts: EventStreamParts;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** Events that were read and are not written yet. */
  #waiting: readonly FeedItem[] = [];
  #isEnded = false;
  /** Whether the stream is waiting for an event. */
  #isIdle = false;
  /** The last cursor that was sent to the client. */
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

  /** Ends the stream with an event `gap` that has the reason. */
  fail({ code, message, hint, retryable }: ToolError): void {
    this.#end(frame("gap", { code, message, retryable, ...(hint === undefined ? {} : { hint }) }));
  }

  /** Called when the client has closed the stream. No call is cancelled. */
  cancel(): void {
    this.#isEnded = true;
    this.#parts.feed.close();
    this.#parts.onEnd(this);
  }

  /** Writes a comment, or a new cursor, to an idle stream so that proxies keep the connection open; skipped while the client does not read. */
  keepAlive(): void {
    if (!this.#isIdle || this.#isEnded || (this.#controller?.desiredSize ?? 0) <= 0) return;
    const { cursor } = this.#parts.feed;
    this.#controller?.enqueue(cursor === undefined || cursor === this.#told ? KEEP_ALIVE : placeFrame(cursor));
    this.#told = cursor;
  }

  /** Ends the stream because the server stops: the client reconnects and continues where it was. */
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
