/** Serves many clients over HTTP: checks their requests, and routes them by era of the protocol. */
import type { McpHttpHandler } from "@modelcontextprotocol/server";
import { ToolError, describeThrown } from "../../core/error.ts";
import type { JsonValue } from "../../core/base/json.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { onNextTurn } from "../../core/system/lazy-timer.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { toAuthInfo, readCaller } from "./auth-info.ts";
import { rewriteResponse } from "./rewrite-response.ts";
import { streamWhenLate } from "./stream-when-late.ts";
import { acceptsStream, isEventStream } from "../api/requests/accepts-stream.ts";
import { DirectCalls, type DirectExchange } from "./direct-calls.ts";
import { Gateway } from "./gateway.ts";
import { CLIENT_JSON, readBody } from "../http/body.ts";
import type { DirectAnswer, DirectHandler, DirectReply, DirectRequest } from "../http/direct.ts";
import type { HeaderReader, RequestHead } from "../http/request-head.ts";
import { targetOf } from "../http/node-request.ts";
import { refusal, refuseNonJson, refuseUntrusted } from "../http/guard.ts";
import { httpSettingsOf, type HttpSettings, type McpHttpOptions } from "./http-options.ts";
import { HttpSessions } from "./http-sessions.ts";
import { settingsOf } from "./options.ts";
import { findHeaderMismatch, parseToolCall } from "./param-headers.ts";
import { isPlainHead } from "./plain-call.ts";
import { HEADER_MISMATCH, INVALID_REQUEST, PARSE_ERROR } from "../../engine/mcp/rpc-codes.ts";
import { loadServerModule } from "./sdk.ts";
import type { CallLog } from "../auth/call-log.ts";
import { CredentialWatch } from "../auth/credential-watch.ts";
import { hasScope, authenticateSender, type Principal } from "../auth/principal.ts";
import { ServerAccess } from "../auth/server-access.ts";
import { endStreamWithCredentials } from "../auth/end-stream-with-credentials.ts";
import { LOCAL_CALLER, noSession, type Caller } from "./handler-context.ts";
import { isListenRequest, readResourceUris, withResourceUris } from "./listen-requests.ts";
import { VisibleLists, VisibleChanges } from "./visible-lists.ts";
import { joinToolsFor, visibilityOfCaller } from "./visibility-of-caller.ts";
import { readTaskIds } from "./tasks/task-listen-requests.ts";
import { UnclaimedQuestions } from "./tasks/unclaimed-questions.ts";
import { withTaskNotifications } from "./tasks/task-stream.ts";
import type { SessionHolder } from "../worker/session-holder.ts";
import { WatchedReply } from "./watched-reply.ts";

/** Answers requests of MCP clients at the path where the program mounts it. */
export interface McpHandler {
  (request: Request): Promise<Response>;
  /** Refuses new requests, lets running calls end for a while, then cancels them. The runtime stays open. */
  close(): Promise<void>;
}

/** Counts the work of a request. */
export interface McpWork {
  /** Called before anything of the body runs. Throws to refuse the request. */
  startWork(method: string, body: JsonValue | undefined): void;
  /** Called if calls continue after their client has disconnected. */
  readonly continueUntil: (ended: Promise<void>) => void;
}

interface AcceptedRequest {
  readonly body: JsonValue | undefined;
  readonly caller: Caller;
  readonly continueUntil: McpWork["continueUntil"] | undefined;
}

interface GatewayParts {
  readonly gateway: Gateway;
  readonly modern: McpHttpHandler;
  readonly direct: DirectCalls;
  readonly sessions: HttpSessions;
}

/** Maximum wait for work that ignores its cancellation, in milliseconds. */
const DRAIN_MS = 1_000;

/** Decides which plain calls of a port are answered directly. The others take the regular path. */
interface DirectAccess {
  trustsRequest(head: RequestHead): boolean;
  callerOf(request: DirectRequest): Promise<Caller | undefined>;
  /** Called once the call is known to be plain, directly before it runs. */
  tryStart(request: DirectRequest, caller: Caller): boolean;
}

export class HttpGateway {
  readonly settings: HttpSettings;
  readonly #runtime: Runtime;
  readonly #options: McpHttpOptions;
  /** undefined if callers are not authenticated. */
  readonly #credentialWatch: CredentialWatch | undefined;
  #parts: Promise<GatewayParts> | undefined;
  readonly #calls: CallLog | undefined;
  readonly #questions = new UnclaimedQuestions();
  #closing = false;

  /** @param calls the call log; by default one of its own */
  constructor(runtime: Runtime, options: McpHttpOptions, calls?: CallLog) {
    this.#calls = calls;
    this.settings = httpSettingsOf(options);
    const { clock, log } = settingsOf(options);
    const { authenticator } = this.settings;
    this.#credentialWatch = authenticator === undefined ? undefined : new CredentialWatch({ authenticator, clock, log });
    this.#runtime = runtime;
    this.#options =
      authenticator instanceof ServerAccess ? { ...options, toolsFor: joinToolsFor(authenticator, options.toolsFor) } : options;
  }

  /** Opens sessions for the worker of this server as before; the questions of its tasks wait for their clients. */
  keepQuestions(sessions: SessionHolder): SessionHolder {
    return settingsOf(this.#options).tasks === undefined ? sessions : this.#questions.keepFor(sessions);
  }

  /** The response that refuses a client that may not use this server; undefined if it may. */
  refusalFor(request: RequestHead): Response | undefined {
    return refuseUntrusted(request, this.settings);
  }

  async handle(request: Request): Promise<Response> {
    const refused = this.refusalFor(request) ?? this.#refuseNonJson(request);
    if (refused !== undefined) return refused;
    const caller = await this.#callerOf(request);
    return caller instanceof Response ? caller : this.#endWithCredentials(await this.#answer(request, caller), caller);
  }

  /** Returns the same response, whose event stream ends when the caller's credentials end. */
  #endWithCredentials(response: Response, { principal }: Caller): Response {
    const { body } = response;
    if (body === null || !isEventStream(response) || principal === undefined || this.#credentialWatch === undefined) return response;
    return new Response(endStreamWithCredentials(body, { principal, access: this.#credentialWatch }), response);
  }

  /** Like `handle`, for a server that has already admitted the caller. */
  async answer(request: Request, caller: Caller, work: McpWork): Promise<Response> {
    return this.#refuseNonJson(request) ?? this.#answer(request, caller, work);
  }

  /** Makes a handler that answers plain calls at a path without a `Request`. @param access by default the checks of `handle` */
  createDirectHandler(path: string, access: DirectAccess = this.#defaultAccess()): DirectHandler<DirectReply> {
    const target = targetOf({ url: path });
    const answer: DirectAnswer<DirectReply> = async (request, read, reply) => {
      const caller = await access.callerOf(request);
      if (caller === undefined) return false;
      const text = await read();
      if (text === undefined) return true; // the client has disconnected
      const watched = this.#endReplyWithCredentials(reply, request, caller);
      return await this.#answerDirect(text, caller, { request, reply: watched, tryStart: () => access.tryStart(request, caller) });
    };
    return {
      match: (head) =>
        head.url === target &&
        isPlainHead(head.headers) &&
        Number(head.headers.get("content-length")) <= this.settings.maxBodyBytes &&
        access.trustsRequest(head) &&
        this.#refuseNonJson(head) === undefined
          ? answer
          : undefined,
    };
  }

  #endReplyWithCredentials(reply: DirectReply, request: DirectRequest, { principal }: Caller): DirectReply {
    const watch = this.#credentialWatch;
    if (principal === undefined || watch === undefined) return reply;
    const end = (): void => {
      request.cancel();
      reply.end(200);
    };
    return new WatchedReply(reply, () => watch.watch(principal, end));
  }

  #defaultAccess(): DirectAccess {
    return {
      trustsRequest: (head) => this.refusalFor(head) === undefined,
      callerOf: async (request) => {
        if (this.settings.authenticator === undefined) return LOCAL_CALLER;
        const caller = await this.#callerOf(request);
        return caller instanceof Response ? undefined : caller;
      },
      tryStart: () => true,
    };
  }

  async #answerDirect(text: string, caller: Caller, exchange: DirectExchange): Promise<boolean> {
    if (this.#closing) return false;
    const parts = await (this.#parts ??= this.#start()).catch(() => undefined); // the regular path tries again, and reports the error
    if (parts === undefined) return false;
    const { gateway, direct } = parts;
    let body: JsonValue;
    try {
      body = parseJson(text, CLIENT_JSON);
    } catch {
      return false; // the regular path parses it again, and refuses it
    }
    if (this.#checkParamHeaders(gateway, exchange.request.headers, body) !== undefined) return false;
    return await direct.answer(body, caller, exchange);
  }

  async #answer(request: Request, caller: Caller, work?: McpWork): Promise<Response> {
    let body: JsonValue | undefined;
    if (request.method === "POST") {
      const text = await readBody(request, this.settings.maxBodyBytes);
      if (text === undefined) return refusal(413, "The body is too large.");
      try {
        body = parseJson(text, CLIENT_JSON);
      } catch (error: unknown) {
        return refusal(400, describeThrown(error), {}, PARSE_ERROR);
      }
      if (Array.isArray(body) && body.length > this.settings.maxBatch)
        return refusal(400, `A request may have at most ${this.settings.maxBatch} messages.`, {}, INVALID_REQUEST);
    }
    work?.startWork(request.method, body);
    return this.#routeRequest(request, { body, caller, continueUntil: work?.continueUntil });
  }

  /** @param signal its abort limits the wait for running calls to `DRAIN_MS` */
  async close(signal?: AbortSignal): Promise<void> {
    this.#closing = true;
    const parts = await this.#parts?.catch(() => undefined); // the request that started it has the error
    if (parts === undefined) return;
    const { gateway, modern, direct, sessions } = parts;
    await gateway.stop(this.settings.graceMs, signal);
    if (signal?.aborted === true) await gateway.stop(DRAIN_MS); // its calls were cancelled, and their answers are being sent
    await new Promise((resolve) => onNextTurn(resolve)); // lets the last results reach their streams
    gateway.close();
    direct.close();
    await Promise.allSettled([modern.close(), sessions.close()]);
    await gateway.stop(DRAIN_MS);
    await gateway.flush(this.settings.graceMs, signal);
  }

  /** Whether requests are accepted, for supervisors and load balancers. */
  healthResponse(): Response {
    return Response.json({ status: this.#closing ? "stopping" : "ok" }, { status: this.#closing ? 503 : 200 });
  }

  #refuseNonJson(request: RequestHead): Response | undefined {
    return refuseNonJson(request) ?? (this.#closing ? refusal(503, "The server is stopping.") : undefined);
  }

  /** Authenticates the caller. Returns the refusal of one that may not call tools. */
  async #callerOf(request: Request | DirectRequest): Promise<Caller | Response> {
    const { authenticator } = this.settings;
    if (authenticator === undefined) return LOCAL_CALLER;
    let principal: Principal | undefined;
    try {
      if (authenticator instanceof ServerAccess) {
        const { denial, principal: admitted } = await authenticator.admitHead(request, { scope: "execute" });
        if (denial === undefined) return this.#toCaller(admitted, request);
        return refusal(denial.status, denial.reason, { "www-authenticate": denial.challenge });
      }
      principal = await authenticateSender(authenticator, request);
    } catch (thrown: unknown) {
      const { code, message, retryAfterMs = 1_000 } = ToolError.fromUnknown(thrown);
      if (code !== "unavailable") throw thrown;
      return refusal(503, message, { "retry-after": String(Math.max(1, Math.ceil(retryAfterMs / 1_000))) });
    }
    if (principal === undefined) return refusal(401, "These credentials are not valid here.", { "www-authenticate": "Bearer" });
    if (hasScope(principal, "execute")) return this.#toCaller(principal, request);
    const challenge = 'Bearer error="insufficient_scope", scope="execute"';
    return refusal(403, "These credentials do not allow calls: they need the scope execute.", { "www-authenticate": challenge });
  }

  /** Refuses session keys: MCP clients have sessions of their own, and a session key works in no other than its own. */
  #toCaller(principal: Principal, request: Request | DirectRequest): Caller | Response {
    if (principal.sessionId === undefined) return { id: principal.id, principal };
    const { authenticator } = this.settings;
    const reason = "This key belongs to a session, and works only in that session.";
    if (authenticator instanceof ServerAccess) authenticator.noteRefusal({ request, status: 403, reason, principal: principal.id });
    return refusal(403, reason);
  }

  async #routeRequest(request: Request, accepted: AcceptedRequest): Promise<Response> {
    const { body, caller } = accepted;
    const { gateway, modern, sessions } = await (this.#parts ??= this.#start());
    const { method, headers, signal } = request;
    if (method !== "POST" || (await gateway.sdk.isLegacyRequest(request, body)))
      return await rewriteResponse(await sessions.handle(request, accepted));
    const differing = this.#checkParamHeaders(gateway, headers, body);
    if (differing !== undefined) return differing;
    const visible = visibilityOfCaller(gateway.settings, caller);
    const wanted = readResourceUris(body);
    const uris = visible === undefined ? wanted : await gateway.peers.withoutHidden(wanted, { signal, visible });
    const seen = visible === undefined || !isListenRequest(body) ? undefined : new VisibleChanges(new VisibleLists(gateway, { caller }));
    const watched = uris.map((uri) => gateway.changeNotifier.watch(uri, visible));
    if (seen !== undefined) watched.push(gateway.changeNotifier.add(seen));
    const release = (): void => {
      for (const stop of watched) stop();
    };
    const parsedBody = uris.length === wanted.length ? body : withResourceUris(body, uris);
    const ask = async (asked: Request): Promise<Response> => {
      const given = await modern.fetch(asked, { parsedBody, authInfo: toAuthInfo(caller) });
      return rewriteResponse(given, seen && ((frame) => seen.hidesFrame(frame)));
    };
    const answered = await (acceptsStream(request)
      ? streamWhenLate((closed) => ask(withSignal(request, closed)), gateway.settings.clock)
      : ask(request));
    const isStream = isEventStream(answered);
    const { tasks } = gateway;
    const response =
      isStream && tasks !== undefined && body !== undefined && readTaskIds(body).length > 0
        ? withTaskNotifications(answered, { body, serving: gateway.servingModern(caller), headers, signal })
        : answered;
    if (watched.length === 0) return response;
    if (!isStream || signal.aborted) release();
    else signal.addEventListener("abort", release, { once: true });
    return response;
  }

  #checkParamHeaders({ tools }: Gateway, headers: HeaderReader, body: JsonValue | undefined): Response | undefined {
    const call = parseToolCall(body);
    const tool = call === undefined ? undefined : tools.find(call.name);
    if (call === undefined || tool === undefined) return undefined;
    const problem = findHeaderMismatch(tool.registered.tool.inputSchema, call.args, headers);
    if (problem === undefined) return undefined;
    return Response.json(
      { jsonrpc: "2.0", id: call.id, error: { code: HEADER_MISMATCH, message: `Header mismatch: ${problem}.` } },
      { status: 400 },
    );
  }

  async #start(): Promise<GatewayParts> {
    const sdk = await loadServerModule();
    const gateway = new Gateway(this.#runtime, this.#options, { sdk, calls: this.#calls, questions: this.#questions });
    const modern = sdk.createMcpHandler(
      ({ authInfo }) =>
        gateway.createServerInstance({ era: "modern", caller: readCaller(authInfo), receivesChanges: false, session: noSession }),
      {
        legacy: "reject",
        maxRequestBodySize: this.settings.maxBodyBytes,
        onerror: (error) => gateway.settings.log.debug(`MCP over HTTP: ${describeThrown(error)}`),
      },
    );
    const { notify } = modern;
    gateway.changeNotifier.add({
      toolsChanged: () => notify.toolsChanged(),
      promptsChanged: () => notify.promptsChanged(),
      resourcesChanged: () => notify.resourcesChanged(),
      resourceUpdated: (uri) => notify.resourceUpdated(uri),
      messageLogged: () => undefined, // there is no request to send it with
    });
    return { gateway, modern, direct: new DirectCalls(gateway), sessions: new HttpSessions(gateway, this.settings) };
  }
}

/** Returns the request, whose body was read, with a signal that also aborts with `other`. */
function withSignal({ method, url, headers, signal }: Request, other: AbortSignal): Request {
  return new Request(url, { method, headers, signal: AbortSignal.any([signal, other]) });
}
