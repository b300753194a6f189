/** Wires the parts of a server (the guard, the API, MCP) and stops them. */
import { omitUndefined } from "../core/base/omit-undefined.ts";
import type { Agent } from "../compose/agent.ts";
import { ToolError } from "../core/error.ts";
import { PORT, checkNumber } from "../core/base/number-bounds.ts";
import { ONE_COPY_HINT } from "../core/system/duplicate-package.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { Clock, Ids, Log } from "../core/ports.ts";
import { completePorts } from "../core/system/safe-log.ts";
import { onAbort } from "../core/base/on-abort.ts";
import { MemoryAccess } from "../store/memory/memory-access.ts";
import { Runtime } from "../runtime/runtime.ts";
import type { Triggers } from "../triggers/triggers.ts";
import { resolveAnnouncedAddress } from "./announced-address.ts";
import { agentHandlers } from "./api/handlers/agents.ts";
import { approvalHandlers } from "./api/handlers/approvals.ts";
import { auditHandlers } from "./api/handlers/audit.ts";
import { callHandlers } from "./api/handlers/calls.ts";
import { cancelCalls, drain } from "./api/drain.ts";
import { errorResponse } from "./api/requests/error-response.ts";
import { fleetHandlers } from "./api/handlers/fleet.ts";
import { jobHandlers } from "./api/handlers/jobs.ts";
import { KeyedAnswers } from "./api/requests/keyed-answers.ts";
import { sessionIdentities } from "./api/sessions/session-identities.ts";
import { Limits } from "./api/requests/limits.ts";
import { Metrics } from "./api/handlers/metrics.ts";
import { answerMcp, directMcp } from "./api/mcp-mount.ts";
import { recordRefusal } from "./api/requests/refuse-request.ts";
import { directApi } from "./api/requests/direct-api.ts";
import { answerFetch } from "./api/requests/answer-fetch.ts";
import { createRouter, type ApiRouter } from "./api/requests/router.ts";
import { serverHandlers } from "./api/handlers/server-state.ts";
import { serverSettings, type ServerLimits } from "./api/server-settings.ts";
import { scheduleHandlers } from "./api/handlers/schedules.ts";
import type { ApiServices } from "./api/services.ts";
import { SessionPool } from "./api/sessions/session-pool.ts";
import { SessionTitles } from "./api/sessions/session-titles.ts";
import { sessionKeyHandlers } from "./api/handlers/session-keys.ts";
import { sessionHandlers } from "./api/handlers/sessions.ts";
import { Submissions } from "./api/handlers/submissions.ts";
import type { UpstreamLogins } from "./api/upstream-logins.ts";
import { upstreamHandlers } from "./api/handlers/upstreams.ts";
import { WorkInProgress } from "./api/work-in-progress.ts";
import { artifactHandlers } from "./api/handlers/artifacts.ts";
import { toolHandlers } from "./api/handlers/tools.ts";
import type { Authenticator } from "./auth/principal.ts";
import { createCallLog } from "./auth/call-log.ts";
import { failureLog } from "./store-failures.ts";
import { undoOnRejection } from "./undo-on-rejection.ts";
import { toServerAccess } from "./auth/server-access.ts";
import { MCP_PATH, checkBasePath, requestWithoutBasePath } from "./base-path.ts";
import { DashboardFiles } from "./dashboard/dashboard-files.ts";
import { EventHub } from "./events/event-hub.ts";
import { FleetMember, type ServerProcess } from "./fleet-member.ts";
import { findDistrust, isHealthCheck, withoutOrigin, type Trusted } from "./http/guard.ts";
import { HttpError } from "./http/http-error.ts";
import { listenOn } from "./http/listen.ts";
import { securityHeaders } from "./http/security-headers.ts";
import { HttpGateway } from "./mcp/http.ts";
import { LOCAL_HOST_NAMES, MOUNTED_OPTIONS, normalizeOrigin, isLocalAddress, type McpHttpOptions } from "./mcp/http-options.ts";
import type { McpServerOptions } from "./mcp/options.ts";
import { joinToolsFor } from "./mcp/visibility-of-caller.ts";
import { StoreWorker, checkWorkerOptions, type ServerWorkOptions } from "./worker/create-worker.ts";

/** Options of `createServer`. */
export interface ServerOptions {
  /** Finds the sender of a request; requests without a known sender are refused. See `staticToken`, and `openServerAccess` for keys and rules. */
  readonly auth: Authenticator;
  /** Host names that requests may be sent to, without ports; an empty array refuses every request. @default names of this machine only */
  readonly allowedHosts?: readonly string[];
  /**
   * The path below which clients reach the server, such as `/haft`; addresses that the server returns begin with it. Requests are answered with and
   * without the path, so a proxy or another server may remove it or keep it.
   * @default none: the root of a host
   */
  readonly basePath?: string;
  /** Other pages that may send requests, besides the server's own: origins such as `https://app.example`, or hosts with any port. @default none */
  readonly allowedOrigins?: readonly string[];
  /** Origins whose pages may also read the responses, such as `https://app.example`; never `*`. @default none */
  readonly corsOrigins?: readonly string[];
  /** Agents by name. The program starts and stops them, and may add and remove entries of a map. */
  readonly agents?: Readonly<Record<string, Agent>> | ReadonlyMap<string, Agent>;
  /** Names of agents that run here or in another process of the store. One that runs in none gets 503 instead of 404. @default none */
  readonly expectedAgents?: readonly string[];
  /** The triggers and channels that the agents share. */
  readonly triggers?: Triggers;
  readonly limits?: ServerLimits;
  /** How tools are served over MCP at `/mcp`; `false` to not serve them. The first MCP request needs the package `@modelcontextprotocol/server`. */
  readonly mcp?: (McpServerOptions & Pick<McpHttpOptions, "maxBatch" | "maxSessions">) | false;
  /** Whether to serve the dashboard at `/`: a page without data, which asks for a key and reads the API with it. @default false */
  readonly dashboard?: boolean;
  /** Describes this process to the other processes of the store. @default its host and port as the name, and digests of its tools */
  readonly process?: ServerProcess;
  /** Logins of users at the MCP servers behind this one, and their pages: `UserLogins` of `haft/mcp`. @default none */
  readonly logins?: UpstreamLogins;
  /** @default "haft" */
  readonly name?: string;
  /** @default "0.0.0" */
  readonly version?: string;
  /** Clock, ids and log, for tests. */
  readonly ports?: { readonly clock?: Clock; readonly ids?: Ids; readonly log?: Log };
}

/** Where a server listens. */
export interface ListenAddress {
  /** 0 picks a free port. */
  readonly port: number;
  /** A host that other machines reach needs `allowedHosts`. @default "127.0.0.1" */
  readonly host?: string;
  /**
   * Where other processes of the same store reach this one, such as `http://10.0.0.3:7420`; `true` for where it listens; `false` if they do not. They
   * then forward requests for sessions that are open here to this process, and it does the same for them. All of them need the same keys.
   * @default false
   */
  readonly address?: string | boolean;
}

/** A port that a server listens on. */
export interface ServerListener {
  /** The address for clients, with the base path: `http://127.0.0.1:3000`. */
  readonly url: string;
  readonly port: number;
}

/** A runtime over HTTP, made by `createServer`. */
export interface HaftServer {
  /** Answers one request. Mount it as `server.fetch` in any server that uses `Request` and `Response`. Never rejects. */
  fetch(request: Request): Promise<Response>;
  /**
   * Listens on a port. If it rejects, the port is free again, and it may be called once more.
   *
   * @throws ToolError `invalid_argument` if other machines reach the address and there are no `allowedHosts`; `unavailable`; `store_failed`; as a rejection
   */
  listen(address: ListenAddress): Promise<ServerListener>;
  /**
   * Takes part in running the jobs of the store: resumes sessions that have unended jobs and whose process has ended, as `createWorker` does, until
   * the server is closed. Requests for such a session can use it meanwhile. With a store in a file, too: a session that has a job of a tool which the
   * runtime lacks is then left to the process that has it.
   *
   * @throws ToolError as `createWorker` and `HaftWorker.start`, after which it may be called again; as a rejection
   */
  work(options?: ServerWorkOptions): Promise<void>;
  /**
   * Stops the server: accepts no more calls, notifies streams, lets running calls end for a while and cancels the rest, closes the sessions that the
   * server opened, and releases its ports. Waiting calls of stored sessions (`Runtime.underWay`) are left for the next process. The runtime stays
   * open. Idempotent.
   *
   * @param options.signal its abort ends the wait: calls are cancelled at once, and jobs that other processes can continue are handed over
   */
  close(options?: { readonly signal?: AbortSignal }): Promise<void>;
}

const OPTIONS: OptionNames<ServerOptions> = {
  auth: true,
  basePath: "string",
  allowedHosts: "strings",
  allowedOrigins: "strings",
  corsOrigins: "strings",
  agents: ["Map", "object"],
  expectedAgents: "strings",
  triggers: true,
  limits: true,
  mcp: true,
  dashboard: "boolean",
  process: true,
  logins: true,
  name: "string",
  version: "string",
  ports: "object",
};

/**
 * Makes an HTTP server for a runtime. The program opens and closes the runtime. The package `hono` is loaded with the first request.
 *
 * Calls that need approval are listed at `GET /v1/approvals` if the runtime has an approver that leaves them open.
 *
 * @throws ToolError `invalid_argument`
 */
export function createServer(runtime: Runtime, options: ServerOptions): HaftServer {
  if (!(runtime instanceof Runtime))
    throw new ToolError("invalid_argument", "A server needs a runtime, as returned by createRuntime().", { operatorHint: ONE_COPY_HINT });
  checkKnownKeys(options, OPTIONS, "createServer()");
  if (options.mcp !== undefined && options.mcp !== false) checkKnownKeys(options.mcp, MOUNTED_OPTIONS, "The option mcp of createServer()");
  checkBasePath(options.basePath);
  if (typeof options.auth?.authenticate !== "function")
    throw new ToolError("invalid_argument", "A server needs auth, which says who sends a request.", {
      hint: "For a server that one person uses: auth: staticToken({ token }).",
    });
  if (options.logins !== undefined && typeof options.logins?.setBasePath !== "function")
    throw new ToolError("invalid_argument", "The option logins of createServer() has no setBasePath(): pass new UserLogins() of haft/mcp.");
  return new RuntimeServer(runtime, options);
}

class RuntimeServer implements HaftServer {
  readonly #runtime: Runtime;
  readonly #options: ServerOptions;
  readonly #services: ApiServices;
  readonly #trusted: Trusted & { readonly allowedHosts: string[] };
  readonly #mcp: HttpGateway | undefined;
  readonly #dashboard: DashboardFiles | undefined;
  readonly #withSecurityHeaders: ReturnType<typeof securityHeaders>;
  readonly #closers: ((work: () => Promise<void>) => Promise<void>)[] = [];
  readonly #stopCounting: () => void;
  readonly #member: FleetMember;
  #worker: StoreWorker | undefined;
  #router: Promise<ApiRouter> | undefined;
  #closing: Promise<void> | undefined;

  constructor(runtime: Runtime, options: ServerOptions) {
    this.#runtime = runtime;
    this.#options = options;
    const { mcp = {}, name = "haft", version = "0.0.0", corsOrigins = [] } = options;
    this.#trusted = {
      allowedHosts: (options.allowedHosts ?? LOCAL_HOST_NAMES).map((host) => host.toLowerCase()),
      allowedOrigins: options.allowedOrigins?.map(normalizeOrigin),
      corsOrigins,
    };
    this.#withSecurityHeaders = securityHeaders({ corsOrigins });
    this.#services = this.#createServices();
    const { clock, log, metrics, access, settings } = this.#services;
    this.#member = new FleetMember({ runtime, own: options.process ?? {}, version: options.version, clock, log });
    this.#stopCounting = runtime.subscribe((event) => {
      if (event.type === "call-end") metrics.recordCall(event.result.durationMs);
      else if (event.type === "toolset-change") this.#member.scheduleAnnouncement();
    });
    if (options.dashboard === true) this.#dashboard = new DashboardFiles({ basePath: options.basePath });
    if (mcp === false) return;
    const { maxBodyBytes, graceMs } = settings;
    const toolsFor = joinToolsFor(access, mcp.toolsFor);
    const hosts = omitUndefined({ allowedHosts: options.allowedHosts, allowedOrigins: options.allowedOrigins });
    const mcpOptions = { name, version, maxBodyBytes, graceMs, ...mcp, ...hosts, toolsFor, ports: { log, ...mcp.ports } };
    this.#mcp = new HttpGateway(runtime, mcpOptions, this.#services.calls);
  }

  /** A bound field, so that it can be passed without its server: `app.mount("/haft", server.fetch)`. */
  readonly fetch = (request: Request): Promise<Response> =>
    this.#withSecurityHeaders(request, () => this.#answer(request, this.#options.basePath));

  /** @param basePath undefined if it has already been removed */
  async #answer(sent: Request, basePath?: string): Promise<Response> {
    const { access } = this.#services;
    let request = sent;
    try {
      if (sent.bodyUsed)
        throw new ToolError("invalid_argument", "The body of the request was read before it reached the server.", {
          operatorHint: "Mount the server before middleware that parses bodies, such as express.json().",
        });
      request = requestWithoutBasePath(sent, basePath);
      const metadata = access.metadataResponse(request);
      // A page of any origin may read the metadata, as its CORS header says.
      const distrust = isHealthCheck(request)
        ? undefined
        : findDistrust(metadata === undefined ? request : withoutOrigin(request), this.#trusted);
      if (distrust !== undefined) throw new HttpError(403, "permission_denied", distrust.reason, { hint: distrust.operatorHint });
      const early = metadata ?? (await this.#options.logins?.response(request));
      if (early !== undefined) return early;
      if (this.#mcp !== undefined && new URL(request.url).pathname === MCP_PATH) return await answerMcp(this.#mcp, request, this.#services);
      const page = this.#dashboard?.response(request);
      if (page !== undefined) return page;
      const router = await (this.#router ??= this.#createRouter());
      const answer = await answerFetch(router, request);
      const isNowhere = answer.status === 404 && router.find(request) === undefined;
      return (isNowhere ? this.#dashboard?.notFoundResponse(request) : undefined) ?? answer;
    } catch (thrown: unknown) {
      const answer = errorResponse(thrown, this.#services);
      recordRefusal(access, { request, status: answer.status, thrown });
      return answer.toResponse();
    }
  }

  async listen(at: ListenAddress): Promise<ServerListener> {
    checkKnownKeys(at, { port: true, host: "string", address: ["string", "boolean"] }, "listen()");
    const { port, host = "127.0.0.1", address = false } = at;
    checkNumber(port, "port of listen()", PORT);
    const announced = resolveAnnouncedAddress(address, host);
    if (!isLocalAddress(host) && this.#options.allowedHosts === undefined)
      throw new ToolError("invalid_argument", `A server on ${host} can be reached by others, and needs allowedHosts.`, {
        hint: "Name the hosts by which clients reach it, or leave out host to listen on this machine only.",
      });
    const router = await (this.#router ??= this.#createRouter()); // at once, so that a missing package fails here and not at the first client
    if (this.#closing !== undefined) throw closedError();
    const { clock, log } = this.#services;
    const trusted = this.#trusted;
    const direct = this.#services.access.readsHeadOnly ? [directApi(router, { trusted, secured: this.#withSecurityHeaders })] : [];
    if (this.#mcp !== undefined && direct.length > 0) direct.push(directMcp(this.#mcp, this.#services, { trusted }));
    const { basePath } = this.#options;
    const handler = (request: Request): Promise<Response> => this.#withSecurityHeaders(request, () => this.#answer(request));
    const listener = await listenOn(handler, { port, host, clock, log, direct, basePath });
    if (this.#closing !== undefined) {
      await listener.close(() => Promise.resolve());
      throw closedError();
    }
    this.#closers.push((work) => listener.close(work));
    if (announced !== undefined) this.#trusted.allowedHosts.push(announced.hostname);
    const reached = address === false ? undefined : (announced?.origin ?? listener.origin);
    await undoOnRejection(this.#member.announce({ port: listener.port, address: reached }), () => listener.close(() => Promise.resolve()));
    return { port: listener.port, url: listener.origin + (basePath ?? "") };
  }

  async work(options: ServerWorkOptions = {}): Promise<void> {
    checkWorkerOptions(options, "work()");
    if (this.#worker !== undefined) throw new ToolError("invalid_argument", "work() was already called.");
    const { clock, log, sessions, settings } = this.#services;
    const all = { ports: { clock, log }, graceMs: settings.graceMs, ...omitUndefined({ ...options }) };
    const worker = (this.#worker = new StoreWorker(this.#runtime, all, this.#mcp?.keepQuestions(sessions) ?? sessions));
    await undoOnRejection(worker.start(), () => (this.#worker = undefined));
  }

  close({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    return (this.#closing ??= this.#close(signal));
  }

  async #close(signal: AbortSignal | undefined): Promise<void> {
    // Every port stops listening before the work begins, and is released when the work is done.
    const work = async (): Promise<void> => {
      const forget = signal === undefined ? undefined : onAbort(signal, () => cancelCalls(this.#services)); // also calls that came over MCP
      await Promise.all([this.#worker?.stop(omitUndefined({ signal })), this.#mcp?.close(signal), drain(this.#services, signal)]).finally(
        forget,
      );
    };
    let done: Promise<void> | undefined;
    const once = (): Promise<void> => (done ??= work());
    await Promise.all([...this.#closers.map((close) => close(once)), once()]);
    this.#stopCounting();
    await this.#member.stop();
    await Promise.all([this.#services.calls?.close(), this.#services.access.settled()]);
  }

  #createRouter(): Promise<ApiRouter> {
    const { runtime, clock, ids, log, store, agents } = this.#services;
    const about = { name: this.#options.name ?? "haft", version: this.#options.version ?? "0.0.0" };
    return createRouter({
      services: this.#services,
      keyed: new KeyedAnswers({
        clock,
        ids,
        log: failureLog({ log, clock }),
        access: store?.access ?? new MemoryAccess(),
        identityOf: sessionIdentities({ runtime, store, ids }),
        sessionOfAgent: (name) => agents.get(name)?.session.id,
      }),
      handlers: {
        ...toolHandlers,
        ...callHandlers,
        ...sessionHandlers,
        ...sessionKeyHandlers,
        ...artifactHandlers,
        ...approvalHandlers,
        ...jobHandlers,
        ...agentHandlers,
        ...scheduleHandlers,
        ...fleetHandlers,
        ...upstreamHandlers,
        ...auditHandlers,
        ...serverHandlers(about),
      },
    });
  }

  #createServices(): ApiServices {
    const runtime = this.#runtime;
    const { store } = runtime;
    const settings = serverSettings(this.#options.limits);
    const { clock, ids, log } = completePorts(this.#options.ports);
    const { auth, agents = {}, expectedAgents = [], logins, basePath = "" } = this.#options;
    logins?.setBasePath(basePath);
    const access = toServerAccess(auth, { clock, log });
    return {
      basePath,
      logins,
      runtime,
      store,
      settings,
      clock,
      ids,
      log,
      titles: new SessionTitles(store),
      sessions: new SessionPool({ runtime, store, clock, log: failureLog({ log, clock }), settings, allow: access.currentRules }),
      submissions: new Submissions({ clock, ids }),
      forwardedWork: new WorkInProgress(),
      events: new EventHub(runtime, { clock }),
      agents: agents instanceof Map ? agents : new Map(Object.entries(agents)),
      expectedAgents: new Set(expectedAgents),
      triggers: this.#options.triggers,
      limits: new Limits(settings, clock),
      metrics: new Metrics(),
      node: () => this.#member.name,
      stopping: () => this.#closing !== undefined,
      calls: createCallLog(runtime, { clock, log }),
      access,
    };
  }
}

function closedError(): ToolError {
  return new ToolError("unavailable", "The server was closed and cannot listen again.");
}
