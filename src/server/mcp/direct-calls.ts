/** Answers plain calls of the revision 2026-07-28 like the SDK's server, but without a server instance per call. */
import type { ServerContext } from "@modelcontextprotocol/server";
import { describeThrown } from "../../core/error.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { replaceLoneSurrogates } from "../../core/base/lone-surrogates.ts";
import { acceptsStream } from "../api/requests/accepts-stream.ts";
import { KEEP_ALIVE_MS, type DirectReply, type DirectRequest } from "../http/direct.ts";
import { toAuthInfo } from "./auth-info.ts";
import type { CallAnswer } from "./call-result.ts";
import type { Gateway } from "./gateway.ts";
import { CALL_METHOD, parsePlainCall, type PlainCall } from "./plain-call.ts";
import { INTERNAL_ERROR, INVALID_PARAMS, MISSING_CAPABILITY, RESOURCE_NOT_FOUND } from "../../engine/mcp/rpc-codes.ts";
import type { Caller } from "./handler-context.ts";

/** Cached client descriptions that the SDK found valid: maximum number, and maximum length of each in characters. */
const MAX_CACHED = 1_000;
const MAX_CACHED_LENGTH = 4_096;
const SERVER_INFO = "io.modelcontextprotocol/serverInfo";
const PROGRESS = "notifications/progress";
/** The status if the client has disconnected or the server stops, as in the SDK. */
const CLOSED_REQUEST = 499;

export interface DirectExchange {
  readonly request: DirectRequest;
  readonly reply: DirectReply;
  /** Called directly before the call runs; false if it must be refused on the regular path. */
  readonly tryStart: () => boolean;
}

interface DirectCall {
  readonly call: PlainCall;
  readonly reply: DirectReply;
  isEventStream: boolean;
}

export class DirectCalls {
  readonly #gateway: Gateway;
  readonly #validEnvelopes = new Set<string>();
  readonly #running = new Map<DirectRequest, DirectReply>();

  constructor(gateway: Gateway) {
    this.#gateway = gateway;
  }

  /** Answers a message. false, with nothing done, if it is not a plain call. */
  async answer(body: JsonValue, caller: Caller, { request, reply, tryStart }: DirectExchange): Promise<boolean> {
    const call = parsePlainCall(body, request.headers);
    if (call === undefined || !this.#isValid(call, body, request) || !tryStart()) return false;
    if (request.signal.aborted) {
      reply.end(CLOSED_REQUEST);
      return true;
    }
    this.#running.set(request, reply);
    try {
      await this.#run({ call, reply, isEventStream: false }, caller, request);
    } finally {
      this.#running.delete(request);
    }
    return true;
  }

  close(): void {
    for (const [request, reply] of this.#running) {
      request.cancel();
      reply.end(CLOSED_REQUEST);
    }
  }

  async #run(directCall: DirectCall, caller: Caller, request: DirectRequest): Promise<void> {
    const { call, reply } = directCall;
    const context = toServerContext(directCall, caller, request);
    const stopTimer = this.#openWhenLate(directCall, request);
    try {
      const result = await this.#gateway.answerCall({ params: call.params }, context, caller);
      if (request.signal.aborted) return reply.end(CLOSED_REQUEST);
      sendMessage(directCall, 200, { result: this.#toResult(result), jsonrpc: "2.0", id: call.id });
    } catch (error: unknown) {
      if (request.signal.aborted) return reply.end(CLOSED_REQUEST);
      const errorBody = toErrorBody(error);
      sendMessage(directCall, errorBody.code === MISSING_CAPABILITY ? 400 : 200, { jsonrpc: "2.0", id: call.id, error: errorBody });
    } finally {
      stopTimer();
    }
  }

  /** Opens an event stream if the answer takes long, so that proxies keep the connection open. Returns a function to call at the end of the call. */
  #openWhenLate(directCall: DirectCall, request: DirectRequest): () => void {
    if (!acceptsStream(request)) return () => {};
    const open = (): void => {
      directCall.isEventStream = true;
      directCall.reply.openStream();
    };
    return this.#gateway.settings.clock.timer(open, KEEP_ALIVE_MS, { background: true });
  }

  /** Whether the client's description is valid. The SDK validates each distinct description once. */
  #isValid({ envelope }: PlainCall, body: JsonValue, { headers }: DirectRequest): boolean {
    const key = JSON.stringify(envelope);
    if (this.#validEnvelopes.has(key)) return true;
    const named = (name: string): string | undefined => headers.get(name) ?? undefined;
    const classified = this.#gateway.sdk.classifyInboundRequest({
      httpMethod: "POST",
      body,
      ...omitUndefined({
        protocolVersionHeader: named("mcp-protocol-version"),
        mcpMethodHeader: named("mcp-method"),
        mcpNameHeader: named("mcp-name"),
      }),
    });
    if (classified.kind !== "modern" || classified.messageKind !== "request") return false;
    if (this.#validEnvelopes.size >= MAX_CACHED) this.#validEnvelopes.clear();
    if (key.length <= MAX_CACHED_LENGTH) this.#validEnvelopes.add(key);
    return true;
  }

  #toResult({ _meta: meta, ...result }: CallAnswer | JsonObject): object {
    const { name, version } = this.#gateway.settings;
    const own = isJsonObject(meta) ? meta : {};
    return { resultType: "complete", ...result, _meta: { ...own, [SERVER_INFO]: { name, version } } };
  }
}

function sendMessage({ reply, isEventStream }: DirectCall, status: number, message: object): void {
  const text = replaceLoneSurrogates(JSON.stringify(message));
  if (!isEventStream) return reply.sendJson(status, text);
  reply.sendEvent(text);
  reply.end(status);
}

/** The SDK's context of a request, with the fields that handlers of calls use. */
function toServerContext(directCall: DirectCall, caller: Caller, { headers, signal }: DirectRequest): ServerContext {
  const { call, reply } = directCall;
  const notify = (notification: { readonly method: string; readonly params?: object }): Promise<void> => {
    directCall.isEventStream = true;
    const text = replaceLoneSurrogates(JSON.stringify({ jsonrpc: "2.0", ...notification }));
    if (notification.method === PROGRESS) reply.sendNotification(text);
    else reply.sendEvent(text);
    return Promise.resolve();
  };
  const mcpReq = {
    id: call.id,
    method: CALL_METHOD,
    ...(call.meta === undefined ? {} : { _meta: call.meta }),
    envelope: call.envelope,
    requestState: () => undefined,
    signal,
    notify,
    log: () => Promise.resolve(), // the client did not ask for log messages
  };
  // the SDK's type has more fields, which only handlers of other methods use
  return { mcpReq, http: { authInfo: toAuthInfo(caller), req: { headers } } } as unknown as ServerContext;
}

interface ErrorBody {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

function toErrorBody(error: unknown): ErrorBody {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const data = error instanceof Error && "data" in error ? error.data : undefined;
  const known = typeof code === "number" && Number.isSafeInteger(code) ? code : INTERNAL_ERROR;
  return {
    code: known === RESOURCE_NOT_FOUND ? INVALID_PARAMS : known,
    message: error instanceof Error ? error.message : describeThrown(error),
    ...(data === undefined ? {} : { data }),
  };
}
