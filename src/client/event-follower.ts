/** Follows an event stream over lost connections, with the cursor of what was received. */
import type { RuntimeEvent } from "../core/event.ts";
import { ApiError, errorOf, parseAnswer } from "./api-error.ts";
import { EventStreamParser } from "./event-stream-parser.ts";
import { wait } from "./wait.ts";

/** How events are followed. */
export interface FollowOptions {
  /** The position of the last event that is known. @default 0: from the first */
  readonly after?: number;
  /** Ends it. */
  readonly signal?: AbortSignal;
  /** Have events as well that are not part of the log, such as progress: they come without position, and are lost with a connection. @default false */
  readonly live?: boolean;
}

/** An event as it was received. */
export interface ReceivedEvent {
  /** Its place in the session's log; undefined for one that is not part of it. */
  readonly position?: number;
  readonly event: RuntimeEvent;
}

type Open = (headers: Readonly<Record<string, string>>, signal: AbortSignal) => Promise<Response>;

const FIRST_DELAY_MS = 200;
const MAX_DELAY_MS = 10_000;

export class EventFollower {
  readonly #open: Open;
  readonly #options: FollowOptions;
  #position: number;
  #delayMs = FIRST_DELAY_MS;

  constructor(open: Open, options: FollowOptions) {
    this.#open = open;
    this.#options = options;
    this.#position = options.after ?? 0;
  }

  /** @throws ApiError for an answer that a new attempt would not change, a log that is damaged, and where the token could not be had */
  async *events(): AsyncGenerator<ReceivedEvent, void, undefined> {
    const left = new AbortController();
    const { signal } = this.#options;
    const stop = (): void => left.abort();
    if (signal?.aborted === true) return;
    signal?.addEventListener("abort", stop, { once: true });
    try {
      while (!left.signal.aborted) {
        yield* this.#connection(left.signal);
        await wait(this.#delayMs, left.signal);
        this.#delayMs = Math.min(MAX_DELAY_MS, this.#delayMs * 2);
      }
    } finally {
      left.abort();
      signal?.removeEventListener("abort", stop);
    }
  }

  async *#connection(signal: AbortSignal): AsyncGenerator<ReceivedEvent, void, undefined> {
    const response = await this.#connect(signal);
    if (response?.body === null || response === undefined) return;
    const parser = new EventStreamParser();
    const reader = response.body.getReader();
    try {
      for (;;) {
        const value = await nextOf(reader);
        if (value === undefined || signal.aborted) return;
        for (const { id, data, type } of parser.push(value)) {
          if (type === "gap") throwDamage(data, response.status);
          if (type === "gap" || type === "draining") return; // it continues from the cursor
          this.#delayMs = FIRST_DELAY_MS;
          const position = id === undefined ? undefined : Number(id);
          if (position !== undefined && position <= this.#position) continue;
          if (position === undefined && this.#options.live !== true) continue;
          if (position !== undefined) this.#position = position;
          yield { event: parseAnswer(data, response.status) as RuntimeEvent, ...(position === undefined ? {} : { position }) }; // as the server writes it
        }
      }
    } finally {
      await reader.cancel().catch(() => {}); // it is lost already
    }
  }

  /** Undefined when there was no answer, or one that may be another the next time. */
  async #connect(signal: AbortSignal): Promise<Response | undefined> {
    try {
      const response = await this.#open({ accept: "text/event-stream", "last-event-id": String(this.#position) }, signal);
      if (response.ok) return response;
      const text = await response.text();
      if (response.status === 429 || response.status >= 500) return undefined;
      throw errorOf(response, text);
    } catch (thrown: unknown) {
      if (thrown instanceof ApiError) throw thrown;
      return undefined; // the next attempt finds out
    }
  }
}

/**
 * Damage stays; all else that ends a stream with a code is over the next time, or refused then: a server of a newer version reads what one before it cannot.
 *
 * @throws ApiError where the log is damaged: it stays so
 */
function throwDamage(data: string, status: number): void {
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

/** The server writes every 15 seconds: a connection that brings nothing for so long is lost. */
const SILENT_MS = 45_000;

/** Undefined at the end, and when the connection is lost. */
async function nextOf(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array | undefined> {
  const came = new AbortController();
  const drop = (): unknown => (came.signal.aborted ? undefined : reader.cancel());
  void wait(SILENT_MS, came.signal)
    .then(drop)
    .catch(() => {}); // it is lost already
  try {
    return (await reader.read()).value;
  } catch {
    return undefined;
  } finally {
    came.abort();
  }
}
