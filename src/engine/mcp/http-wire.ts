/** Connects to a server over HTTP: the official client's transports on Haft's guarded HTTP client. */
import type {
  FetchLike,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  StreamableHTTPClientTransportOptions,
} from "@modelcontextprotocol/client";
import { rejectOnAbort } from "../../core/base/reject-on-abort.ts";
import type { Clock, Log } from "../../core/ports.ts";
import { readRetryAfter } from "../../core/formats/retry-after.ts";
import { guardedFetch } from "../../net/guarded-fetch.ts";
import { httpClient } from "../../net/http-client.ts";
import type { HttpHeader } from "../../net/http-request.ts";
import { oauthProvider, configuredHeaders, warnIfIssuerIsMissing, withConfiguredHeaders } from "./authorization.ts";
import { JSON_CONTENT_TYPE, PreparedClient, directTransport, type DirectTransportOptions } from "./direct-transport.ts";
import { ServerFault } from "./failure.ts";
import { MAX_MESSAGE_BYTES } from "../../processes/line-reader.ts";
import { withRefusedTokens } from "./refused-token.ts";
import { withSharedRenewals } from "./shared-renewals.ts";
import { withQuotableRefusals, withTokenErrors } from "./token-answers.ts";
import { quoteLongNumbers, quoteLongNumbersInEvents } from "./long-numbers.ts";
import { serverUrl, redactUrl, type McpUrlOptions } from "./options.ts";
import { ServerStream, isEventStream, withoutServerStream } from "./server-stream.ts";
import { withTimeLimit } from "../../processes/sleep.ts";
import { checkAccepted, checkAnswer } from "./check-answer.ts";
import { TokenFailure } from "./token-failure.ts";
import { CLOSED_REASON, type ServerStreamEvents, type Wire } from "./wire.ts";
import { ToolError, describeThrown } from "../../core/error.ts";
import { findInnerToolError } from "./call-error.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";

type ClientModule = typeof import("@modelcontextprotocol/client");

export interface HttpWireOptions {
  readonly server: McpUrlOptions;
  readonly kind: "http" | "sse";
  readonly sdk: ClientModule;
  readonly clock: Clock;
  readonly log: Log;
  /** Called with every access and refresh token that is obtained for the server. */
  readonly onToken: (token: string) => void;
}

/** Shortest wait before reconnecting, whatever the server asks for, in milliseconds. */
const MIN_RECONNECT_MS = 250;
const MAX_RECONNECT_MS = 60_000;
/** How long the request that ends a session may take, in milliseconds. */
const TERMINATE_TIMEOUT_MS = 1_000;

export class HttpWire implements Wire {
  readonly kind: "http" | "sse";
  readonly transport: StreamableHTTPClientTransport | SSEClientTransport;
  readonly url: string;
  readonly exited = false;
  readonly stderrTail: readonly string[] = [];
  readonly authorize: ((signal: AbortSignal) => Promise<void>) | undefined;
  endReason: string | undefined;

  readonly #client: PreparedClient;
  readonly #clock: Clock;
  readonly #received: ReceivedStats = { bytes: 0, problem: undefined };
  readonly #timers = new Set<() => void>();
  readonly #makeStream: (events: ServerStreamEvents) => ServerStream | undefined;
  #stream: ServerStream | undefined;
  #closing: Promise<void> | undefined;

  constructor({ server, kind, sdk, clock, log, onToken }: HttpWireOptions) {
    this.kind = kind;
    this.#clock = clock;
    const url = serverUrl(server);
    this.url = redactUrl(url);
    this.#client = new PreparedClient(httpClient({ ...clientOptions(server), maxBytes: MAX_MESSAGE_BYTES }, { clock, log }));
    const watched = withReceivedStats(guardedFetch(this.#client), this.#received, kind);
    const fetch = withRefusedTokens(withSharedRenewals(withTokenErrors(withQuotableRefusals(withConfiguredHeaders(watched, server)))));
    const setTimer = (fire: () => void, delayMs: number): (() => void) => this.#setTimer(fire, delayMs);
    const received = this.#received;
    const bare = new URL(url);
    bare.username = "";
    bare.password = "";
    warnIfIssuerIsMissing(server, { url: this.url, log });
    const provider = oauthProvider(server.auth, { sdk, onToken });
    const transport = makeTransport({ url: bare, fetch, client: this.#client, received, server, kind, sdk, provider, setTimer });
    this.transport = transport;
    this.#makeStream = (events) =>
      "resumeStream" in transport ? new ServerStream({ url: bare, fetch, provider, sdk, clock, transport }, events) : undefined;
    const callback = server.auth?.type === "oauth" ? server.auth.callback : undefined;
    if (callback === undefined) return;
    this.authorize = async (signal) => {
      await this.transport.finishAuth(await callback(signal));
      this.#stream?.keepOpen();
    };
  }

  get receivedBytes(): number {
    return this.#received.bytes;
  }

  get problem(): string | undefined {
    return this.#received.problem;
  }

  listen(events: ServerStreamEvents): void {
    if (this.endReason !== undefined) return;
    this.#stream ??= this.#makeStream(events);
    this.#stream?.keepOpen();
  }

  abandon(reason: string): void {
    this.endReason ??= reason;
    void this.#closeOnce();
  }

  close(): Promise<void> {
    this.endReason ??= CLOSED_REASON;
    return this.#closeOnce();
  }

  #closeOnce(): Promise<void> {
    for (const cancel of this.#timers) cancel();
    this.#stream?.close();
    this.#closing ??= this.#terminateSession().finally(() => this.#client.close());
    return this.#closing;
  }

  /** Sets a timer that keeps the process alive until the wire is closed, as a call may wait for it. */
  #setTimer(fire: () => void, delayMs: number): () => void {
    const cancel = this.#clock.timer(() => {
      this.#timers.delete(cancel);
      fire();
    }, delayMs);
    this.#timers.add(cancel);
    return cancel;
  }

  /** Ends the session on the server, unless the connection was lost. */
  async #terminateSession(): Promise<void> {
    const { transport } = this;
    const close = (): Promise<void> => transport.close().catch(() => undefined);
    if (!("terminateSession" in transport) || transport.sessionId === undefined || this.endReason !== CLOSED_REASON) return await close();
    // has a time limit, as callers that wait for an answer are released only by `close()`
    const farewell = withTimeLimit({ clock: this.#clock, limitMs: TERMINATE_TIMEOUT_MS }, (signal) =>
      rejectOnAbort(transport.terminateSession(), signal),
    );
    await farewell.catch(() => undefined);
    await close();
  }
}

/** The private addresses that are allowed, and the certificates of the server. */
export function clientOptions(server: McpUrlOptions): { allowPrivate: readonly string[]; verifyTls?: boolean; ca?: string } {
  const { allowPrivate = [], verifyTls, ca } = server;
  const { hostname, port, protocol } = serverUrl(server);
  const own = `${hostname}:${port === "" ? (protocol === "https:" ? "443" : "80") : port}`;
  return omitUndefined({ allowPrivate: isFixedHost(hostname) ? [...allowPrivate, own] : allowPrivate, verifyTls, ca });
}

/** Whether the host is `localhost` or an IP address, which no DNS change can redirect. */
function isFixedHost(hostname: string): boolean {
  return hostname === "localhost" || hostname.startsWith("[") || /^\d+(?:\.\d+){3}$/u.test(hostname);
}

interface TransportOptions {
  readonly url: URL;
  readonly fetch: FetchLike;
  readonly client: PreparedClient;
  readonly received: ReceivedStats;
  readonly server: McpUrlOptions;
  readonly kind: "http" | "sse";
  readonly sdk: ClientModule;
  readonly provider: Provider;
  readonly setTimer: (fire: () => void, delayMs: number) => () => void;
}

function makeTransport(transportOptions: TransportOptions): StreamableHTTPClientTransport | SSEClientTransport {
  const { url, fetch, kind, sdk, provider, setTimer } = transportOptions;
  const common = { fetch, ...(provider === undefined ? {} : { authProvider: provider }) };
  if (kind === "sse") return new sdk.SSEClientTransport(url, common);
  const options: StreamableHTTPClientTransportOptions = {
    ...common,
    fetch: withoutServerStream(fetch, url),
    reconnectionScheduler: (reconnect, delayMs) => setTimer(reconnect, Math.min(Math.max(delayMs, MIN_RECONNECT_MS), MAX_RECONNECT_MS)),
  };
  if (provider !== undefined && "dpop" in provider) return new sdk.StreamableHTTPClientTransport(url, options); // the provider signs each request
  return directTransport(sdk.StreamableHTTPClientTransport, directTransportOptions(transportOptions), [url, options]);
}

type Provider = ReturnType<typeof oauthProvider>;

function directTransportOptions({ url, client, server, received, provider }: TransportOptions): DirectTransportOptions {
  const onReceived = (bytes: number, problem?: string): void => {
    received.bytes += bytes;
    received.problem = problem;
  };
  const own = configuredHeaders(server);
  if (provider === undefined) return { url, client, headers: () => own, isRenewed: false, onReceived };
  const headers = async (): Promise<readonly HttpHeader[]> => {
    const token = await readToken(provider);
    return token === undefined ? own : [["authorization", `Bearer ${token}`], ...own];
  };
  return { url, client, headers, isRenewed: true, onReceived };
}

/** @throws ToolError `not_started` of the provider, and `TokenFailure` around every other error of it, as a rejection */
async function readToken(provider: NonNullable<Provider>): Promise<string | undefined> {
  try {
    return "token" in provider ? await provider.token() : (await provider.tokens())?.access_token;
  } catch (thrown: unknown) {
    throw thrown instanceof ToolError && thrown.outcome === "not_started" ? thrown : new TokenFailure(thrown);
  }
}

/** Counts of the answers of a server. */
interface ReceivedStats {
  bytes: number;
  /** The last problem with an answer, as text. */
  problem: string | undefined;
}

/** @throws ToolError `rate_limited` for 429, `invalid_output` for an answer to another request, and errors of `fetch`, as a rejection */
function withReceivedStats(fetch: FetchLike, received: ReceivedStats, kind: HttpWire["kind"]): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    received.problem = undefined;
    if (response.status === 429) throw await rateLimitError(response);
    if (response.status === 202 && kind === "http" && typeof init?.body === "string") checkAccepted(init.body);
    if (response.body === null) return response;
    const { status, statusText, headers } = response;
    const counted = countBytes(response.body.getReader(), received, init?.signal);
    const answer = new Response(isEventStream(headers) ? quoteLongNumbersInEvents(counted) : counted, { status, statusText, headers });
    const body = init?.body;
    if (kind === "sse" || typeof body !== "string" || !answer.ok || !JSON_CONTENT_TYPE.test(headers.get("content-type") ?? ""))
      return answer;
    return new Response(quoteLongNumbers(checkAnswer(body, await answer.text())), { status, statusText, headers });
  };
}

function countBytes(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  received: ReceivedStats,
  signal: AbortSignal | null | undefined,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        received.bytes += value.length;
        controller.enqueue(value);
      } catch (error: unknown) {
        if (signal?.aborted !== true) received.problem = findInnerToolError(error)?.message ?? describeThrown(error);
        controller.error(error);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

async function rateLimitError(response: Response): Promise<ToolError> {
  await response.body?.cancel();
  const retryAfterMs = readRetryAfter((name) => response.headers.get(name));
  return new ServerFault("rate_limited", "it asked to slow down (HTTP 429)", retryAfterMs === undefined ? {} : { retryAfterMs });
}
