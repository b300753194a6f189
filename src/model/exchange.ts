/** One request to a provider and its answer: aborted when it stalls, grows too large, or is cancelled. */
import { ToolError } from "../core/error.ts";
import type { Clock } from "../core/ports.ts";
import { rejectOnAbort } from "../core/base/reject-on-abort.ts";
import { networkFailure } from "../net/network-failure.ts";
import { failedToConnect } from "../net/connect-failure.ts";
import { onAbort } from "../core/base/on-abort.ts";

/** The part of `fetch` that is used. */
export type FetchFunction = (url: string, init: RequestInit) => Promise<Response>;

export interface ExchangeSettings {
  /** The model's name, for messages. */
  readonly model: string;
  /** `host:port`, for messages. */
  readonly server: string;
  readonly fetch: FetchFunction;
  readonly clock: Clock;
  /** Longest wait for the first byte of the body; 0 = no limit. */
  readonly firstByteTimeoutMs: number;
  /** Longest wait between two pieces of the body; 0 = no limit. */
  readonly idleTimeoutMs: number;
  readonly maxBytes: number;
}

interface Dispatcher {
  dispatch(options: object, handler: object): boolean;
  /** Set by undici's `MockAgent`: `fetch` then passes the body as text, which the mocks compare. */
  readonly isMockActive?: boolean;
}
/**
 * Where the `fetch` of Node.js looks up its dispatcher (a proxy, for example), set once `fetch` or a part of it was loaded. Node 24 sets both symbols
 * and uses this one.
 */
const DISPATCHER = Symbol.for("undici.globalDispatcher.1");
/** The symbol of Node 26, whose handlers have other methods: dispatchers of undici 6 and older cannot call them. */
const NEW_DISPATCHER = Symbol.for("undici.globalDispatcher.2");
/** Turns off the limits of Node's `fetch`, 300 s for the head of an answer and between two pieces of it, so that only `ExchangeSettings` count. */
const NO_FETCH_LIMITS: { readonly dispatcher: Dispatcher } = {
  dispatcher: {
    dispatch: (options, handler) => findDispatcher(handler).dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler),
    get isMockActive() {
      return [getDispatcher(DISPATCHER), getDispatcher(NEW_DISPATCHER)].some((known) => known?.isMockActive === true);
    },
  },
};

function getDispatcher(place: symbol): Dispatcher | undefined {
  return Reflect.get(globalThis, place) as Dispatcher | undefined;
}

/** The dispatcher that `fetch` itself would use, recognized by the methods of its handler. It was set when the request began. */
function findDispatcher(handler: object): Dispatcher {
  const isNew = "onRequestStart" in handler && getDispatcher(NEW_DISPATCHER) !== undefined;
  return getDispatcher(isNew ? NEW_DISPATCHER : DISPATCHER) as Dispatcher;
}

function fetchLimits(fetch: FetchFunction): object {
  const isNodes = fetch === globalThis.fetch && typeof Response === "function"; // reading `Response` loads undici, which sets the dispatcher
  return isNodes && typeof getDispatcher(DISPATCHER)?.dispatch === "function" ? NO_FETCH_LIMITS : {};
}

/** How long, and for how many bytes, the rest of a body is read after a complete answer before the connection is closed. */
const DRAIN_MS = 250;
const DRAIN_BYTES = 65_536;

/** Serves one request; its creator closes it. */
export class Exchange {
  readonly #settings: ExchangeSettings;
  readonly #controller = new AbortController();
  readonly #removeAbortListener: (() => void) | undefined;
  #cancelTimer: (() => void) | undefined;
  #lastByteAt = 0;
  #bytes = 0;
  /** The error with which this side ended the exchange: a timeout or a cancellation. */
  #failure: ToolError | undefined;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #hasEnded = false;
  /** Whether the answer is complete, although its body has not ended. */
  isComplete = false;
  /** The network error, if the connection broke before the end of the body. */
  connectionError: ToolError | undefined;

  constructor(settings: ExchangeSettings, signal: AbortSignal | undefined) {
    this.#settings = settings;
    this.#removeAbortListener = signal === undefined ? undefined : onAbort(signal, () => this.#fail(cancelledError(settings.model)));
  }

  /**
   * @param request makes the request to send; counts towards the time until the first byte
   * @throws ToolError `network_error`, `timeout`, `cancelled`, and errors of `request`
   */
  async open(url: string, request: () => Promise<RequestInit>): Promise<Response> {
    const { firstByteTimeoutMs, fetch, model, server } = this.#settings;
    const { signal } = this.#controller;
    if (this.#failure !== undefined) throw this.#failure;
    this.#scheduleTimeout(firstByteTimeoutMs, () => stalledError(`${model} did not start to answer within ${firstByteTimeoutMs} ms.`));
    const init = await rejectOnAbort(request(), signal); // rejects with the reason of the abort
    try {
      const answer = fetch(url, { ...init, ...fetchLimits(fetch), redirect: "manual", signal });
      // a fetch that ignores the signal may still answer, and its body would stay open
      answer.then(
        (late) => (signal.aborted ? late.body?.cancel().catch(() => undefined) : undefined),
        () => undefined,
      );
      return await rejectOnAbort(answer, signal);
    } catch (thrown: unknown) {
      const cause = findCause(thrown);
      throw this.#failure ?? networkFailure(server, cause, failedToConnect(cause) ? "not_started" : "unknown");
    }
  }

  /**
   * The next piece of the body; undefined at its end, and if the connection breaks: see `connectionError`.
   *
   * @throws ToolError `timeout`, `cancelled`, `too_large`
   */
  async read({ body }: Response): Promise<Uint8Array | undefined> {
    if (this.#reader === undefined && body !== null) this.#openReader(body);
    const value = this.#reader === undefined ? undefined : await this.#readPiece(this.#reader);
    if (this.#failure !== undefined) throw this.#failure;
    if (value === undefined) {
      this.#hasEnded = this.connectionError === undefined;
      return undefined;
    }
    const { maxBytes, model, clock } = this.#settings;
    if (this.#bytes === 0) this.#watchIdle();
    this.#lastByteAt = clock.now();
    this.#bytes += value.byteLength;
    if (this.#bytes > maxBytes) throw new ToolError("too_large", `The answer of ${model} is larger than ${maxBytes} bytes.`);
    return value;
  }

  #openReader(body: ReadableStream<Uint8Array>): void {
    const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader();
    this.#reader = reader;
    this.#controller.signal.addEventListener("abort", () => void reader.cancel().catch(() => undefined), { once: true });
  }

  /** The beginning of a body as text, at most `maxBytes`. If the connection breaks, the part that arrived. */
  async text(response: Response, maxBytes: number): Promise<string> {
    const decoder = new TextDecoder();
    let text = "";
    let bytes = 0;
    for (let chunk = await this.read(response); chunk !== undefined; chunk = await this.read(response)) {
      text += decoder.decode(chunk.subarray(0, maxBytes - bytes), { stream: true });
      bytes += chunk.byteLength;
      if (bytes >= maxBytes) break;
    }
    return text + decoder.decode();
  }

  /**
   * Ends the exchange, and closes the connection if the body has not ended. After a complete answer, the end of the body may come a moment later: it
   * is read in the background, so that the connection can be reused. Idempotent.
   */
  close(): void {
    this.#removeAbortListener?.();
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    if (this.isComplete && this.#reader !== undefined && this.#failure === undefined) void this.#drain(this.#reader);
    else this.#abort();
  }

  async #drain(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    const cancelTimer = this.#settings.clock.timer(() => this.#abort(), DRAIN_MS, { background: true });
    try {
      for (let bytes = 0; bytes <= DRAIN_BYTES;) {
        const { value } = await reader.read();
        if (value === undefined) return;
        bytes += value.byteLength;
      }
      this.#abort();
    } catch {
      // the answer is complete without the rest
    } finally {
      cancelTimer();
    }
  }

  #abort(): void {
    this.#failure ??= cancelledError(this.#settings.model);
    this.#controller.abort(this.#failure);
  }

  /** The next piece; undefined at the end, also if the connection broke (`connectionError` is set then). */
  async #readPiece(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array | undefined> {
    try {
      return (await reader.read()).value;
    } catch (thrown: unknown) {
      this.connectionError = networkFailure(this.#settings.server, findCause(thrown), "unknown");
      return undefined;
    }
  }

  #watchIdle(): void {
    const { idleTimeoutMs, model } = this.#settings;
    this.#scheduleTimeout(idleTimeoutMs, () =>
      stalledError(`${model} stopped in the middle of its answer: it sent nothing for ${idleTimeoutMs} ms.`),
    );
  }

  /** Uses one timer for all pieces: when it fires too early, it is set again for the remaining time. */
  #scheduleTimeout(limitMs: number, late: () => ToolError): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (limitMs === 0) return;
    const { clock } = this.#settings;
    this.#lastByteAt = clock.now();
    const wake = (): void => {
      const leftMs = this.#lastByteAt + limitMs - clock.now();
      if (leftMs <= 0) this.#fail(late());
      else this.#cancelTimer = clock.timer(wake, leftMs);
    };
    this.#cancelTimer = clock.timer(wake, limitMs);
  }

  #fail(error: ToolError): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#controller.abort(error);
  }
}

export function cancelledError(model: string): ToolError {
  return new ToolError("cancelled", `The request to ${model} was cancelled.`);
}

function stalledError(message: string): ToolError {
  return new ToolError("timeout", message);
}

/** The cause of the error, if it has one: `fetch` itself says only that it failed. */
function findCause(thrown: unknown): unknown {
  return thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
}
