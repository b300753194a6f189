/** MCP on the port of the API: with the same authentication, limits and metrics. */
import { MCP_PATH } from "../base-path.ts";
import { hasScope, type Principal } from "../auth/principal.ts";
import { findDistrust, type Trusted } from "../http/guard.ts";
import type { DirectHandler, DirectReply, DirectRequest } from "../http/direct.ts";
import { plainHeaders } from "../http/security-headers.ts";
import type { HttpGateway, McpWork } from "../mcp/http.ts";
import type { Caller } from "../mcp/handler-context.ts";
import { isJsonObject, type JsonValue } from "../../core/base/json.ts";
import { decodeHeader, parseToolCall } from "../mcp/param-headers.ts";
import { CALL_METHOD } from "../mcp/plain-call.ts";
import { messagesOf } from "../mcp/session-transport.ts";
import { countRequestBody, countResponseBody } from "./requests/count-bytes.ts";
import { authenticate, toRefusal } from "./requests/refuse-request.ts";
import type { ApiServices } from "./services.ts";
import { refuseSessionKey } from "./sessions/session-ids.ts";
import { endStreamWithCredentials } from "../auth/end-stream-with-credentials.ts";
import { isEventStream } from "./requests/accepts-stream.ts";

type Services = Pick<ApiServices, "access" | "clock" | "metrics" | "limits" | "runtime">;

/** Answers one request on the regular path. @throws HttpError, ToolError for a refused request, as a rejection */
export async function answerMcp(mcp: HttpGateway, request: Request, services: Services): Promise<Response> {
  const { access, clock, metrics, limits } = services;
  const startedAt = clock.now();
  const principal = await authenticate(access, request, "execute");
  countRequest(request, principal, services);
  refuseSessionKey(principal);
  const count = (bytes: number): void => limits.spendBytes(principal.id, bytes);
  // a body that is declared larger than the limit is not read
  const countSent = (bytes: number): void => count(bytes <= mcp.settings.maxBodyBytes ? bytes : 0);
  const work = new CountedWork(services, principal);
  try {
    const response = countResponseBody(await mcp.answer(countRequestBody(request, countSent), callerOf(principal), work), count);
    metrics.recordRequest("mcp", response.status, clock.now() - startedAt);
    const { body } = response;
    if (body !== null && isEventStream(response)) {
      request.signal.addEventListener("abort", work.end, { once: true });
      return new Response(endStreamWithCredentials(body, { principal, access, onEnded: work.end }), response);
    }
    work.end();
    return response;
  } catch (thrown: unknown) {
    work.end();
    throw thrown;
  }
}

/** Counts a request whose body is not read yet. A client of 2026-07-28 names the tool in a header too. @throws ToolError `rate_limited` */
function countRequest({ headers }: Request, principal: Principal, services: Services): void {
  try {
    services.limits.countRequest(principal.id);
  } catch (thrown: unknown) {
    const name = headers.get("mcp-method") === CALL_METHOD ? headers.get("mcp-name") : null;
    throw toRefusal(thrown, name === null ? { principal } : { principal, names: [decodeHeader(name) ?? name] }, services);
  }
}

/** Counts a request and its calls against the limits until it is answered, or until its calls have ended if they outlive it. */
class CountedWork implements McpWork {
  readonly #services: Services;
  readonly #principal: Principal;
  readonly #endCallbacks: (() => void)[] = [];
  #endCalls: (() => void) | undefined;

  constructor(services: Services, principal: Principal) {
    this.#services = services;
    this.#principal = principal;
  }

  /** Begins to count. A client that only listens counts as a stream, and each call of a batch is counted. @throws ToolError `rate_limited` */
  startWork(method: string, body: JsonValue | undefined): void {
    const messages = messagesOf(body);
    try {
      this.#startWork(method, messages);
    } catch (thrown: unknown) {
      const names = messages.flatMap((message) => parseToolCall(message)?.name ?? []);
      throw toRefusal(thrown, { principal: this.#principal, names }, this.#services);
    }
  }

  #startWork(method: string, messages: readonly unknown[]): void {
    const { limits } = this.#services;
    const { id } = this.#principal;
    const methods = messages.map((message) => (isJsonObject(message) ? message["method"] : undefined));
    const isStream = method === "GET" || methods.includes("subscriptions/listen");
    this.#endCallbacks.push(limits.startWork(id, isStream ? "streams" : "requests"));
    const calls = methods.filter((name) => name === CALL_METHOD).length;
    if (calls > 0) this.#endCalls = limits.startWork(id, "calls", calls);
  }

  readonly continueUntil = (ended: Promise<void>): void => {
    const end = this.#endCalls;
    this.#endCalls = undefined;
    if (end !== undefined) void ended.then(end);
  };

  /** Like `startWork` for one call; false if a limit is reached: the regular path then begins it again and refuses it. */
  tryStartCall(): boolean {
    try {
      this.#startWork("POST", [{ method: CALL_METHOD }]);
      return true;
    } catch {
      return false;
    }
  }

  readonly end = (): void => {
    for (const end of this.#endCallbacks) end();
    this.#endCalls?.();
  };
}

/**
 * Answers plain calls like `answerMcp`, without a `Response`. Requests that would be refused, and all requests of pages, take the regular path, which
 * writes and records the refusal.
 */
export function directMcp(mcp: HttpGateway, services: Services, { trusted }: { readonly trusted: Trusted }): DirectHandler {
  const { access, limits } = services;
  const principals = new WeakMap<DirectRequest, Principal>();
  const works = new WeakMap<DirectRequest, CountedWork>();
  const handler = mcp.createDirectHandler(MCP_PATH, {
    trustsRequest: (head) => head.headers.get("origin") === null && findDistrust(head, trusted) === undefined,
    async callerOf(request) {
      const principal = await access.authenticateSender(request).catch(() => undefined); // the regular path authenticates again, and answers with the error
      if (principal === undefined || !hasScope(principal, "execute") || principal.sessionId !== undefined) return undefined;
      if (!limits.allowsRequest(principal.id)) return undefined; // checked before the body is read
      principals.set(request, principal);
      return callerOf(principal);
    },
    tryStart(request, { id }) {
      const principal = principals.get(request);
      if (principal === undefined) return false;
      const work = new CountedWork(services, principal);
      works.set(request, work);
      if (!limits.allowsRequest(id) || !work.tryStartCall()) return false;
      limits.countRequest(id);
      limits.spendBytes(id, Number(request.headers.get("content-length")));
      return true;
    },
  });
  return {
    headers: plainHeaders(trusted),
    match(head) {
      const answer = handler.match(head);
      if (answer === undefined) return undefined;
      return async (request, read, reply) => {
        try {
          return await answer(request, read, new CountedReply(reply, services, { request, principal: () => principals.get(request) }));
        } finally {
          works.get(request)?.end();
        }
      };
    },
  };
}

function callerOf(principal: Principal): Caller {
  return { id: principal.id, principal };
}

/** Counts the bytes of a response, and ends its stream when the credentials of the principal end. */
class CountedReply implements DirectReply {
  readonly #reply: DirectReply;
  readonly #services: Services;
  readonly #startedAt: number;
  readonly #request: DirectRequest;
  readonly #principal: () => Principal | undefined;
  #unwatch: (() => void) | undefined;
  #hasEnded = false;

  constructor(
    reply: DirectReply,
    services: Services,
    { request, principal }: { readonly request: DirectRequest; readonly principal: () => Principal | undefined },
  ) {
    this.#reply = reply;
    this.#services = services;
    this.#startedAt = services.clock.now();
    this.#request = request;
    this.#principal = principal;
  }

  sendJson(status: number, text: string): void {
    this.#hasEnded = true;
    this.#count(text);
    this.#recordMetrics(status);
    this.#reply.sendJson(status, text);
  }

  openStream(): void {
    this.#unwatch ??= this.#watchCredentials();
    this.#reply.openStream();
  }

  sendEvent(text: string): void {
    this.#count(text);
    this.#unwatch ??= this.#watchCredentials();
    this.#reply.sendEvent(text);
  }

  sendNotification(text: string): boolean {
    this.#unwatch ??= this.#watchCredentials();
    const isSent = this.#reply.sendNotification(text);
    if (isSent) this.#count(text);
    return isSent;
  }

  end(status: number): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#unwatch?.();
    this.#recordMetrics(this.#unwatch === undefined ? status : 200);
    this.#reply.end(status);
  }

  #watchCredentials(): () => void {
    const principal = this.#principal();
    if (principal === undefined) return () => {};
    return this.#services.access.watch(principal, () => {
      this.#request.cancel();
      this.#reply.end(200);
    });
  }

  #count(text: string): void {
    const principal = this.#principal();
    if (principal !== undefined) this.#services.limits.spendBytes(principal.id, Buffer.byteLength(text));
  }

  #recordMetrics(status: number): void {
    const { clock, metrics } = this.#services;
    metrics.recordRequest("mcp", status, clock.now() - this.#startedAt);
  }
}
