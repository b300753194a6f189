/** One stream of server-sent events, which reads events no faster than its client does (back-pressure). */
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { ToolError } from "../../core/error.ts";
import type { EventFeed } from "../../runtime/events/event-feed.ts";
import type { FeedItem } from "../../runtime/events/feed-item.ts";
import { isForOperator } from "../store-failures.ts";
import { encodeEvent, encodeItem, concatBytes, KEEP_ALIVE, encodeCursor, encodeRetry } from "./sse.ts";

/** Maximum size of a chunk in bytes, unless one event alone is larger. */
const MAX_CHUNK_BYTES = 64 * 1024;

export interface EventStreamOptions {
  readonly feed: EventFeed;
  /** undefined for a stream of all sessions. */
  readonly sessionId: string | undefined;
  readonly retryMs: number;
  /** Called once, when the stream has ended. */
  readonly onEnd: (stream: EventStream) => void;
}

export class EventStream {
  readonly #options: EventStreamOptions;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** Events that were read and are not written yet. */
  #pending: readonly FeedItem[] = [];
  #isEnded = false;
  /** Whether the stream is waiting for an event. */
  #isIdle = false;
  /** The last cursor that was sent to the client. */
  #lastSentCursor: string | undefined;

  constructor(options: EventStreamOptions) {
    this.#options = options;
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
    controller.enqueue(encodeRetry(this.#options.retryMs));
  }

  async pull(): Promise<void> {
    try {
      if (this.#pending.length === 0) {
        this.#isIdle = true;
        this.#pending = await this.#options.feed.read();
        this.#isIdle = false;
      }
      if (this.#isEnded) return;
      if (this.#pending.length === 0) this.#end();
      else this.#write();
    } catch (thrown: unknown) {
      this.fail(ToolError.fromUnknown(thrown, "store_failed"));
    }
  }

  get sessionId(): string | undefined {
    return this.#options.sessionId;
  }

  /** Ends the stream with an event `gap` that has the reason. */
  fail(error: ToolError): void {
    const { code, message, hint, retryable } = error;
    const shown = isForOperator(error) ? { message: "The events cannot be read now." } : omitUndefined({ message, hint });
    this.#end(encodeEvent("gap", { code, ...shown, retryable }));
  }

  /** Called when the client has closed the stream. No call is cancelled. */
  cancel(): void {
    this.#isEnded = true;
    this.#options.feed.close();
    this.#options.onEnd(this);
  }

  /** Writes a comment, or a new cursor, to an idle stream so that proxies keep the connection open; skipped while the client does not read. */
  keepAlive(): void {
    if (!this.#isIdle || this.#isEnded || (this.#controller?.desiredSize ?? 0) <= 0) return;
    const { cursor } = this.#options.feed;
    this.#controller?.enqueue(cursor === undefined || cursor === this.#lastSentCursor ? KEEP_ALIVE : encodeCursor(cursor));
    this.#lastSentCursor = cursor;
  }

  /** Ends the stream because the server stops: the client reconnects and continues where it was. */
  drain(): void {
    this.#end(encodeEvent("draining", {}));
  }

  #write(): void {
    const frames: Uint8Array[] = [];
    let length = 0;
    let count = 0;
    for (const item of this.#pending) {
      const bytes = encodeItem(item);
      if (length > 0 && length + bytes.length > MAX_CHUNK_BYTES) break;
      frames.push(bytes);
      length += bytes.length;
      count++;
      this.#lastSentCursor = item.cursor ?? this.#lastSentCursor;
    }
    this.#pending = this.#pending.slice(count);
    this.#controller?.enqueue(concatBytes(frames, length));
  }

  #end(last?: Uint8Array): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#options.feed.close();
    if (last !== undefined) this.#controller?.enqueue(last);
    this.#controller?.close();
    this.#options.onEnd(this);
  }
}
