/** Finds the route of a request, authenticates its sender, validates it, and calls its handler. */
import type { Context, Hono } from "hono";
import { isJsonObject } from "../../core/base/json.ts";
import { ToolError } from "../../core/error.ts";
import { API, OPERATION_IDS, type OperationId } from "../api.ts";
import type { Principal } from "../auth/principal.ts";
import { continueTrace } from "../continue-trace.ts";
import type { ApiRequest } from "./api-request.ts";
import { jsonResponse } from "./answers.ts";
import { countedRequest, countedResponse } from "./counted-bytes.ts";
import { errorResponse } from "./error-response.ts";
import { forwarded, type Destination } from "./forward.ts";
import type { KeyedAnswers } from "./keyed-answers.ts";
import { noRoute, readRequest } from "./read-request.ts";
import { admitted, noteRefused } from "./refused.ts";
import type { Route } from "./route.ts";
import type { ApiServices, Handlers } from "./services.ts";

export interface RouterParts {
  readonly services: ApiServices;
  readonly handlers: Handlers;
  readonly keyed: KeyedAnswers;
}

/** The principal of requests to routes that need none. */
const ANYBODY: Principal = Object.freeze({ id: "anybody", name: "anybody", scopes: new Set<never>() });

type AnyHandler = (request: ApiRequest & { readonly idempotencyKey: string | undefined }, services: ApiServices) => unknown;

/** Loads Hono. @throws ToolError `unavailable` without it. By rejecting */
export async function makeRouter(parts: RouterParts): Promise<(request: Request) => Promise<Response>> {
  const { Hono } = await loadHono();
  const app: Hono = new Hono();
  for (const id of OPERATION_IDS) {
    const { method, path }: Route = API[id];
    app.on(method, path.replaceAll(/\{([A-Za-z]+)\}/gu, ":$1"), (context) => answerRoute(id, context, parts));
  }
  app.notFound(({ req }) => errorResponse(noRoute(req.method, req.path), parts.services));
  return async (request) => app.fetch(request);
}

async function loadHono(): Promise<typeof import("hono")> {
  try {
    return await import("hono");
  } catch (thrown: unknown) {
    throw new ToolError("unavailable", "The HTTP API needs the package hono, which is not installed.", {
      operatorHint: "npm install hono",
      cause: thrown,
    });
  }
}

async function answerRoute(id: OperationId, context: Context, parts: RouterParts): Promise<Response> {
  const { services } = parts;
  const { clock, metrics } = services;
  const startedAt = clock.now();
  let end: (() => void) | undefined;
  let response: Response;
  let principal: Principal | undefined;
  try {
    principal = await principalOf(id, context.req.raw, services);
    if (principal !== ANYBODY) end = services.limits.begin(principal.id, "requests");
    response = await answer(id, context, { parts, principal, request: countedFor(principal, context.req.raw, services) });
  } catch (thrown: unknown) {
    response = errorResponse(thrown, services);
    noteRefused(services.access, { request: context.req.raw, status: response.status, thrown, principal: principal?.id });
  } finally {
    end?.();
  }
  metrics.note(id, response.status, clock.now() - startedAt);
  if (principal === undefined || principal === ANYBODY) return response;
  const { id: principalId } = principal;
  return countedResponse(response, (bytes) => services.limits.spendBytes(principalId, bytes));
}

/** An agent that runs in another process of the store is known there by the name of its session. */
function sessionOfAgent(name: string | undefined, { agents }: ApiServices): string | undefined {
  return name === undefined ? undefined : (agents.get(name)?.session.id ?? name);
}

function countedFor(principal: Principal, request: Request, { limits }: ApiServices): Request {
  return principal === ANYBODY ? request : countedRequest(request, (bytes) => limits.spendBytes(principal.id, bytes));
}

/** @throws HttpError 401 and 403; ToolError `rate_limited`. By rejecting */
async function principalOf(id: OperationId, request: Request, { access, limits }: ApiServices): Promise<Principal> {
  const { scope }: Route = API[id];
  if (scope === "none") return ANYBODY;
  const principal = await admitted(access, request, scope);
  limits.take(principal.id);
  return principal;
}

/** Its session is in the query or the body, which has to be read first. */
function namesSession({ inSession, path }: Route): boolean {
  return inSession === true && !/\{(?:sessionId|agentName)\}/u.test(path);
}

async function answer(
  id: OperationId,
  { req }: Context,
  { parts, principal, request }: { readonly parts: RouterParts; readonly principal: Principal; readonly request: Request },
): Promise<Response> {
  const { services, handlers, keyed } = parts;
  const route: Route = API[id];
  if (services.stopping() && route.method === "POST")
    throw new ToolError("unavailable", "The server is stopping.", { retryable: true, outcome: "not_started", retryAfterMs: 1_000 });
  const place = req.query("place");
  const inPath = req.param("sessionId") ?? sessionOfAgent(req.param("agentName"), services);
  // A request of a session key for another session is not passed on: the answer would say that there is such a session.
  const isSeen = (sessionId: string | undefined): boolean =>
    principal.sessionId === undefined || sessionId === undefined || principal.sessionId === sessionId;
  const passOn = async (to: Destination): Promise<Response | undefined> =>
    isSeen(to.sessionId) ? forwarded(id, request, to, services) : undefined;
  const early = namesSession(route) ? undefined : await passOn({ sessionId: inPath, place });
  if (early !== undefined) return early;
  const read = await readRequest(id, request, { params: req.param(), maxBodyBytes: services.settings.maxBodyBytes });
  if (namesSession(route)) {
    const { sessionId = principal.sessionId } = { ...read.query, ...(isJsonObject(read.body) ? read.body : {}) };
    const elsewhere = await passOn({ sessionId: typeof sessionId === "string" ? sessionId : undefined, place, body: read.body });
    if (elsewhere !== undefined) return elsewhere;
  }
  // The table says of each operation what its handler takes: here all are one.
  const handler = handlers[id] as AnyHandler;
  const work = async (idempotencyKey: string | undefined): Promise<Response> => {
    const { runtime } = services;
    const given = await continueTrace(
      runtime,
      (name) => request.headers.get(name) ?? undefined,
      () => handler({ ...read, principal, runtime, signal: request.signal, request, idempotencyKey }, services),
    );
    const response = given instanceof Response ? given : jsonResponse(given, route.status);
    if (route.method !== "GET" && !response.headers.has("x-should-retry")) response.headers.set("x-should-retry", "false");
    return response;
  };
  if (route.keyed !== true) return work(undefined);
  return keyed.answer({ id, principal, request, read }, work);
}
