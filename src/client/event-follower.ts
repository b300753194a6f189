/** Follows an event stream and reconnects when the connection is lost, with the cursor of the last received event. */
import type { RuntimeEvent } from "../core/event.ts";
import { ApiError, toApiError, parseAnswer } from "./api-error.ts";
import { EventStreamParser } from "./event-stream-parser.ts";
import { wait } from "./wait.ts";

/** Options of `client.follow()`. */
export interface FollowOptions {
  /** The position of the last known event. @default 0: start with the first event */
  readonly after?: number;
  /** Ends the stream of events. */
  readonly signal?: AbortSignal;
  /** Whether to also receive events outside the log, such as progress. They have no position, and are lost with a connection. @default false */
  readonly live?: boolean;
}

/** An event as it was received. */
export interface ReceivedEvent {
  /** Its position in the session's log; undefined if it is not part of the log. */
  readonly position?: number;
  readonly event: RuntimeEvent;
}

type OpenStream = (headers: Readonly<Record<string, string>>, signal: AbortSignal) => Promise<Response>;

const FIRST_DELAY_MS = 200;
const MAX_DELAY_MS = 10_000;

export class EventFollower {
  readonly #open: OpenStream;
  readonly #options: FollowOptions;
  #position: number;
  #delayMs = FIRST_DELAY_MS;

  constructor(open: OpenStream, options: FollowOptions) {
    this.#open = open;
    this.#options = options;
    this.#position = options.after ?? 0;
  }

  /**
   * Yields the events.
   *
   * @throws ApiError for a response that a new attempt would not change, if the log is damaged, and if the token function failed
   */
  async *events(): AsyncGenerator<ReceivedEvent, void, undefined> {
    const stopped = new AbortController();
    const { signal } = this.#options;
    const stop = (): void => stopped.abort();
    if (signal?.aborted === true) return;
    signal?.addEventListener("abort", stop, { once: true });
    try {
      while (!stopped.signal.aborted) {
        yield* this.#readConnection(stopped.signal);
        await wait(this.#delayMs, stopped.signal);
        this.#delayMs = Math.min(MAX_DELAY_MS, this.#delayMs * 2);
      }
    } finally {
      stopped.abort();
      signal?.removeEventListener("abort", stop);
    }
  }

  async *#readConnection(signal: AbortSignal): AsyncGenerator<ReceivedEvent, void, undefined> {
    const response = await this.#connect(signal);
    if (response?.body === null || response === undefined) return;
    const parser = new EventStreamParser();
    const reader = response.body.getReader();
    try {
      for (;;) {
        const value = await readChunk(reader);
        if (value === undefined || signal.aborted) return;
        for (const { id, data, type } of parser.push(value)) {
          if (type === "gap") throwIfDamaged(data, response.status);
          if (type === "gap" || type === "draining") return; // events() reconnects, from the cursor
          this.#delayMs = FIRST_DELAY_MS;
          const position = id === undefined ? undefined : Number(id);
          if (position !== undefined && position <= this.#position) continue;
          if (position === undefined && this.#options.live !== true) continue;
          if (position !== undefined) this.#position = position;
          // as the server writes it
          yield { event: parseAnswer(data, response.status) as RuntimeEvent, ...(position === undefined ? {} : { position }) };
        }
      }
    } finally {
      await reader.cancel().catch(() => {}); // the connection is lost already
    }
  }

  /** Opens a connection. Returns undefined if there was no response, or one that a new attempt may change. */
  async #connect(signal: AbortSignal): Promise<Response | undefined> {
    try {
      const response = await this.#open({ accept: "text/event-stream", "last-event-id": String(this.#position) }, signal);
      if (response.ok) return response;
      const text = await response.text();
      if (response.status === 429 || response.status >= 500) return undefined;
      throw toApiError(response, text);
    } catch (thrown: unknown) {
      if (thrown instanceof ApiError) throw thrown;
      return undefined; // the next attempt finds out
    }
  }
}

/**
 * Throws if a stream ended because its log is damaged, which reconnecting would not change. Other errors are over at the next connection, or are its
 * response. A `retryable` one is not damage: a newer server than this one may have written the log.
 *
 * @throws ApiError if the log is damaged
 */
function throwIfDamaged(data: string, status: number): void {
  const {
    code,
    message = "",
    retryable,
  } = parseAnswer(data, status) as {
    readonly code?: string;
    readonly message?: string;
    readonly retryable?: boolean;
  }; // as the server writes it
  if (code === "corrupt_record" && retryable !== true) throw new ApiError(message, { status });
}

/** How long a connection may be silent before it counts as lost, in milliseconds. The server writes every 15 seconds. */
const SILENCE_TIMEOUT_MS = 45_000;

/** Returns the next chunk; undefined at the end, and if the connection is lost. */
async function readChunk(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array | undefined> {
  const received = new AbortController();
  const drop = (): unknown => (received.signal.aborted ? undefined : reader.cancel());
  void wait(SILENCE_TIMEOUT_MS, received.signal)
    .then(drop)
    .catch(() => {}); // the connection is lost already
  try {
    return (await reader.read()).value;
  } catch {
    return undefined;
  } finally {
    received.abort();
  }
}
