/** The features of a server besides its tools, kept across its connections; see `McpPeer`. */
import { ToolError, describeThrown } from "../../core/error.ts";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import type { Clock, Log } from "../../core/ports.ts";
import { rejectOnAbort } from "../../core/base/reject-on-abort.ts";
import type { ServerRequestContext } from "./answer-request.ts";
import { ChangeStream } from "./change-stream.ts";
import type { ListenFilter, McpConnection } from "./connection.ts";
import { requestWithInput } from "./request-with-input.ts";
import type { ServerLink } from "./server-link.ts";
import { ServerFault } from "./failure.ts";
import type { McpPeer, PeerIdentity, PeerNotification, PeerOptions } from "./peer.ts";
import { withTimeLimit } from "../../processes/sleep.ts";

/** Strikes the credentials of the server out of what it says. */
export type RedactAnswer = <T>(value: T) => T;

export interface PeerContext {
  readonly clock: Clock;
  readonly log: Log;
  readonly requestContext: ServerRequestContext;
  /** Called when the tools may have changed. */
  readonly onToolsChanged: () => void;
}

/** How long a server may take to restore subscriptions and the log level, or to answer a ping, in milliseconds. */
const RESTORE_TIMEOUT_MS = 10_000;
const LOG_LEVEL = "io.modelcontextprotocol/logLevel";
const SERVER_INFO = "io.modelcontextprotocol/serverInfo";
const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";

export class ServerPeer implements McpPeer {
  readonly #link: () => ServerLink;
  readonly #redactAnswer: RedactAnswer;
  readonly #listeners = new Set<(notification: PeerNotification) => void>();
  readonly #subscriptions = new Set<string>();
  /** Changes of subscriptions in progress, by URI; each resolves when the change has ended. */
  readonly #pendingChanges = new Map<string, Promise<unknown>>();
  #context: PeerContext | undefined;
  #logLevel: string | undefined;
  #changeStream: ChangeStream | undefined;
  #identity: PeerIdentity | undefined;

  constructor(link: () => ServerLink, redactAnswer: RedactAnswer) {
    this.#link = link;
    this.#redactAnswer = redactAnswer;
  }

  get name(): string {
    return this.#link().name;
  }

  get identity(): PeerIdentity | undefined {
    return this.#context === undefined ? undefined : this.#identity;
  }

  listResources(params: JsonObject, options: PeerOptions): Promise<JsonObject> {
    return this.#request("resources", "resources/list", params, options);
  }

  listResourceTemplates(params: JsonObject, options: PeerOptions): Promise<JsonObject> {
    return this.#request("resources", "resources/templates/list", params, options);
  }

  readResource(params: JsonObject, options: PeerOptions): Promise<JsonObject> {
    return this.#request("resources", "resources/read", params, options);
  }

  listPrompts(params: JsonObject, options: PeerOptions): Promise<JsonObject> {
    return this.#request("prompts", "prompts/list", params, options);
  }

  getPrompt(params: JsonObject, options: PeerOptions): Promise<JsonObject> {
    return this.#request("prompts", "prompts/get", params, options);
  }

  complete(params: JsonObject, options: PeerOptions): Promise<JsonObject> {
    return this.#request("completions", "completion/complete", params, options);
  }

  subscribe(params: JsonObject, options: PeerOptions): Promise<JsonObject> {
    return this.#runInOrder(params, options, async (uri) => {
      const answer = await this.#changeSubscription("resources/subscribe", params, options);
      this.#subscriptions.add(uri);
      await rejectOnAbort(this.#listen(), options.signal);
      return answer;
    });
  }

  /** Ends a subscription. A lost server has none, so it is not reconnected for this. */
  unsubscribe(params: JsonObject, options: PeerOptions): Promise<JsonObject> {
    return this.#runInOrder(params, options, async (uri) => {
      this.#subscriptions.delete(uri);
      if (this.#link().connection?.endReason !== undefined) return {};
      const answer = await this.#changeSubscription("resources/unsubscribe", params, options);
      await rejectOnAbort(this.#listen(), options.signal);
      return answer;
    });
  }

  /** Makes changes of one subscription one after the other: a slow server could otherwise end with the first of them. */
  async #runInOrder(params: JsonObject, { signal }: PeerOptions, change: (uri: string) => Promise<JsonObject>): Promise<JsonObject> {
    const { uri } = params;
    if (typeof uri !== "string") throw new ToolError("invalid_argument", "A subscription needs the uri of a resource.");
    const before = this.#pendingChanges.get(uri) ?? Promise.resolve();
    const running = rejectOnAbort(before, signal).then(() => change(uri));
    const settled: Promise<unknown> = Promise.allSettled([before, running]).finally(() => {
      if (this.#pendingChanges.get(uri) === settled) this.#pendingChanges.delete(uri);
    });
    this.#pendingChanges.set(uri, settled);
    return await running;
  }

  async setLogLevel(params: JsonObject, options: PeerOptions): Promise<JsonObject> {
    const level = params["level"];
    if (typeof level !== "string") throw new ToolError("invalid_argument", "A log level must be a string, such as info.");
    const answer = await this.#runOnLegacy("logging", (connection) => this.#send(connection, "logging/setLevel", params, options), options);
    this.#logLevel = level;
    this.#link().connection?.setMeta(LOG_LEVEL, level);
    return answer;
  }

  /** Whether there are listeners for notifications, or subscriptions. */
  get hasListeners(): boolean {
    return this.#context !== undefined && (this.#listeners.size > 0 || this.#subscriptions.size > 0);
  }

  onNotification(listener: (notification: PeerNotification) => void): () => void {
    this.#listeners.add(listener);
    if (this.#context !== undefined) this.#link().reconnect(); // it may have ended while there was no listener
    return () => this.#listeners.delete(listener);
  }

  open(context: PeerContext): void {
    this.#context = context;
  }

  /** Restores subscriptions and the log level on a new connection, also after the engine was closed and opened again. */
  handleConnected(connection: McpConnection, isReconnect: boolean): void {
    const context = this.#context;
    this.#changeStream?.close();
    this.#changeStream = undefined;
    this.#identity = this.#redactAnswer(connection.identity);
    if (context === undefined) return;
    if (this.#logLevel !== undefined) connection.setMeta(LOG_LEVEL, this.#logLevel);
    const onProblem = (what: string): void => context.log.debug(`MCP server "${this.name}": ${what}`);
    const onReopened = (): void => {
      this.#notifyListsChanged(connection);
      this.#notifyUpdated(this.#subscriptions);
    };
    if (connection.era === "modern") {
      this.#changeStream = new ChangeStream({ connection, clock: context.clock, onReopened, onProblem });
      const subscribed = [...this.#subscriptions];
      void this.#listen().then(() => this.#notifyUpdated(subscribed));
    } else {
      connection.wire.listen?.({ onReopened, onProblem, onRefused: () => this.#checkSession(connection, context) });
      this.#restoreState(connection, context);
    }
    if (isReconnect) this.#notifyListsChanged(connection);
  }

  /** Passes on a notification of the server. */
  handleNotification(method: string, params: JsonObject): void {
    if (!isPeerMethod(method)) return;
    if (method === "notifications/tools/list_changed") this.#context?.onToolsChanged();
    this.#notifyListeners({ method, params: this.#redactAnswer(withoutMeta(params, SUBSCRIPTION)) });
  }

  /** Ends the change stream. Subscriptions and the log level are kept for the next time that the engine is opened. */
  close(): void {
    this.#changeStream?.close();
    this.#changeStream = undefined;
    this.#context = undefined;
  }

  /** Reports all lists as changed, as notifications may have been missed. */
  #notifyListsChanged(connection: McpConnection): void {
    this.#context?.onToolsChanged();
    if (connection.hasCapability("prompts")) this.#notifyListeners({ method: "notifications/prompts/list_changed", params: {} });
    if (connection.hasCapability("resources")) this.#notifyListeners({ method: "notifications/resources/list_changed", params: {} });
  }

  /** Reports the resources as updated, as notifications may have been missed. */
  #notifyUpdated(uris: Iterable<string>): void {
    if (this.#context === undefined) return;
    for (const uri of uris) this.#notifyListeners({ method: "notifications/resources/updated", params: { uri } });
  }

  /** Reconnects if the server no longer knows the session. */
  async #checkSession(connection: McpConnection, { clock }: PeerContext): Promise<void> {
    const ping = (signal: AbortSignal): Promise<unknown> => connection.request("ping", {}, { signal });
    await withTimeLimit({ clock, limitMs: RESTORE_TIMEOUT_MS }, ping).catch(() => undefined); // the error is recorded in the connection
    if (connection.endReason !== undefined) this.#link().reconnect();
  }

  #notifyListeners(notification: PeerNotification): void {
    for (const listener of this.#listeners) {
      try {
        listener(notification);
      } catch (error: unknown) {
        this.#context?.log.warn(`A listener of MCP server "${this.name}" threw: ${describeThrown(error)}`);
      }
    }
  }

  async #request(capability: string, method: string, params: JsonObject, options: PeerOptions): Promise<JsonObject> {
    return await this.#link().withConnection(options.signal, async (connection) => {
      this.#checkCapability(connection, capability);
      return await this.#send(connection, method, params, options);
    });
  }

  /** Sends a change of a subscription in the legacy era; in the modern era the change stream is used. */
  #changeSubscription(method: string, params: JsonObject, options: PeerOptions): Promise<JsonObject> {
    return this.#runOnLegacy("resources", (connection) => this.#send(connection, method, params, options), options);
  }

  async #runOnLegacy(
    capability: string,
    work: (connection: McpConnection) => Promise<JsonObject>,
    { signal }: PeerOptions,
  ): Promise<JsonObject> {
    return await this.#link().withConnection(signal, async (connection) => {
      this.#checkCapability(connection, capability);
      return connection.era === "modern" ? {} : await work(connection);
    });
  }

  #checkCapability(connection: McpConnection, capability: string): void {
    if (connection.hasCapability(capability)) return;
    throw new ToolError("unavailable", `MCP server "${this.name}" offers no ${capability}.`);
  }

  async #send(connection: McpConnection, method: string, params: JsonObject, { signal, ask }: PeerOptions): Promise<JsonObject> {
    const context = this.#context;
    if (context === undefined) throw new ToolError("unavailable", `MCP server "${this.name}" is not open.`);
    const asking: PeerOptions["ask"] = ask && ((question, asker) => ask(this.#redactAnswer(question), asker));
    const caller = { session: Symbol("peer"), ask: asking, signal };
    const { requestContext, clock } = context;
    const send = (): Promise<unknown> => requestWithInput(connection, method, params, { signal, caller, requestContext, clock });
    const answer = await (mayCauseQuestions(method) ? connection.callers.track(caller, send) : send());
    if (!isJsonObject(answer)) throw new ServerFault("invalid_output", `it answered ${method} with something that is not an object`);
    const { resultType: _type, ...result } = answer;
    return this.#redactAnswer(withoutMeta(result, SERVER_INFO));
  }

  async #listen(): Promise<void> {
    const connection = this.#link().connection;
    if (connection !== undefined) await this.#changeStream?.setFilter(this.#createFilter(connection));
  }

  #createFilter({ identity }: McpConnection): ListenFilter {
    const changes = (capability: string): boolean => {
      const offered = identity.capabilities[capability];
      return isJsonObject(offered) && offered["listChanged"] === true;
    };
    return {
      ...(changes("tools") ? { toolsListChanged: true } : {}),
      ...(changes("prompts") ? { promptsListChanged: true } : {}),
      ...(changes("resources") ? { resourcesListChanged: true } : {}),
      ...(this.#subscriptions.size === 0 ? {} : { resourceSubscriptions: [...this.#subscriptions] }),
    };
  }

  #restoreState(connection: McpConnection, { clock, log }: PeerContext): void {
    const again = async (method: string, params: JsonObject): Promise<void> => {
      try {
        await withTimeLimit({ clock, limitMs: RESTORE_TIMEOUT_MS }, (signal) => connection.request(method, params, { signal }));
      } catch (error: unknown) {
        log.warn(`MCP server "${this.name}" could not resume ${method}: ${describeThrown(error)}`);
      }
    };
    if (connection.hasCapability("resources"))
      for (const uri of this.#subscriptions) void again("resources/subscribe", { uri }).then(() => this.#notifyUpdated([uri]));
    if (this.#logLevel !== undefined && connection.hasCapability("logging")) void again("logging/setLevel", { level: this.#logLevel });
  }
}

/** Whether the request may lead to questions. Others are not counted as callers, so that the questions of a call stay unambiguous. */
function mayCauseQuestions(method: string): boolean {
  return method === "prompts/get" || method === "resources/read";
}

function isPeerMethod(method: string): method is PeerNotification["method"] {
  return /^notifications\/(?:message|(?:prompts|resources|tools)\/list_changed|resources\/updated)$/u.test(method);
}

function withoutMeta(object: JsonObject, key: string): JsonObject {
  const meta = object["_meta"];
  if (!isJsonObject(meta) || !Object.hasOwn(meta, key)) return object;
  const { [key]: _own, ...others } = meta;
  const { _meta, ...rest } = object;
  return Object.keys(others).length === 0 ? rest : { ...rest, _meta: others };
}
