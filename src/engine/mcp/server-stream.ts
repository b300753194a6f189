/**
 * Keeps open the stream on which a server of the revisions up to 2025-11-25 sends messages over Streamable HTTP. The official client opens it once,
 * and gives up after two failures.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server
 */
import type { FetchLike, OAuthClientProvider, AuthProvider, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { ToolError, describeThrown } from "../../core/error.ts";
import type { Clock } from "../../core/ports.ts";
import { findInnerToolError } from "./call-error.ts";
import { reopenDelayMs } from "./reopen-delay.ts";
import { sleep } from "../../processes/sleep.ts";
import type { ServerStreamEvents } from "./wire.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";

type ClientModule = typeof import("@modelcontextprotocol/client");

export interface ServerStreamOptions {
  readonly url: URL;
  readonly fetch: FetchLike;
  readonly provider: OAuthClientProvider | AuthProvider | undefined;
  readonly sdk: ClientModule;
  readonly clock: Clock;
  /** The transport that has the session, and that gets the messages. */
  readonly transport: StreamableHTTPClientTransport;
}

/** Shortest wait before the stream is opened again, whatever the server asks for, in milliseconds. */
const MIN_PAUSE_MS = 250;
const MAX_RETRY_MS = 3_600_000;
/** A stream that was open for this long, in milliseconds, or that carried anything, does not count as a failure when it ends. */
const STABLE_STREAM_MS = 5_000;
/** Number of refusals after which a server that never opened the stream counts as not having it. */
const MAX_FAILURES = 8;
/** Statuses of a server without such a stream. */
const UNSUPPORTED_STATUSES: ReadonlySet<number | undefined> = new Set([405, 501]);
/** Statuses of a server that does not know the session, or the address. */
const UNKNOWN_SESSION_STATUSES: ReadonlySet<number | undefined> = new Set([400, 404]);

export class ServerStream {
  readonly #options: ServerStreamOptions;
  readonly #events: ServerStreamEvents;
  readonly #closing = new AbortController();
  #lastEventId: string | undefined;
  #retryMs: number | undefined;
  #failures = 0;
  /** Whether it was open before, so that the server has such a stream. */
  #wasOpen = false;
  #isKeptOpen = false;

  constructor(options: ServerStreamOptions, events: ServerStreamEvents) {
    this.#options = options;
    this.#events = events;
  }

  /** Opens the stream, and again whenever it ends. Does nothing if it is kept already. */
  keepOpen(): void {
    if (this.#isKeptOpen) return;
    this.#isKeptOpen = true;
    void this.#reopenLoop().finally(() => {
      this.#isKeptOpen = false;
    });
  }

  close(): void {
    this.#closing.abort();
  }

  async #reopenLoop(): Promise<void> {
    const { signal } = this.#closing;
    const { clock } = this.#options;
    for (let isRepeated = false; !signal.aborted; isRepeated = true) {
      const waitMs = await this.#openOnce(isRepeated);
      if (waitMs === undefined) return;
      await sleep(clock, waitMs, signal, { background: true });
    }
  }

  /** Opens the stream and waits for its end. Resolves to the wait before the next try, in milliseconds; undefined if there is to be none. */
  async #openOnce(isRepeated: boolean): Promise<number | undefined> {
    const { clock } = this.#options;
    const { signal } = this.#closing;
    const stream = new OpenStream(this.#options, (id) => {
      this.#lastEventId = id;
    });
    const close = (): void => stream.close();
    signal.addEventListener("abort", close, { once: true });
    const begunAt = clock.now();
    try {
      const after = this.#lastEventId;
      await stream.open(after);
      if (!stream.isOpen) return undefined;
      const isReopened = isRepeated || this.#wasOpen; // also when it is kept again after a login
      this.#wasOpen = true;
      if (isReopened && after === undefined) this.#events.onReopened();
      await stream.ended;
      await sleep(clock, MIN_PAUSE_MS, signal, { background: true }); // until the received messages have been read
    } catch (error: unknown) {
      return signal.aborted ? undefined : await this.#handleFailure(error, stream);
    } finally {
      signal.removeEventListener("abort", close);
      stream.close();
    }
    this.#retryMs = stream.retryMs ?? this.#retryMs;
    this.#failures = stream.hasReceived || clock.now() - begunAt >= STABLE_STREAM_MS ? 0 : this.#failures + 1;
    return this.#delayMs() - MIN_PAUSE_MS;
  }

  async #handleFailure(error: unknown, { status }: OpenStream): Promise<number | undefined> {
    const { sdk } = this.#options;
    if (UNSUPPORTED_STATUSES.has(status) || (UNKNOWN_SESSION_STATUSES.has(status) && !this.#wasOpen)) return undefined;
    this.#events.onProblem(`the stream of its own messages could not be opened: ${describeThrown(error)}`);
    if (error instanceof sdk.UnauthorizedError) return undefined; // a person is not sent to log in for this stream
    this.#failures++;
    if (UNKNOWN_SESSION_STATUSES.has(status)) {
      this.#lastEventId = undefined; // the server may no longer know this event
      await this.#events.onRefused();
    }
    if (!this.#wasOpen && status !== undefined && this.#failures >= MAX_FAILURES) return undefined;
    const inner = error instanceof ToolError ? error : findInnerToolError(error);
    return Math.max(this.#delayMs(), inner?.retryAfterMs ?? 0);
  }

  #delayMs(): number {
    const asked = Math.min(Math.max(this.#retryMs ?? 0, MIN_PAUSE_MS), MAX_RETRY_MS);
    if (this.#failures > 0) return Math.max(asked, reopenDelayMs(this.#failures - 1));
    return this.#retryMs === undefined ? reopenDelayMs(0) : asked;
  }
}

/** One opened stream until its end, read by a transport of the official client. */
class OpenStream {
  readonly #transport: StreamableHTTPClientTransport;
  readonly #end = Promise.withResolvers<void>();
  readonly #onEventId: (id: string) => void;
  isOpen = false;
  /** The status of the server's answer to the request for the stream; undefined while there is none. */
  status: number | undefined;
  /** Whether a message or the id of an event has arrived. */
  hasReceived = false;
  /** The server's wait between two streams, in milliseconds. */
  retryMs: number | undefined;

  constructor({ url, fetch, provider, sdk, transport }: ServerStreamOptions, onEventId: (id: string) => void) {
    this.#onEventId = onEventId;
    this.#transport = new sdk.StreamableHTTPClientTransport(url, {
      fetch: this.#watchFetch(fetch, url),
      ...omitUndefined({ authProvider: provider, sessionId: transport.sessionId, protocolVersion: transport.protocolVersion }),
      reconnectionOptions: { initialReconnectionDelay: -1, maxReconnectionDelay: -1, reconnectionDelayGrowFactor: 1, maxRetries: 1 },
      // called to schedule a reconnect, with the wait that the server has asked for
      reconnectionScheduler: (_reopen, delayMs) => {
        if (delayMs >= 0) this.retryMs = delayMs;
      },
    });
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK knows only this way
    this.#transport.onmessage = (message) => {
      this.hasReceived = true;
      transport.onmessage?.(message);
    };
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK knows only this way
    this.#transport.onerror = (error) => {
      if (this.isOpen) transport.onerror?.(error);
    };
  }

  get ended(): Promise<void> {
    return this.#end.promise;
  }

  async open(lastEventId: string | undefined): Promise<void> {
    await this.#transport.start();
    await this.#transport.resumeStream(lastEventId ?? "", {
      onresumptiontoken: (id) => {
        this.hasReceived = true;
        this.#onEventId(id);
      },
    });
  }

  close(): void {
    void this.#transport.close();
  }

  #watchFetch(fetch: FetchLike, url: URL): FetchLike {
    return async (asked, init) => {
      const response = await fetch(asked, init);
      if (init?.method !== "GET" || new URL(asked).href !== url.href) return response; // a request of a login
      const { status, body, headers } = response;
      this.status = status;
      if (!response.ok || body === null) return response;
      if (!isEventStream(headers)) {
        await body.cancel();
        return new Response(null, { status: 405 });
      }
      this.isOpen = true;
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
      body.pipeTo(writable).then(this.#end.resolve, () => this.#end.resolve());
      return new Response(readable, response);
    };
  }
}

const EVENT_STREAM = /^text\/event-stream\s*(?:;|$)/iu;

export function isEventStream(headers: Headers): boolean {
  return EVENT_STREAM.test(headers.get("content-type") ?? "");
}

/** A `fetch` that answers a transport's request for the server's stream with 405, so that the transport opens none of its own. */
export function withoutServerStream(fetch: FetchLike, url: URL): FetchLike {
  return async (asked, init) => {
    const isStream = init?.method === "GET" && new URL(asked).href === url.href && !new Headers(init.headers).has("last-event-id");
    return isStream ? new Response(null, { status: 405 }) : await fetch(asked, init);
  };
}
