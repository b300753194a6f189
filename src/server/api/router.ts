/** Finds the route of a request, authenticates its sender, validates it, and calls its handler. */
import type { Context, Hono } from "hono";
import { ToolError } from "../../core/error.ts";
import { API, OPERATION_IDS, type OperationId } from "../api.ts";
import { hasScope, type Authenticator, type Principal } from "../auth/principal.ts";
import { HttpError } from "../http/http-error.ts";
import type { ApiRequest } from "./api-request.ts";
import { jsonResponse } from "./answers.ts";
import { errorResponse } from "./error-response.ts";
import type { KeyedAnswers } from "./keyed-answers.ts";
import { noRoute, readRequest } from "./read-request.ts";
import type { Route } from "./route.ts";
import type { ApiServices, Handlers } from "./services.ts";

export interface RouterParts {
  readonly services: ApiServices;
  readonly handlers: Handlers;
  readonly authenticator: Authenticator;
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
  try {
    const principal = await principalOf(id, context.req.raw, parts);
    if (principal !== ANYBODY) end = services.limits.begin(principal.id, "requests");
    response = await answer(id, context, { parts, principal });
  } catch (thrown: unknown) {
    response = errorResponse(thrown, services);
  } finally {
    end?.();
  }
  metrics.note(id, response.status, clock.now() - startedAt);
  return response;
}

/** @throws HttpError 401 and 403; ToolError `rate_limited`. By rejecting */
async function principalOf(id: OperationId, request: Request, { authenticator, services }: RouterParts): Promise<Principal> {
  const { scope }: Route = API[id];
  if (scope === "none") return ANYBODY;
  const principal = await authenticator.authenticate(request);
  if (principal === undefined) throw unauthenticated();
  services.limits.take(principal.id);
  if (!hasScope(principal, scope))
    throw new HttpError(403, "permission_denied", `This needs the scope ${scope}.`, {
      hint: `${principal.name} has ${[...principal.scopes].join(", ") || "none"}.`,
      headers: { "www-authenticate": `Bearer error="insufficient_scope", scope="${scope}"` },
    });
  return principal;
}

export function unauthenticated(): HttpError {
  return new HttpError(401, "permission_denied", "The request has no valid credentials.", {
    hint: "Send Authorization: Bearer with a key or token of this server.",
    headers: { "www-authenticate": "Bearer" },
  });
}

async function answer(
  id: OperationId,
  { req }: Context,
  { parts, principal }: { readonly parts: RouterParts; readonly principal: Principal },
): Promise<Response> {
  const { services, handlers, keyed } = parts;
  const route: Route = API[id];
  const request = req.raw;
  if (services.stopping() && route.method === "POST")
    throw new ToolError("unavailable", "The server is stopping.", { retryable: true, outcome: "not_started", retryAfterMs: 1_000 });
  const read = await readRequest(id, request, { params: req.param(), maxBodyBytes: services.settings.maxBodyBytes });
  // The table says of each operation what its handler takes: here all are one.
  const handler = handlers[id] as AnyHandler;
  const work = async (idempotencyKey: string | undefined): Promise<Response> => {
    const { runtime } = services;
    const given = await handler({ ...read, principal, runtime, signal: request.signal, request, idempotencyKey }, services);
    const response = given instanceof Response ? given : jsonResponse(given, route.status);
    if (route.method !== "GET" && !response.headers.has("x-should-retry")) response.headers.set("x-should-retry", "false");
    return response;
  };
  if (route.keyed !== true) return work(undefined);
  return keyed.answer({ id, principal, request, read }, work);
}
