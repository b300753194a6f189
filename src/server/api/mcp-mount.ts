/** MCP on the port of the API: its callers are those of the API, and are limited and counted with them. */
import { hasScope, type Principal } from "../auth/principal.ts";
import { distrustOf, type Trusted } from "../http/guard.ts";
import type { DirectHandler, DirectReply, DirectRequest } from "../http/direct.ts";
import { plainHeaders } from "../http/security-headers.ts";
import type { HttpGateway } from "../mcp/http.ts";
import type { Caller } from "../mcp/serving.ts";
import { countedRequest, countedResponse } from "./counted-bytes.ts";
import { admitted } from "./refused.ts";
import type { ApiServices } from "./services.ts";
import { refuseSessionKey } from "./session-pool.ts";
import { watchedStream } from "../auth/watched-stream.ts";

export const MCP_PATH = "/mcp";

type Services = Pick<ApiServices, "access" | "clock" | "metrics" | "limits">;

/** Answers one request in the usual way. @throws HttpError, ToolError for one that is refused. By rejecting */
export async function answerMcp(mcp: HttpGateway, request: Request, services: Services): Promise<Response> {
  const { access, clock, metrics, limits } = services;
  const startedAt = clock.now();
  const principal = await admitted(access, request, "execute");
  limits.take(principal.id);
  refuseSessionKey(principal);
  const count = (bytes: number): void => limits.spendBytes(principal.id, bytes);
  // A body that is declared to be longer than it may be is not read
  const countSent = (bytes: number): void => count(bytes <= mcp.settings.maxBodyBytes ? bytes : 0);
  const response = countedResponse(await mcp.answer(countedRequest(request, countSent), callerOf(principal)), count);
  metrics.note("mcp", response.status, clock.now() - startedAt);
  const { body } = response;
  if (body === null || response.headers.get("content-type")?.startsWith("text/event-stream") !== true) return response;
  return new Response(watchedStream(body, { principal, access }), response);
}

/**
 * Answers plain calls as `answerMcp` does, without a `Response`. Everything that is refused, and every request of a page, goes the usual way, where the
 * refusal is written and kept.
 */
export function directMcp(mcp: HttpGateway, services: Services, { trusted }: { readonly trusted: Trusted }): DirectHandler {
  const { access, limits } = services;
  const principals = new WeakMap<DirectRequest, Principal>();
  const handler = mcp.direct(MCP_PATH, {
    trusts: (head) => head.headers.get("origin") === null && distrustOf(head, trusted) === undefined,
    async callerOf(request) {
      const principal = await access.sender(request).catch(() => undefined); // asked again, and told
      if (principal === undefined || !hasScope(principal, "execute") || principal.sessionId !== undefined) return undefined;
      if (!limits.mayTake(principal.id)) return undefined; // before its body is read
      principals.set(request, principal);
      return callerOf(principal);
    },
    begins(request, { id }) {
      if (!limits.mayTake(id)) return false;
      limits.take(id);
      limits.spendBytes(id, Number(request.headers.get("content-length")));
      return true;
    },
  });
  return {
    headers: plainHeaders(trusted),
    take(head) {
      const answer = handler.take(head);
      if (answer === undefined) return undefined;
      return (request, read, reply) =>
        answer(request, read, new CountedReply(reply, services, { request, principal: () => principals.get(request) }));
    },
  };
}

function callerOf(principal: Principal): Caller {
  return { id: principal.id, principal };
}

/** Counts what is answered, and ends a stream with the credentials of its reader. */
class CountedReply implements DirectReply {
  readonly #reply: DirectReply;
  readonly #services: Services;
  readonly #startedAt: number;
  readonly #request: DirectRequest;
  readonly #principal: () => Principal | undefined;
  #unwatch: (() => void) | undefined;
  #isOver = false;

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

  json(status: number, text: string): void {
    this.#isOver = true;
    this.#count(text);
    this.#note(status);
    this.#reply.json(status, text);
  }

  event(text: string): void {
    this.#count(text);
    this.#unwatch ??= this.#watched();
    this.#reply.event(text);
  }

  news(text: string): boolean {
    this.#unwatch ??= this.#watched();
    const isSent = this.#reply.news(text);
    if (isSent) this.#count(text);
    return isSent;
  }

  end(status: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#unwatch?.();
    this.#note(this.#unwatch === undefined ? status : 200);
    this.#reply.end(status);
  }

  #watched(): () => void {
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

  #note(status: number): void {
    const { clock, metrics } = this.#services;
    metrics.note("mcp", status, clock.now() - this.#startedAt);
  }
}
