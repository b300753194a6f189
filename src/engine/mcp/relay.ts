/**
 * Sits between the official client and a transport. Haft's own requests bypass the client, whose parsing of every answer would cost more than the
 * call and would lose a whole list for one bad tool; everything else reaches it.
 */
import type { JSONRPCMessage, Transport, TransportSendOptions } from "@modelcontextprotocol/client";
import type { ProgressUpdate } from "../../core/context.ts";
import { describeThrown } from "../../core/error.ts";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { ConnectionLost, RpcFailure, ServerFault, toRpcFailure } from "./failure.ts";
import { INTERNAL_ERROR, INVALID_REQUEST } from "./rpc-codes.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";

export interface RelayRequest {
  readonly method: string;
  readonly params: JsonObject;
  readonly signal: AbortSignal;
  /** Sent in addition to those of the protocol; only over HTTP. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly onProgress?: (update: ProgressUpdate) => void;
}

export interface RelayEvents {
  onNotification(method: string, params: JsonObject): void;
  /** Answers a request of the server; undefined if the client is to answer it. Rejecting with `RpcFailure` chooses the error. */
  onRequest(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> | undefined;
  /** Logs a message that was dropped. */
  onDropped(what: string): void;
}

/** Maximum number of answers being sent to a server. Further ones are dropped, as the server is not reading them. */
const MAX_PENDING_SENDS = 1_000;
/** Maximum number of streams left open after their answer: if the server ends a stream itself, its connection can be reused. */
const MAX_OPEN_STREAMS = 32;
const ANSWER_RECEIVED = new ConnectionLost("its answer has come");
/** Maximum number of requests of a server, such as questions to a person, that are answered at a time; further ones are refused. */
const MAX_SERVER_REQUESTS = 64;
/** A code that JSON-RPC leaves to implementations. */
const TOO_MANY_REQUESTS = -32_000;

interface PendingRequest {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly onProgress: ((update: ProgressUpdate) => void) | undefined;
  readonly stream: AbortController | undefined;
}

export class Relay implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly hasPerRequestStream: boolean;
  /** Added to `_meta` of everything that is sent from here, once the version is known: the modern era requires it. */
  envelope: JsonObject | undefined;
  /** Whether the client is still negotiating the version with the server. */
  isNegotiating = true;

  readonly #inner: Transport;
  readonly #events: RelayEvents;
  readonly #pending = new Map<number, PendingRequest>();
  /** The streams whose answer has arrived, the oldest first: a server should end them, but some do not. */
  readonly #answeredStreams = new Set<AbortController>();
  readonly #answering = new Map<string | number, AbortController>();
  #pendingSends = 0;
  /** The client counts from 0, and sends at most one request with an id of its own. */
  #nextId = 1;

  constructor(inner: Transport, events: RelayEvents) {
    this.#inner = inner;
    this.#events = events;
    this.hasPerRequestStream = inner.hasPerRequestStream === true;
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK knows only this way
    inner.onclose = () => this.#handleClose();
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK knows only this way
    inner.onerror = (error) => this.onerror?.(error);
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK knows only this way
    inner.onmessage = (message) => this.#handleMessage(message);
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion?.(version);
  }

  start(): Promise<void> {
    return this.#inner.start();
  }

  /** Sends a message of the client. Also resolves for an answer that is dropped because too many are pending. */
  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if ("method" in message) return await this.#inner.send(message, options);
    if (this.#pendingSends >= MAX_PENDING_SENDS)
      return this.#events.onDropped("an answer to a request of the server, which does not read answers");
    this.#pendingSends++;
    try {
      await this.#inner.send(message, options);
    } finally {
      this.#pendingSends--;
    }
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  /**
   * Sends one request; it has been sent when this returns. An abort ends the wait at once and notifies the server.
   *
   * @throws RpcFailure for an error that the server answered; `ConnectionLost`; errors of the transport; all as rejections
   */
  request(request: RelayRequest): Promise<unknown> {
    const { method, signal } = request;
    const id = this.#nextId++;
    const stream = this.hasPerRequestStream ? new AbortController() : undefined;
    return new Promise<unknown>((resolve, reject) => {
      const stop = (): void => {
        if (this.#takePending(id) === undefined) return;
        reject(signal.reason);
        this.#cancel(id, stream, signal.reason);
      };
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener("abort", stop, { once: true });
      const ended = (): void => signal.removeEventListener("abort", stop);
      this.#pending.set(id, {
        resolve: (result) => (ended(), resolve(result)),
        reject: (error) => (ended(), reject(error)),
        onProgress: request.onProgress,
        stream,
      });
      const options = {
        ...omitUndefined({ headers: request.headers, requestSignal: stream?.signal }),
        onRequestStreamEnd: () => {
          if (stream !== undefined) this.#answeredStreams.delete(stream);
          this.#takePending(id)?.reject(new ConnectionLost("its answer broke off"));
        },
      };
      this.#inner.send({ jsonrpc: "2.0", id, method, params: this.#withMeta(request, id) }, options).catch((error: unknown) => {
        this.#takePending(id)?.reject(error);
      });
    });
  }

  #withMeta({ params, onProgress }: RelayRequest, id: number): Record<string, unknown> {
    const own = isJsonObject(params["_meta"]) ? params["_meta"] : {};
    if (this.envelope === undefined && onProgress === undefined) return { ...params };
    return { ...params, _meta: { ...this.envelope, ...own, ...(onProgress === undefined ? {} : { progressToken: id }) } };
  }

  /** Notifies the server. In the modern era, ending the stream is the cancellation; the legacy era needs a notification first. */
  #cancel(id: number, stream: AbortController | undefined, reason: unknown): void {
    if (stream !== undefined && this.envelope !== undefined) return stream.abort(reason);
    const meta = this.envelope === undefined ? {} : { _meta: { ...this.envelope } };
    const sending = this.#inner.send({
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId: id, reason: "The caller cancelled the call.", ...meta },
    });
    const close = (): void => stream?.abort();
    sending.then(close, close);
  }

  #takePending(id: number): PendingRequest | undefined {
    const waiting = this.#pending.get(id);
    this.#pending.delete(id);
    return waiting;
  }

  #handleClose(): void {
    for (const id of this.#pending.keys()) this.#takePending(id)?.reject(new ConnectionLost("it was closed"));
    for (const controller of this.#answering.values()) controller.abort();
    this.onclose?.();
  }

  #handleMessage(message: JSONRPCMessage): void {
    if (!("method" in message)) this.#handleAnswer(message);
    else if ("id" in message) this.#handleRequest(message.id, message);
    else this.#handleNotification(message);
  }

  #handleAnswer(message: JSONRPCMessage & { readonly id?: unknown }): void {
    const { id } = message;
    if (typeof id !== "number" || id < 1) return this.onmessage?.(message);
    const isResult = Object.hasOwn(message, "result");
    const error: unknown = ("error" in message ? message.error : undefined) ?? undefined; // some servers send null with a result
    const waiting = this.#takePending(id);
    if (waiting === undefined) return this.#events.onDropped(`an answer to request ${id}, which is not waiting for one`);
    if (waiting.stream !== undefined) this.#keepStreamOpen(waiting.stream);
    if (isResult === (error !== undefined)) {
      const what = isResult ? "both a result and an error" : "neither a result nor an error";
      return waiting.reject(new ServerFault("invalid_output", `it sent an answer that has ${what}`));
    }
    if (isResult && "result" in message) waiting.resolve(message.result);
    else waiting.reject(toRpcFailure(error));
  }

  #keepStreamOpen(stream: AbortController): void {
    this.#answeredStreams.add(stream);
    const [oldest] = this.#answeredStreams;
    if (this.#answeredStreams.size <= MAX_OPEN_STREAMS || oldest === undefined) return;
    this.#answeredStreams.delete(oldest);
    oldest.abort(ANSWER_RECEIVED);
  }

  #handleNotification(message: JSONRPCMessage & { readonly method: string; readonly params?: unknown }): void {
    const params = isJsonObject(message.params) ? message.params : {};
    if (message.method === "notifications/progress") return this.#handleProgress(params);
    const { requestId } = params;
    if (message.method === "notifications/cancelled" && (typeof requestId === "string" || typeof requestId === "number")) {
      this.#answering.get(requestId)?.abort();
    }
    // the client follows the streams that it has opened, and no other notifications
    if (/^notifications\/(?:cancelled|subscriptions\/)/u.test(message.method)) this.onmessage?.(message);
    else this.#events.onNotification(message.method, params);
  }

  #handleProgress({ progressToken, progress, total, message }: JsonObject): void {
    const waiting = typeof progressToken === "number" ? this.#pending.get(progressToken) : undefined;
    if (typeof progress !== "number") return;
    waiting?.onProgress?.({
      done: progress,
      ...(typeof total === "number" ? { total } : {}),
      ...(typeof message === "string" ? { message } : {}),
    });
  }

  #handleRequest(id: string | number, message: JSONRPCMessage & { readonly method: string; readonly params?: unknown }): void {
    const refusal = this.#findRefusal(id);
    if (refusal !== undefined) return this.#reply(refusal);
    const controller = new AbortController();
    const { params: given, ...bare } = message;
    const params = isJsonObject(given) ? given : {}; // some servers send null
    // the modern era has no requests of a server: the client drops them
    const answer = this.envelope === undefined ? this.#events.onRequest(message.method, params, controller.signal) : undefined;
    if (answer === undefined) return this.onmessage?.(given === null ? bare : message);
    this.#answering.set(id, controller);
    const reply = (part: { readonly result: Record<string, unknown> } | { readonly error: RpcErrorBody }): void => {
      this.#answering.delete(id);
      if (controller.signal.aborted) return;
      this.#reply({ jsonrpc: "2.0", id, ...part });
    };
    answer.then(
      (result) => reply({ result: { ...result } }),
      (error: unknown) =>
        reply({ error: { code: error instanceof RpcFailure ? error.code : INTERNAL_ERROR, message: describeThrown(error) } }),
    );
  }

  #findRefusal(id: string | number): JSONRPCMessage | undefined {
    // the answer to a second request of this id would be taken for that to the first
    if (this.#answering.has(id))
      return errorResponse(null, INVALID_REQUEST, `The id ${JSON.stringify(id)} is in use by a request that is being answered.`);
    if (this.#answering.size < MAX_SERVER_REQUESTS) return undefined;
    return errorResponse(
      id,
      TOO_MANY_REQUESTS,
      `${MAX_SERVER_REQUESTS} requests of this server are being answered already; send the next after an answer.`,
    );
  }

  #reply(message: JSONRPCMessage): void {
    this.send(message).catch((error: unknown) => this.#events.onDropped(describeThrown(error)));
  }
}

/** An error response. Its `id` is null if the request's cannot be used, which the SDK's type does not allow. */
function errorResponse(id: string | number | null, code: number, message: string): JSONRPCMessage {
  return { jsonrpc: "2.0", id, error: { code, message } } as JSONRPCMessage;
}

/** A relay that the SDK treats as a stdio transport when it negotiates the version. */
export class StdioRelay extends Relay {
  readonly stderr = null;
  readonly pid = null;

  /** Does nothing while opening: the SDK closes after a failed negotiation, but the process may be asked again, so its opener closes it. */
  override close(): Promise<void> {
    return this.isNegotiating ? Promise.resolve() : super.close();
  }
}

interface RpcErrorBody {
  readonly code: number;
  readonly message: string;
}
