/** Passes requests for sessions that another process of the store has open on to that process. */
import { ToolError } from "../../core/error.ts";
import { neverConnected } from "../../net/network-failure.ts";
import { CONNECTION_HEADERS } from "../../net/request-head.ts";
import { API, type OperationId } from "../api.ts";
import type { Route } from "./route.ts";
import type { ApiServices } from "./services.ts";

/** Requests that were passed on have it: they are passed on no further. */
const FORWARDED = "haft-forwarded";

/**
 * The answer of the process that has the session open. Undefined where this one answers: for routes that need no open session, and for sessions
 * that are open here, or nowhere, or in a process that announced no address.
 *
 * @throws ToolError `unavailable` where that process cannot be reached. By rejecting
 */
export async function forwarded(
  id: OperationId,
  request: Request,
  { sessionId, services }: { readonly sessionId: string | undefined; readonly services: ApiServices },
): Promise<Response | undefined> {
  const { inSession }: Route = API[id];
  if (inSession !== true || sessionId === undefined || services.store === undefined || request.headers.has(FORWARDED)) return undefined;
  if (services.runtime.sessions.get(sessionId) !== undefined) return undefined;
  const address = (await services.sessions.stored(sessionId))?.openedAt;
  return address === undefined ? undefined : services.passedOn.watch(send(request, address));
}

async function send(request: Request, address: string): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const target = new URL(address);
  target.pathname = pathname;
  target.search = search;
  const headers = withoutConnection(request.headers);
  headers.delete("origin"); // this server has judged it by its own address
  headers.set("accept-encoding", "identity");
  headers.set(FORWARDED, "1");
  const { method, body, signal } = request;
  try {
    // The client's connection and this one end together, as if it had asked there itself.
    const answer = await fetch(target, { method, headers, body, signal, redirect: "manual", ...(body === null ? {} : { duplex: "half" }) });
    return new Response(answer.body, { status: answer.status, headers: withoutConnection(answer.headers) });
  } catch (thrown: unknown) {
    const wasSent = !neverConnected(thrown instanceof Error ? thrown.cause : thrown); // fetch says why in the cause
    throw new ToolError("unavailable", "The session is open in another process, which could not be reached.", {
      retryable: true,
      outcome: wasSent ? "unknown" : "not_started",
      retryAfterMs: 2_000,
      hint: wasSent
        ? "Send it again with the same Idempotency-Key."
        : "Send it again in a moment: a process that is gone loses its sessions.",
      operatorHint: `The process announced the address ${address}.`,
      cause: thrown,
    });
  }
}

function withoutConnection(from: Headers): Headers {
  const headers = new Headers(from);
  for (const name of CONNECTION_HEADERS) headers.delete(name);
  return headers;
}
