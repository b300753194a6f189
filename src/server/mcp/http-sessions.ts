/** Sessions of HTTP clients of the revisions up to 2025-11-25: each client has one, because the server may send it requests. */
import { maxOf } from "../../core/collections/push-all.ts";
import { isJsonObject, type JsonValue } from "../../core/base/json.ts";
import type { RuntimeSession } from "../../runtime/runtime-session.ts";
import type { Gateway } from "./gateway.ts";
import { beginSession } from "./measure.ts";
import { refusal } from "../http/guard.ts";
import type { HttpSettings } from "./http-options.ts";
import { INVALID_REQUEST } from "../../engine/mcp/rpc-codes.ts";
import { createSecret } from "../../net/secret.ts";
import type { Caller, RequestId } from "./handler-context.ts";
import { messagesOf, requestIds, createSessionTransport, type SessionTransport } from "./session-transport.ts";
import { notifyWhenRead } from "../api/requests/count-bytes.ts";

const SESSION_HEADER = "mcp-session-id";
const SESSION_NOT_FOUND = -32_001;

interface ClientSession {
  readonly transport: SessionTransport;
  readonly close: () => Promise<void>;
  /** Measures the session, at its end. */
  readonly measure: () => void;
  /** The session's caller, with the principal of its latest request: rules apply to the claims of the current token, not of an earlier one. */
  readonly caller: { -readonly [Name in keyof Caller]: Caller[Name] };
  readonly requests: ReadonlySet<RequestId>;
  /** Number of open streams on which the client listens. */
  streams: number;
  stopIdleTimer: () => void;
}

const ONE_SERVER =
  "A session exists only in the server that began it: behind a proxy with several servers, all its requests must go to that one.";

export class HttpSessions {
  readonly #gateway: Gateway;
  readonly #settings: HttpSettings;
  /** Sessions by id, idle longest first. */
  readonly #sessions = new Map<string, ClientSession>();

  constructor(gateway: Gateway, settings: HttpSettings) {
    this.#gateway = gateway;
    this.#settings = settings;
  }

  /** @param continueUntil called with a promise for the end of the work that the request begins, which continues if the client disconnects */
  async handle(
    request: Request,
    {
      body,
      caller,
      continueUntil,
    }: {
      readonly body: JsonValue | undefined;
      readonly caller: Caller;
      readonly continueUntil?: ((ended: Promise<void>) => void) | undefined;
    },
  ): Promise<Response> {
    const id = request.headers.get(SESSION_HEADER);
    if (id === null)
      return isInitialize(body)
        ? this.#startSession(request, body, caller)
        : refusal(400, "The request needs the Mcp-Session-Id that initialize returned.");
    const session = this.#sessions.get(id);
    if (session === undefined || session.caller.id !== caller.id)
      return refusal(404, `There is no such session (any more). ${ONE_SERVER}`, {}, SESSION_NOT_FOUND);
    this.#touch(id, session);
    session.caller.principal = caller.principal;
    const repeated = findRepeatedId(body, session.requests);
    if (repeated !== undefined)
      return refusal(400, `The request id ${JSON.stringify(repeated)} is in use by a request that is being answered.`, {}, INVALID_REQUEST);
    const response = session.transport.handleRequest(request, { parsedBody: body });
    continueUntil?.(session.transport.whenEnded(body));
    return request.method === "GET" ? this.#countStream(await response, id, session) : response;
  }

  async close(): Promise<void> {
    await Promise.allSettled(Array.from(this.#sessions.keys(), (id) => this.#end(id)));
  }

  async #startSession(request: Request, body: JsonValue | undefined, startedBy: Caller): Promise<Response> {
    const caller = { ...startedBy };
    const { sdk, runtime, settings } = this.#gateway;
    let session: RuntimeSession | undefined;
    const openSession = (): RuntimeSession | undefined => (settings.session === "none" ? undefined : (session ??= runtime.session()));
    const requests = new Set<RequestId>();
    const onUnanswered = (id: RequestId): void => transport.markUnanswered(id);
    const server = this.#gateway.createServerInstance({
      era: "legacy",
      caller,
      receivesChanges: true,
      requests,
      onUnanswered,
      session: openSession,
    });
    const measure = beginSession(this.#gateway, "http");
    const close = async (): Promise<void> => {
      await server.close();
      await session?.close();
    };
    const transport: SessionTransport = createSessionTransport(sdk.WebStandardStreamableHTTPServerTransport, {
      sessionIdGenerator: createSecret,
      onsessioninitialized: (id) =>
        this.#add(id, { transport, caller, close, measure: () => measure(server), requests, streams: 0, stopIdleTimer: () => {} }),
      onsessionclosed: (id) => this.#end(id),
    });
    await server.connect(transport);
    const response = await transport.handleRequest(request, { parsedBody: body });
    if (transport.sessionId === undefined) await close();
    return response;
  }

  #add(id: string, session: ClientSession): void {
    while (this.#sessions.size >= this.#settings.maxSessions) {
      const ending = this.#pickSessionToEnd(session.caller.id);
      if (ending === undefined) break;
      void this.#end(ending);
    }
    this.#touch(id, session);
  }

  /** The session to end so that a caller can have a new one: one of the caller with the most sessions, so that no caller displaces others. */
  #pickSessionToEnd(callerId: string): string | undefined {
    const counts = new Map<string, number>([[callerId, 1]]);
    for (const one of this.#sessions.values()) counts.set(one.caller.id, (counts.get(one.caller.id) ?? 0) + 1);
    const most = maxOf(counts.values());
    const candidates = [...this.#sessions].filter(([, one]) => counts.get(one.caller.id) === most);
    const [ending] = candidates.find(([, one]) => !isInUse(one)) ?? candidates[0] ?? [];
    return ending;
  }

  #touch(id: string, session: ClientSession): void {
    session.stopIdleTimer();
    session.stopIdleTimer = this.#gateway.settings.clock.timer(
      () => (isInUse(session) ? this.#touch(id, session) : void this.#end(id)),
      this.#settings.sessionIdleMs,
      { background: true },
    );
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
  }

  /** Returns the same response, whose stream keeps its session in use until it ends or the client disconnects. */
  #countStream(response: Response, id: string, session: ClientSession): Response {
    if (response.status !== 200 || response.body === null) return response;
    session.streams++;
    const ended = (): void => {
      session.streams--;
      if (this.#sessions.get(id) === session) this.#touch(id, session);
    };
    return notifyWhenRead(response, ended);
  }

  async #end(id: string): Promise<void> {
    const session = this.#sessions.get(id);
    if (session === undefined || !this.#sessions.delete(id)) return;
    session.stopIdleTimer();
    session.measure();
    await session.close();
  }
}

/** Whether the session has running requests or open streams. */
function isInUse({ requests, streams }: ClientSession): boolean {
  return requests.size > 0 || streams > 0;
}

/** Returns an id that two concurrent requests would share: the answer of one would go to the other, which would get none. */
function findRepeatedId(body: JsonValue | undefined, running: ReadonlySet<RequestId>): RequestId | undefined {
  const ids = new Set<RequestId>();
  for (const id of requestIds(body)) {
    if (running.has(id) || ids.has(id)) return id;
    ids.add(id);
  }
  return undefined;
}

function isInitialize(body: JsonValue | undefined): boolean {
  return messagesOf(body).some((message) => isJsonObject(message) && message["method"] === "initialize");
}
