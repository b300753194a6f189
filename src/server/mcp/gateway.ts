/** A runtime as an MCP server: the state that all connections share, and a server instance for each connection. */
import type { Server, ServerContext } from "@modelcontextprotocol/server";
import { describeThrown, isToolError } from "../../core/error.ts";
import type { JsonObject } from "../../core/base/json.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { ChangeNotifier, type ChangeListener } from "./change-notifier.ts";
import type { CallAnswer } from "./call-result.ts";
import { createCallLog, type CallLog } from "../auth/call-log.ts";
import { settlesWithin } from "../api/settles-within.ts";
import type { Exchange } from "./exchange.ts";
import { measured, type Asked } from "./measure.ts";
import { settingsOf, type McpServerOptions, type Settings } from "./options.ts";
import { addPeerHandlers } from "./peer-handlers.ts";
import { isPeerError } from "../../engine/mcp/peer.ts";
import { Peers } from "./peers.ts";
import { type Connection, allowsLevel } from "./round.ts";
import { VisibleLists } from "./visible-lists.ts";
import { createUncheckedServerClass, type ServerModule } from "./sdk.ts";
import { CALL_METHOD } from "./plain-call.ts";
import { failureLog, isForOperator, referToLog } from "../store-failures.ts";
import { INTERNAL_ERROR, INVALID_PARAMS, RESOURCE_NOT_FOUND } from "../../engine/mcp/rpc-codes.ts";
import {
  noSession,
  type Caller,
  type CallHandlerContext,
  type ConnectionInfo,
  type Handler,
  type McpRequest,
  type HandlerContext,
  type SharedState,
} from "./handler-context.ts";
import { Suspensions } from "./suspensions.ts";
import { addTaskHandlers } from "./tasks/task-handlers.ts";
import { TASKS_EXTENSION } from "./tasks/task-offer.ts";
import type { UnclaimedQuestions } from "./tasks/unclaimed-questions.ts";
import { Tasks } from "./tasks/tasks.ts";
import { addToolHandlers, answerCall, stoppingProtocolError } from "./tool-handlers.ts";
import { ToolList } from "./tool-list.ts";

interface Handled extends Asked {
  readonly handler: Handler;
}

export class Gateway implements SharedState {
  readonly runtime: Runtime;
  readonly settings: Settings;
  readonly sdk: ServerModule;
  readonly tools: ToolList;
  readonly peers: Peers;
  readonly suspensions: Suspensions;
  readonly changeNotifier: ChangeNotifier;
  readonly loggingConnections = new Set<HandlerContext>();
  readonly activeWork = new Set<Pick<Exchange<unknown>, "cancel" | "signal" | "isAsking">>();
  readonly tasks: Tasks | undefined;
  readonly calls: CallLog | undefined;
  readonly #server: typeof Server;
  readonly #running = new Set<Promise<unknown>>();
  readonly #ownCalls: CallLog | undefined;
  #isStopping = false;
  #cachedCapabilities: { readonly version: number; readonly era: Era; readonly capabilities: JsonObject } | undefined;

  /**
   * @param parts.calls the call log; by default one that is made and closed with the gateway
   * @param parts.questions those of tasks that a worker of the server continues; by default it has no worker
   */
  constructor(
    runtime: Runtime,
    options: McpServerOptions,
    {
      sdk,
      calls,
      questions,
    }: { readonly sdk: ServerModule; readonly calls?: CallLog | undefined; readonly questions?: UnclaimedQuestions },
  ) {
    this.runtime = runtime;
    this.settings = settingsOf(options);
    this.sdk = sdk;
    this.#server = createUncheckedServerClass(sdk);
    this.tools = new ToolList(runtime.registry, this.settings);
    this.peers = new Peers(runtime.registry, this.settings);
    this.suspensions = new Suspensions(sdk, this.settings);
    this.changeNotifier = new ChangeNotifier(runtime, this.peers);
    const { tasks, clock, log } = this.settings;
    this.#ownCalls = calls === undefined ? createCallLog(runtime, { clock, log }) : undefined;
    this.calls = calls ?? this.#ownCalls;
    if (tasks !== undefined) this.tasks = new Tasks({ runtime, settings: tasks, clock, log, questions });
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** Makes a server instance, ready to be connected. Changes are announced to it until it is closed. */
  createServerInstance(info: ConnectionInfo): Server {
    const { name, version, instructions, listTtlMs } = this.settings;
    const list = { ttlMs: listTtlMs, cacheScope: "private" } as const;
    const connection: Connection = { era: info.era, logLevel: undefined };
    const server = new this.#server(
      { name, version },
      {
        capabilities: this.#capabilities(info.era),
        ...(instructions === undefined ? {} : { instructions }),
        cacheHints: { "tools/list": list, "prompts/list": list, "resources/list": list, "resources/templates/list": list },
        requestState: { verify: this.suspensions.verify },
      },
    );
    const ends: (() => void)[] = [];
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK knows only this way
    server.onclose = () => {
      for (const end of ends.splice(0)) end();
    };
    const handlerContext: HandlerContext = {
      gateway: this,
      server,
      connection,
      info,
      ...this.#handlerRegistration(server, info),
      onClose: (end) => void ends.push(end),
    };
    addToolHandlers(handlerContext);
    addTaskHandlers(handlerContext);
    const isSubscribed = addPeerHandlers(handlerContext);
    if (info.receivesChanges) ends.push(this.changeNotifier.add(createListener(handlerContext, isSubscribed)));
    return server;
  }

  /** Answers a call of the revision 2026-07-28 over HTTP, which has no connection. @throws a protocol error, as a rejection */
  answerCall(request: McpRequest, context: ServerContext, caller: Caller): Promise<CallAnswer | JsonObject> {
    const asked = { method: CALL_METHOD, request, context, server: MODERN_SERVER };
    return this.#runHandler(asked, () => answerCall(this.servingModern(caller), request, context));
  }

  /** The context to answer a client of the revision 2026-07-28 with, without a server instance. */
  servingModern(caller: Caller): CallHandlerContext {
    const info: ConnectionInfo = { era: "modern", caller, receivesChanges: false, session: noSession };
    return { gateway: this, server: MODERN_SERVER, connection: MODERN_CONNECTION, info };
  }

  /** Functions that register request handlers at a server instance. */
  #handlerRegistration(server: Server, info: ConnectionInfo): Pick<HandlerContext, "handle" | "handleCalls" | "handleOther"> {
    return {
      handle: (method, handler) => {
        // the SDK types each method's result by the schema that the result is checked against
        const untyped = server as unknown as { setRequestHandler(method: string, handler: Handler): void };
        untyped.setRequestHandler(method, (request, context) => this.#answerRequest(info, { method, handler, request, context, server }));
      },
      handleCalls: (handler) => {
        const verified: Handler = async (request, context) => handler(request, await this.suspensions.withVerifiedState(context));
        handleUnchecked(server, CALL_METHOD, (request, context) =>
          this.#answerRequest(info, { method: CALL_METHOD, handler: verified, request, context, server }),
        );
      },
      handleOther: (method, handler) =>
        handleUnchecked(server, method, (request, context) => this.#answerRequest(info, { method, handler, request, context, server })),
    };
  }

  /**
   * Refuses new requests, and lets running ones end for `graceMs` or until the signal aborts. What still runs is cancelled then, while its client can
   * still be answered: a client whose stream ends without an answer may wait until its own timeout.
   */
  async stop(graceMs: number, signal?: AbortSignal): Promise<void> {
    this.#isStopping = true;
    if (this.#running.size === 0) return;
    await settlesWithin(this.#whenIdle(), graceMs, this.settings.clock, signal);
    await this.cancelCalls("the server is stopping");
  }

  /** Cancels what runs, and waits up to DRAIN_MS for the answers. */
  async cancelCalls(reason: string): Promise<void> {
    const left = [...this.activeWork].filter((work) => !work.signal.aborted);
    if (left.length === 0) return;
    for (const work of left) work.cancel(reason);
    await settlesWithin(this.#whenIdle(), DRAIN_MS, this.settings.clock);
  }

  async #whenIdle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  /** Resolves when all calls are in the audit, and tasks are left to a later server, as `Tasks.leaveAll` does. */
  async flush(graceMs: number, signal?: AbortSignal): Promise<void> {
    await this.tasks?.leaveAll(graceMs, signal);
    await this.#ownCalls?.close();
  }

  close(): void {
    this.changeNotifier.close();
    this.suspensions.close();
    this.tasks?.close();
  }

  /** The capabilities, cached until tools change, and with them the upstream servers. */
  #capabilities(era: Era): JsonObject {
    const { version } = this.runtime.registry;
    if (this.#cachedCapabilities?.version === version && this.#cachedCapabilities.era === era) return this.#cachedCapabilities.capabilities;
    const capabilities = {
      tools: { listChanged: true },
      logging: {},
      ...(this.peers.offersKind("prompts") ? { prompts: { listChanged: true } } : {}),
      ...(this.peers.offersKind("resources")
        ? { resources: { listChanged: true, ...(this.peers.offersSubscriptions() ? { subscribe: true } : {}) } }
        : {}),
      ...(this.peers.offersKind("completions") ? { completions: {} } : {}),
      ...(this.tasks === undefined ? {} : TASK_CAPABILITIES[era]),
    };
    this.#cachedCapabilities = { version, era, capabilities };
    return capabilities;
  }

  async #answerRequest({ requests, onUnanswered }: ConnectionInfo, asked: Handled): Promise<unknown> {
    const { handler, request, context } = asked;
    const { id } = context.mcpReq;
    requests?.add(id);
    try {
      return await this.#runHandler(asked, () => handler(request, context));
    } finally {
      requests?.delete(id);
      if (context.mcpReq.signal.aborted) onUnanswered?.(id);
    }
  }

  #runHandler<T>(asked: Asked, answer: () => T): Promise<Awaited<T>> {
    if (this.runtime.tracing?.recordServed === undefined) return this.#answered(asked.method, answer);
    return measured(this, asked, () => this.#answered(asked.method, answer));
  }

  async #answered<T>(method: string, answer: () => T): Promise<Awaited<T>> {
    if (this.#isStopping) throw stoppingProtocolError(this.sdk);
    const running = (async () => await answer())();
    this.#running.add(running);
    try {
      return await running;
    } catch (error: unknown) {
      throw this.#protocolError(method, error);
    } finally {
      this.#running.delete(running);
    }
  }

  /**
   * Converts an error for the client: errors that it can act on are kept; for internal errors it gets only a reference to the log. `data` says
   * what is known of the effect, and whether the request may be sent again.
   */
  #protocolError(method: string, error: unknown): Error {
    const { ProtocolError } = this.sdk;
    if (error instanceof ProtocolError) return error;
    if (isToolError(error)) {
      if (isPeerError(error) && error.rpcCode !== RESOURCE_NOT_FOUND)
        return new ProtocolError(error.rpcCode, error.rpcMessage, error.rpcData);
      const isAsked = error.code === "not_found" || error.code === "invalid_input" || isPeerError(error);
      if (isAsked) return new ProtocolError(INVALID_PARAMS, error.message);
      const message = isForOperator(error) ? referToLog(method, error, this.settings) : error.message;
      const { outcome, retryable } = error;
      return new ProtocolError(INTERNAL_ERROR, message, { "haft/call": { outcome, retryable } });
    }
    const id = this.settings.ids.next("error");
    failureLog(this.settings).warn(`${method} failed (${id}): ${describeThrown(error)}`);
    return new ProtocolError(INTERNAL_ERROR, `Internal error (${id}); the server's log says more.`);
  }
}

type Era = ConnectionInfo["era"];

/** Maximum wait for the answers of cancelled calls, in milliseconds. */
const DRAIN_MS = 1_000;

/** The newer revision accepts answers unchanged, and its clients describe themselves with each request. */
const MODERN_SERVER: CallHandlerContext["server"] = {
  projectCallToolResult: (result) => result,
  getNegotiatedProtocolVersion: () => undefined, // clients support every kind of content
  getClientCapabilities: () => undefined,
};
const MODERN_CONNECTION: Connection = Object.freeze({ era: "modern", logLevel: undefined });

/** The capability for tasks in each era. */
const TASK_CAPABILITIES: Readonly<Record<Era, JsonObject>> = {
  legacy: { tasks: { cancel: {}, requests: { tools: { call: {} } } } },
  modern: { extensions: { [TASKS_EXTENSION]: {} } },
};

/** Registers a handler that checks the parameters itself. */
function handleUnchecked(server: Server, method: string, handler: Handler): void {
  const answer = (params: Record<string, unknown>, context: ServerContext): unknown => handler({ params }, context);
  // the SDK types each method's result
  const untyped = server as unknown as { setRequestHandler(method: string, schemas: object, handler: typeof answer): void };
  untyped.setRequestHandler(method, { params: ANY_SCHEMA }, answer);
}

/** A Standard Schema that accepts any value. */
const ANY_SCHEMA = { "~standard": { version: 1, vendor: "haft", validate: (value: unknown) => ({ value }) } } as const;

/** Sends announcements to one connection. Messages that cannot be sent are dropped: the client has disconnected. */
function createListener({ server, connection, gateway, info }: HandlerContext, isSubscribed: (uri: string) => boolean): ChangeListener {
  const quietly = (sent: Promise<void>): void => void sent.catch(() => {});
  const { prompts, resources } = server.getCapabilities();
  const lists = new VisibleLists(gateway, info);
  return {
    toolsChanged: () => (lists.hasNewTools() ? quietly(server.sendToolListChanged()) : undefined),
    promptsChanged: (source) => {
      if (prompts !== undefined && (source === undefined || lists.isVisible(source))) quietly(server.sendPromptListChanged());
    },
    resourcesChanged: (source) => {
      if (resources !== undefined && (source === undefined || lists.isVisible(source))) quietly(server.sendResourceListChanged());
    },
    resourceUpdated: (uri, source) => {
      if ((connection.era === "modern" || isSubscribed(uri)) && lists.isVisible(source)) quietly(server.sendResourceUpdated({ uri }));
    },
    messageLogged: (params, source) => {
      const { level, data, logger } = params;
      if (connection.era === "modern" || !allowsLevel(connection, level) || data === undefined || !lists.isVisible(source)) return;
      quietly(
        server.notification({ method: "notifications/message", params: { level, data, ...(logger === undefined ? {} : { logger }) } }),
      );
    },
  };
}
