/** Finds the route of a request, authenticates its sender, validates it, and calls its handler. */
import type { TrieRouter } from "hono/router/trie-router";
import { isJsonObject } from "../../../core/base/json.ts";
import { ToolError } from "../../../core/error.ts";
import { loadPackage } from "../../../core/system/lazy-package.ts";
import { API, OPERATION_IDS, type OperationId } from "../../api.ts";
import type { Principal } from "../../auth/principal.ts";
import { continueTrace } from "../../continue-trace.ts";
import { clientGoneError } from "../../http/body.ts";
import type { RequestHead } from "../../http/request-head.ts";
import { TextResponse } from "../../http/text-response.ts";
import type { ApiRequest, SentRequest } from "./api-request.ts";
import { jsonResponse } from "../handlers/responses.ts";
import { countAnswerBody, notifyWhenRead } from "./count-bytes.ts";
import { errorResponse } from "./error-response.ts";
import { forwardAfterError, forwardRequest, type Destination } from "./forward.ts";
import type { KeyedAnswers } from "./keyed-answers.ts";
import { noRoute, readRequest, type RequestParts } from "./read-request.ts";
import { authenticate, recordRefusal, toRefusal } from "./refuse-request.ts";
import type { Route } from "./route.ts";
import type { ApiServices, Handlers } from "../services.ts";
import { isEventStream } from "./accepts-stream.ts";

export interface RouterOptions {
  readonly services: ApiServices;
  readonly handlers: Handlers;
  readonly keyed: KeyedAnswers;
}

/** For responses of writes: a client that retried one automatically would run its calls twice. */
const NO_RETRY = { "x-should-retry": "false" } as const;

/** If a response took longer than this, credentials are checked again, so that a key revoked meanwhile reads nothing. In milliseconds. */
const RECHECK_AFTER_MS = 1_000;

/** The principal of requests to routes without authentication. */
const ANONYMOUS: Principal = Object.freeze({ id: "anybody", name: "anybody", scopes: new Set<never>() });

type AnyHandler = (request: HandlerRequest, services: ApiServices) => unknown;

/** A route, and the parameters in its path. */
export interface FoundRoute {
  readonly id: OperationId;
  readonly params: Readonly<Record<string, string>>;
}

/** Answers requests by the table of routes, from any HTTP server. */
export interface ApiRouter {
  /** Finds the route; undefined if there is none. `HEAD` finds the route of `GET`. */
  find(head: RequestHead): FoundRoute | undefined;
  /** The response to a request without a route. */
  notFound(head: RequestHead): TextResponse;
  /** Answers a request. Never rejects. */
  answer(found: FoundRoute, request: SentRequest): Promise<TextResponse | Response>;
}

/** Loads Hono's router. @throws ToolError `unavailable` if it is not installed, as a rejection */
export async function createRouter(options: RouterOptions): Promise<ApiRouter> {
  const { TrieRouter, getPath, tryDecodeURIComponent } = await loadHono();
  const routes = new TrieRouter<OperationId>();
  for (const id of OPERATION_IDS) {
    const { method, path }: Route = API[id];
    routes.add(method, path.replaceAll(/\{([A-Za-z]+)\}/gu, ":$1"), id);
  }
  return {
    find(head) {
      const [[match]] = routes.match(head.method === "HEAD" ? "GET" : head.method, getPath(head));
      if (match === undefined) return undefined;
      const params: Record<string, string> = {};
      for (const [name, value] of Object.entries(match[1])) params[name] = tryDecodeURIComponent(String(value));
      return { id: match[0], params };
    },
    notFound: (head) => errorResponse(noRoute(head.method, getPath(head)), options.services),
    answer: (found, request) => handleRoute(found, request, options),
  };
}

interface HonoRouter {
  readonly TrieRouter: typeof TrieRouter;
  readonly getPath: (request: Pick<RequestHead, "url">) => string;
  readonly tryDecodeURIComponent: (text: string) => string;
}

async function loadHono(): Promise<HonoRouter> {
  const [{ TrieRouter: Router }, { getPath, tryDecodeURIComponent }] = await loadPackage(
    () => Promise.all([import("hono/router/trie-router"), import("hono/utils/url")]),
    { name: "hono", need: "the HTTP API needs it" },
  );
  // getPath reads only the URL
  return { TrieRouter: Router, getPath: getPath as HonoRouter["getPath"], tryDecodeURIComponent };
}

async function handleRoute(found: FoundRoute, request: SentRequest, options: RouterOptions): Promise<TextResponse | Response> {
  const { id } = found;
  const { services } = options;
  const { clock, metrics } = services;
  const startedAt = clock.now();
  let end: (() => void) | undefined;
  let response: TextResponse | Response;
  let principal: Principal | undefined;
  try {
    principal = await principalOf(id, request, services);
    if (principal !== ANONYMOUS) end = services.limits.startWork(principal.id, "requests");
    response = await answer(found, { options, principal, request: withCountedBody(id, request, { principal, services }) });
    const isLong = clock.now() - startedAt >= RECHECK_AFTER_MS && response instanceof TextResponse;
    if (isLong && API[id].method === "GET" && principal !== ANONYMOUS && !(await isStillValid(principal, services)))
      await authenticateFor(id, request, services);
  } catch (caught: unknown) {
    // a handler that throws the abort reason failed because the client disconnected
    const thrown = caught === request.signal.reason ? clientGoneError(caught) : caught;
    response = errorResponse(thrown, services);
    recordRefusal(services.access, { request, status: response.status, thrown, principal: principal?.id });
  }
  if (end !== undefined) response = endWhenRead(response, { end, signal: request.signal });
  metrics.recordRequest(id, response.status, clock.now() - startedAt);
  if (principal === undefined || principal === ANONYMOUS || request.method === "HEAD") return response;
  const { id: principalId } = principal;
  return countAnswerBody(response, (bytes) => services.limits.spendBytes(principalId, bytes));
}

/** A streamed response counts as in progress until it has been read. Event streams are counted separately. */
function endWhenRead(
  answer: TextResponse | Response,
  { end, signal }: { readonly end: () => void; readonly signal: AbortSignal },
): TextResponse | Response {
  if (answer instanceof Response && !isEventStream(answer)) {
    signal.addEventListener("abort", end, { once: true }); // a framework around the server may stop reading when the client disconnects
    return notifyWhenRead(answer, end);
  }
  end();
  return answer;
}

/** The session id of an agent. The session of an agent in another process of the store has the agent's name. */
function sessionOfAgent(name: string | undefined, { agents }: ApiServices): string | undefined {
  return name === undefined ? undefined : (agents.get(name)?.session.id ?? name);
}

/** Counts the body of a request. A body that is declared larger than the limit is not read, and not counted. */
function withCountedBody(id: OperationId, request: SentRequest, { principal, services }: CountOptions): SentRequest {
  if (principal === ANONYMOUS) return request;
  const { limits, settings } = services;
  const { bodyType }: Route = API[id];
  const most = bodyType === undefined ? settings.maxBodyBytes : settings.maxRecordingBytes;
  return request.countBody((bytes) => limits.spendBytes(principal.id, bytes <= most ? bytes : 0));
}

interface CountOptions {
  readonly principal: Principal;
  readonly services: ApiServices;
}

/** @throws HttpError 401 and 403; ToolError `rate_limited`; as a rejection */
async function principalOf(id: OperationId, request: SentRequest, services: ApiServices): Promise<Principal> {
  const { scope }: Route = API[id];
  if (scope === "none") return ANONYMOUS;
  const principal = await authenticateFor(id, request, services);
  try {
    services.limits.countRequest(principal.id);
  } catch (thrown: unknown) {
    throw toRefusal(thrown, { principal }, services);
  }
  return principal;
}

/** Whether the accepted credentials are still valid. Does not authenticate again, since some credentials are valid for one request only. */
async function isStillValid(principal: Principal, { access, clock }: ApiServices): Promise<boolean> {
  return (principal.expiresAt ?? Infinity) > clock.wallTime() && (await access.isValid(principal));
}

/** @throws HttpError 401 and 403, as a rejection */
function authenticateFor(id: OperationId, request: SentRequest, { access }: ApiServices): Promise<Principal> {
  const { scope }: Route = API[id];
  return authenticate(access, request, scope === "any" || scope === "none" ? undefined : scope);
}

/** Whether the session is named in the query or the body, which must be read first. */
function hasSessionInContent({ inSession, path }: Route): boolean {
  return inSession === true && !/\{(?:sessionId|agentName)\}/u.test(path);
}

type HandlerRequest = ApiRequest & { readonly idempotencyKey: string | undefined };

/** The request for a handler. A class, since V8 would make a new map for each object with a getter of its own. */
class HandledRequest implements HandlerRequest {
  readonly params: RequestParts["params"];
  readonly query: RequestParts["query"];
  readonly body: RequestParts["body"];
  readonly principal: Principal;
  readonly runtime: HandlerRequest["runtime"];
  readonly request: HandlerRequest["request"];
  readonly idempotencyKey: string | undefined;

  constructor(
    { params, query, body }: RequestParts,
    { principal, runtime, request, idempotencyKey }: Pick<HandlerRequest, "principal" | "runtime" | "request" | "idempotencyKey">,
  ) {
    this.params = params;
    this.query = query;
    this.body = body;
    this.principal = principal;
    this.runtime = runtime;
    this.request = request;
    this.idempotencyKey = idempotencyKey;
  }

  /** Made only for handlers that use it. */
  get signal(): AbortSignal {
    return this.request.signal;
  }
}

async function answer({ id, params }: FoundRoute, { options, principal, request }: AnswerOptions): Promise<TextResponse | Response> {
  const { services } = options;
  const route: Route = API[id];
  if (services.stopping() && route.method === "POST")
    throw new ToolError("unavailable", "The server is stopping.", { retryable: true, outcome: "not_started", retryAfterMs: 1_000 });
  const place = request.url.includes("?") ? (new URL(request.url).searchParams.get("place") ?? undefined) : undefined;
  const mayForward = services.store !== undefined && (route.inSession === true || place !== undefined);
  // not forwarded for another session than that of a session key, or none: the response would reveal that the session or the place exists
  const isVisible = (sessionId: string | undefined): boolean => principal.sessionId === undefined || principal.sessionId === sessionId;
  const forward = async (to: Destination): Promise<Response | undefined> =>
    isVisible(to.sessionId) ? forwardRequest(id, request, to, services) : undefined;
  if (mayForward && !hasSessionInContent(route)) {
    const early = await forward({ sessionId: params["sessionId"] ?? sessionOfAgent(params["agentName"], services), place });
    if (early !== undefined) return early;
  }
  const read = await readRequest(id, request, { params, maxBodyBytes: services.settings.maxBodyBytes });
  if (mayForward && hasSessionInContent(route)) {
    const { sessionId = principal.sessionId } = { ...read.query, ...(isJsonObject(read.body) ? read.body : {}) };
    const elsewhere = await forward({ sessionId: typeof sessionId === "string" ? sessionId : undefined, place, body: read.body });
    if (elsewhere !== undefined) return elsewhere;
  }
  try {
    return await runHandler(id, read, { options, principal, request });
  } catch (thrown: unknown) {
    const elsewhere = await forwardAfterError(thrown, request, read.body, services);
    if (elsewhere === undefined) throw thrown;
    return elsewhere;
  }
}

interface AnswerOptions {
  readonly options: RouterOptions;
  readonly principal: Principal;
  readonly request: SentRequest;
}

/** Answers a validated request here, or repeats the first answer to its key. */
async function runHandler(
  id: OperationId,
  read: RequestParts,
  { options: { services, handlers, keyed }, principal, request }: AnswerOptions,
): Promise<TextResponse | Response> {
  const route: Route = API[id];
  // each handler has the type of its own operation; here they are called uniformly
  const handler = handlers[id] as AnyHandler;
  const work = async (idempotencyKey: string | undefined): Promise<TextResponse | Response> => {
    const { runtime } = services;
    const given = await continueTrace(
      runtime,
      (name) => request.headers.get(name) ?? undefined,
      () => handler(new HandledRequest(read, { principal, runtime, request, idempotencyKey }), services),
    );
    return toResponse(given, route);
  };
  return route.keyed === true ? keyed.answer({ id, principal, request, read }, work) : work(undefined);
}

/** Makes the response from the value that a handler returned. */
function toResponse(given: unknown, { method, status }: Route): TextResponse | Response {
  const isRead = method === "GET";
  if (given instanceof Response) {
    if (!isRead && !given.headers.has("x-should-retry")) given.headers.set("x-should-retry", "false");
    return given;
  }
  if (!(given instanceof TextResponse)) return jsonResponse(given, status, isRead ? {} : NO_RETRY);
  return isRead || given.headers["x-should-retry"] !== undefined ? given : given.with("x-should-retry", "false");
}
