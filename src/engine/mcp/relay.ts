/**
 * Between the official client and a transport: requests of our own go past the client, whose reading of every answer
 * would cost more than the call and lose a whole list for one bad tool; everything else reaches it.
 */
import type { JSONRPCMessage, Transport, TransportSendOptions } from "@modelcontextprotocol/client";
import type { ProgressUpdate } from "../../core/context.ts";
import { describeThrown } from "../../core/error.ts";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { ConnectionLost, RpcFailure, ServerFault, toFailure } from "./failure.ts";
import { INTERNAL_ERROR, INVALID_REQUEST } from "./rpc-codes.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";

export interface RelayRequest {
  readonly method: string;
  readonly params: JsonObject;
  readonly signal: AbortSignal;
  /** Besides those of the protocol; only over HTTP. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly onProgress?: (update: ProgressUpdate) => void;
}

export interface RelayEvents {
  onNotification(method: string, params: JsonObject): void;
  /** Answers a request of the server; undefined leaves it to the client. Rejecting with `RpcFailure` chooses the error. */
  onRequest(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> | undefined;
  /** Logs a message that was dropped. */
  onDropped(what: string): void;
}

/** As many answers to requests of the server may be on their way to it. A server that takes none of them does not get the others. */
const MAX_UNTAKEN = 1_000;
/** So many streams whose answer has come may be open: those that the server ends at once can be used for the next request. */
const MAX_ANSWERED = 32;
const ANSWERED = new ConnectionLost("its answer has come");
/** So many requests of a server, such as questions to a person, are answered at a time; the next is refused. */
const MAX_ASKED = 64;
/** JSON-RPC leaves this code to implementations. */
const TOO_MANY = -32_000;

interface Waiting {
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
  /** Put around the params of everything that is sent from here, once the version is known: what the modern era wants to see. */
  envelope: JsonObject | undefined;
  /** The client has not yet agreed on a version with the server. */
  isOpening = true;

  readonly #inner: Transport;
  readonly #events: RelayEvents;
  readonly #waiting = new Map<number, Waiting>();
  /** The streams of answers that have come, the oldest first: a server should end them, and some do not. */
  readonly #answered = new Set<AbortController>();
  readonly #answering = new Map<string | number, AbortController>();
  #untaken = 0;
  /** The client itself numbers from 0 and sends no more than one request that it numbers. */
  #nextId = 1;

  constructor(inner: Transport, events: RelayEvents) {
    this.#inner = inner;
    this.#events = events;
    this.hasPerRequestStream = inner.hasPerRequestStream === true;
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK knows only this way
    inner.onclose = () => this.#closed();
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK knows only this way
    inner.onerror = (error) => this.onerror?.(error);
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK knows only this way
    inner.onmessage = (message) => this.#received(message);
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

  /** Resolves as well for an answer that is dropped because too many others were not taken. */
  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if ("method" in message) return await this.#inner.send(message, options);
    if (this.#untaken >= MAX_UNTAKEN) return this.#events.onDropped("an answer to a request of the server, which takes no answers");
    this.#untaken++;
    try {
      await this.#inner.send(message, options);
    } finally {
      this.#untaken--;
    }
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  /**
   * Sends one request; it is on its way when this returns. An abort ends the wait at once and tells the server.
   *
   * @throws RpcFailure, by rejecting, for an error that the server answered; `ConnectionLost`; what the transport throws
   */
  request(request: RelayRequest): Promise<unknown> {
    const { method, signal } = request;
    const id = this.#nextId++;
    const stream = this.hasPerRequestStream ? new AbortController() : undefined;
    return new Promise<unknown>((resolve, reject) => {
      const stop = (): void => {
        if (this.#take(id) === undefined) return;
        reject(signal.reason);
        this.#cancel(id, stream, signal.reason);
      };
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener("abort", stop, { once: true });
      const ended = (): void => signal.removeEventListener("abort", stop);
      this.#waiting.set(id, {
        resolve: (result) => (ended(), resolve(result)),
        reject: (error) => (ended(), reject(error)),
        onProgress: request.onProgress,
        stream,
      });
      const options = {
        ...omitUndefined({ headers: request.headers, requestSignal: stream?.signal }),
        onRequestStreamEnd: () => {
          if (stream !== undefined) this.#answered.delete(stream);
          this.#take(id)?.reject(new ConnectionLost("its answer broke off"));
        },
      };
      this.#inner.send({ jsonrpc: "2.0", id, method, params: this.#wrapped(request, id) }, options).catch((error: unknown) => {
        this.#take(id)?.reject(error);
      });
    });
  }

  #wrapped({ params, onProgress }: RelayRequest, id: number): Record<string, unknown> {
    const own = isJsonObject(params["_meta"]) ? params["_meta"] : {};
    if (this.envelope === undefined && onProgress === undefined) return { ...params };
    return { ...params, _meta: { ...this.envelope, ...own, ...(onProgress === undefined ? {} : { progressToken: id }) } };
  }

  /** Tells the server. The modern era takes the end of the stream for a cancellation; the older one needs a notification first. */
  #cancel(id: number, stream: AbortController | undefined, reason: unknown): void {
    if (stream !== undefined && this.envelope !== undefined) return stream.abort(reason);
    const meta = this.envelope === undefined ? {} : { _meta: { ...this.envelope } };
    const told = this.#inner.send({
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId: id, reason: "The caller cancelled the call.", ...meta },
    });
    const close = (): void => stream?.abort();
    told.then(close, close);
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }

  #closed(): void {
    for (const id of this.#waiting.keys()) this.#take(id)?.reject(new ConnectionLost("it was closed"));
    for (const controller of this.#answering.values()) controller.abort();
    this.onclose?.();
  }

  #received(message: JSONRPCMessage): void {
    if (!("method" in message)) this.#takeAnswer(message);
    else if ("id" in message) this.#asked(message.id, message);
    else this.#notified(message);
  }

  #takeAnswer(message: JSONRPCMessage & { readonly id?: unknown }): void {
    const { id } = message;
    if (typeof id !== "number" || id < 1) return this.onmessage?.(message);
    const isResult = Object.hasOwn(message, "result");
    const error: unknown = ("error" in message ? message.error : undefined) ?? undefined; // some servers send null with a result
    const waiting = this.#take(id);
    if (waiting === undefined) return this.#events.onDropped(`an answer to request ${id}, which waits for none`);
    if (waiting.stream !== undefined) this.#leaveOpen(waiting.stream);
    if (isResult === (error !== undefined)) {
      const what = isResult ? "both a result and an error" : "neither a result nor an error";
      return waiting.reject(new ServerFault("invalid_output", `it sent an answer that has ${what}`));
    }
    if (isResult && "result" in message) waiting.resolve(message.result);
    else waiting.reject(toFailure(error));
  }

  #leaveOpen(stream: AbortController): void {
    this.#answered.add(stream);
    const [oldest] = this.#answered;
    if (this.#answered.size <= MAX_ANSWERED || oldest === undefined) return;
    this.#answered.delete(oldest);
    oldest.abort(ANSWERED);
  }

  #notified(message: JSONRPCMessage & { readonly method: string; readonly params?: unknown }): void {
    const params = isJsonObject(message.params) ? message.params : {};
    if (message.method === "notifications/progress") return this.#progressed(params);
    const { requestId } = params;
    if (message.method === "notifications/cancelled" && (typeof requestId === "string" || typeof requestId === "number")) {
      this.#answering.get(requestId)?.abort();
    }
    // The client follows the streams that it has opened; nothing else concerns it.
    if (/^notifications\/(?:cancelled|subscriptions\/)/u.test(message.method)) this.onmessage?.(message);
    else this.#events.onNotification(message.method, params);
  }

  #progressed({ progressToken, progress, total, message }: JsonObject): void {
    const waiting = typeof progressToken === "number" ? this.#waiting.get(progressToken) : undefined;
    if (typeof progress !== "number") return;
    waiting?.onProgress?.({
      done: progress,
      ...(typeof total === "number" ? { total } : {}),
      ...(typeof message === "string" ? { message } : {}),
    });
  }

  #asked(id: string | number, message: JSONRPCMessage & { readonly method: string; readonly params?: unknown }): void {
    const refusal = this.#refusalOf(id);
    if (refusal !== undefined) return this.#reply(refusal);
    const controller = new AbortController();
    const { params: given, ...bare } = message;
    const params = isJsonObject(given) ? given : {}; // some servers send null
    // The modern era has no requests of a server; its client drops what comes all the same.
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

  #refusalOf(id: string | number): JSONRPCMessage | undefined {
    // The answer to a second one would be taken for that of the first.
    if (this.#answering.has(id))
      return refuse(null, INVALID_REQUEST, `The id ${JSON.stringify(id)} is that of a request that is being answered.`);
    if (this.#answering.size < MAX_ASKED) return undefined;
    return refuse(id, TOO_MANY, `${MAX_ASKED} requests of this server are being answered already; send the next after an answer.`);
  }

  #reply(message: JSONRPCMessage): void {
    this.send(message).catch((error: unknown) => this.#events.onDropped(describeThrown(error)));
  }
}

/** The answer in JSON-RPC, whose `id` is null where that of the request cannot be used. The SDK's type knows no null. */
function refuse(id: string | number | null, code: number, message: string): JSONRPCMessage {
  return { jsonrpc: "2.0", id, error: { code, message } } as JSONRPCMessage;
}

/** A relay that the SDK takes for a stdio transport when it negotiates the protocol's version. */
export class StdioRelay extends Relay {
  readonly stderr = null;
  readonly pid = null;

  /** The SDK closes what it cannot agree with, but the process may be asked again: until then its end is up to its opener. */
  override close(): Promise<void> {
    return this.isOpening ? Promise.resolve() : super.close();
  }
}

interface RpcErrorBody {
  readonly code: number;
  readonly message: string;
}
