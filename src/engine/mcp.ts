/** Answers calls through an MCP server: a child process, a server over HTTP, or one behind a transport of the program. @packageDocumentation */
import type { ToolContext } from "../core/context.ts";
import type { Engine, EngineContext, EngineRequest } from "../core/engine.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import { checkString } from "../core/check-argument.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { Tool } from "../core/tool.ts";
import { TOOLSET_SETTINGS, splitSettings, type Toolset, type ToolsetSettings } from "../core/toolset.ts";
import { definitionFingerprint } from "../schema/definition-fingerprint.ts";
import { answerRequest, isAnswerable, type ServerRequestContext } from "./mcp/answer-request.ts";
import { attachToTask, callTool } from "./mcp/call-tool.ts";
import type { McpConnection } from "./mcp/connection.ts";
import { HEADER_MISMATCH } from "./mcp/rpc-codes.ts";
import { stripControlCharacters } from "../processes/stderr-tail.ts";
import { redactDefinition } from "./redact-definition.ts";
import { ServerLink } from "./mcp/server-link.ts";
import { PerUserEngine } from "./mcp/login/per-user-engine.ts";
import { checkOptions } from "./mcp/check-options.ts";
import { MCP_OPTIONS, type McpOptions } from "./mcp/options.ts";
import { MCP_PEER, PeerError, type McpPeer } from "./mcp/peer.ts";
import { ServerPeer } from "./mcp/server-peer.ts";
import { ServerSecrets } from "./mcp/server-secrets.ts";
import { throttledLog } from "../core/system/throttled-log.ts";
import { listTools, type ToolList } from "./mcp/list-tools.ts";
import { redactError } from "../core/secrets/redact.ts";

export { UserLogins } from "./mcp/login/user-logins.ts";
export type { UserLogin } from "./mcp/login/login-tokens.ts";
export type { UserLoginsOptions } from "./mcp/login/logins-options.ts";
export { mcpPeerOf } from "./mcp/peer.ts";
export type {
  McpPeer,
  PeerIdentity as McpPeerIdentity,
  PeerNotification as McpPeerNotification,
  PeerOptions as McpPeerOptions,
} from "./mcp/peer.ts";
export type {
  McpAuth,
  McpBasicAuth,
  McpBearerAuth,
  McpClientCredentialsAuth,
  McpCommandOptions,
  McpCommonOptions,
  McpOAuth,
  McpOptions,
  McpOwnAuth,
  McpPrivateKeyAuth,
  McpRoot,
  McpSampler,
  McpTokenExchangeAuth,
  McpTransport,
  McpTransportOptions,
  McpUrlOptions,
  McpUserLoginAuth,
} from "./mcp/options.ts";

/** Bounds of the time that a tool list may be kept, whatever the server asks for. */
const MIN_TTL_MS = 60_000;
const MAX_TTL_MS = 86_400_000;

/**
 * An MCP server over stdio, Streamable HTTP, the older HTTP with server-sent events or a `transport` of your own, in either era of the protocol.
 *
 * `open` connects and returns its tools. The client library is loaded only then. If the connection is lost, the calls in flight fail with
 * `network_error`, outcome `unknown`, and are not sent again. The next call connects again, at most three times, and then not for a minute. While its
 * peer has listeners, it also reconnects without a call, a process eight times at most. After a reconnect, a tool whose definition changed is not
 * called before the tools were listed again. A question that the server asks during a call goes to `context.ask` of that call. `close` ends the
 * connection, and a process with all its child processes.
 *
 * @throws ToolError `invalid_argument` at once for options that cannot work
 */
export function mcpEngine(options: McpOptions): Engine {
  checkOptions(options);
  const auth = options.url === undefined ? undefined : options.auth;
  if (options.url === undefined || (auth?.type !== "user-login" && auth?.type !== "token-exchange")) return new McpEngine(options);
  return new PerUserEngine(options, { auth, makeEngine: (own) => new McpEngine(own) });
}

/**
 * A toolset with the tools of an MCP server: `{ name, engine: mcpEngine(options) }`, with the settings of a toolset among the options.
 *
 * @throws ToolError `invalid_argument` at once for options that cannot work
 */
export function mcpToolset(name: string, options: McpOptions & ToolsetSettings): Toolset {
  checkString(name, "mcpToolset(name, options)", "the name of a toolset");
  checkKnownKeys<McpOptions & ToolsetSettings>(options, { ...MCP_OPTIONS, ...TOOLSET_SETTINGS }, "mcpToolset()");
  const [settings, engine] = splitSettings<McpOptions>(options);
  return { name, ...settings, engine: mcpEngine(engine) };
}

class McpEngine implements Engine {
  readonly kind = "mcp";
  readonly [MCP_PEER]: McpPeer;
  readonly #options: McpOptions;
  readonly #secrets: ServerSecrets;
  readonly #link: ServerLink;
  readonly #peer: ServerPeer;
  /** The server's names of the renamed tools, by their new names. */
  readonly #originalNames: ReadonlyMap<string, string>;
  /** Set while the engine is open. */
  #context: EngineContext | undefined;
  #stopTtl: (() => void) | undefined;
  /** The tools that the runtime has, and the connection on which they were listed. */
  #runtimeTools: { readonly tools: readonly Tool[]; readonly on: McpConnection } | undefined;
  /** The tool lists of later connections to the server. */
  readonly #listsByConnection = new WeakMap<McpConnection, Promise<ToolList>>();
  #closing = new AbortController();

  constructor(options: McpOptions) {
    this.#options = options;
    this.#originalNames = new Map(Object.entries(options.rename ?? {}).map(([from, to]) => [to, from]));
    this.#secrets = new ServerSecrets(options);
    this.#peer = new ServerPeer(() => this.#link, this.#secrets.redactAnswer);
    this[MCP_PEER] = this.#peer;
    this.#link = new ServerLink(options, this.#secrets, {
      onConnected: (connection, isReconnect) => this.#peer.handleConnected(connection, isReconnect),
      hasListeners: () => this.#peer.hasListeners,
      onNotification: (method, params) => this.#peer.handleNotification(method, params),
      onRequest: (request, callers) =>
        isAnswerable(request.method) ? answerRequest(request, callers.resolveOwner(request.params), this.#requestContext()) : undefined,
    });
  }

  async open({ log, ...given }: EngineContext): Promise<readonly Tool[]> {
    const context = { ...given, log: throttledLog(log, given.clock) };
    this.#context = context;
    this.#closing = new AbortController();
    this.#peer.open({
      clock: context.clock,
      log: context.log,
      requestContext: this.#requestContext(),
      onToolsChanged: () => this.#context?.changed(),
    });
    let connection: McpConnection | undefined;
    try {
      connection = await this.#link.open(context);
      return this.#acceptTools(await this.#listTools(connection, context.signal), connection);
    } catch (error: unknown) {
      const reason = connection?.endReason ?? connection?.wire.problem ?? stripControlCharacters(describeThrown(error));
      const details = connection?.wire.stderrTail ?? [];
      await this.close();
      if (error instanceof ToolError) throw error;
      throw redactError(
        new ToolError("unavailable", `MCP server "${context.toolset}" did not list its tools: ${reason.replace(/\.$/u, "")}.`, {
          details,
          cause: error,
        }),
        this.#secrets.redact,
      );
    }
  }

  async list(signal: AbortSignal): Promise<readonly Tool[]> {
    return await this.#link.withConnection(signal, async (connection) =>
      this.#acceptTools(await this.#listTools(connection, signal), connection),
    );
  }

  call(request: EngineRequest, context: ToolContext): Promise<unknown> {
    return this.#runOnServer(request, context, callTool);
  }

  /** Continues a task of the server, by its id. */
  attach(taskId: string, request: EngineRequest, context: ToolContext): Promise<unknown> {
    return this.#runOnServer(request, context, (connection, _, options) => attachToTask(connection, taskId, options));
  }

  async #runOnServer(request: EngineRequest, context: ToolContext, send: typeof callTool): Promise<unknown> {
    const { signal } = context;
    const engine = this.#context;
    if (engine === undefined) throw new ToolError("unavailable", `MCP server "${this.#link.name}" is not open.`);
    try {
      return await this.#link.withConnection(signal, async (connection) => {
        if (this.#runtimeTools?.on !== connection) await this.#checkUnchanged(connection, request.tool.name);
        return await send(connection, request, {
          name: this.#originalNames.get(request.tool.name) ?? request.tool.name,
          context,
          requestContext: this.#requestContext(),
          redactAnswer: this.#secrets.redactAnswer,
          clock: engine.clock,
          getConnection: (signal) => this.#link.getConnection(signal),
          toCallError: (error, on) => this.#link.toCallError(error, on, signal),
        });
      });
    } catch (error: unknown) {
      if (error instanceof PeerError && error.rpcCode === HEADER_MISMATCH) engine.changed();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#stopTtl?.();
    this.#closing.abort();
    this.#runtimeTools = undefined;
    this.#peer.close();
    this.#context = undefined;
    await this.#link.close();
  }

  /** The server's tools, without credentials that it repeats in their definitions. */
  async #listTools(connection: McpConnection, signal: AbortSignal): Promise<ToolList> {
    const { trustAnnotations = false, maxTools = 100_000 } = this.#options;
    const { log } = this.#requestContext();
    const options = { name: this.#link.name, trustAnnotations, maxTools, selection: this.#options, signal, log };
    const { tools, ttlMs } = await listTools(connection, options);
    return { tools: tools.map((tool) => redactDefinition(tool, this.#secrets.redactAnswer)), ttlMs };
  }

  /** Checks, on a new connection, that the tool's definition is the one that the runtime has, as the restarted server may differ. */
  async #checkUnchanged(connection: McpConnection, name: string): Promise<void> {
    let live = this.#listsByConnection.get(connection);
    if (live === undefined) {
      live = this.#listTools(connection, this.#closing.signal);
      this.#listsByConnection.set(connection, live);
      live.catch(() => this.#listsByConnection.delete(connection)); // the next call lists again
    }
    const { tools } = await live;
    const known = this.#runtimeTools?.tools.find((tool) => tool.name === name);
    if (known === undefined) return;
    const now = tools.find((tool) => tool.name === name);
    if (now !== undefined && definitionFingerprint(now) === definitionFingerprint(known)) return;
    const what = now === undefined ? "no longer has the tool" : "has changed the definition of the tool";
    throw new ToolError("definition_changed", `MCP server "${this.#link.name}" ${what} ${JSON.stringify(name)}; the call was not sent.`, {
      hint: "The tools are listed again: look at its definition, then call again.",
    });
  }

  /** Keeps the tools that the runtime has. A server that does not announce changes is asked again when the TTL of its list has passed. */
  #acceptTools({ tools, ttlMs = 0 }: ToolList, connection: McpConnection): readonly Tool[] {
    const { identity } = connection;
    this.#runtimeTools = { tools, on: connection };
    this.#stopTtl?.();
    const context = this.#context;
    const announces = JSON.stringify(identity.capabilities["tools"] ?? {}).includes('"listChanged":true');
    if (context === undefined || announces || !(ttlMs > 0)) return tools;
    const delayMs = Math.min(Math.max(ttlMs, MIN_TTL_MS), MAX_TTL_MS);
    this.#stopTtl = context.clock.timer(() => this.#context?.changed(), delayMs, { background: true });
    return tools;
  }

  #requestContext(): ServerRequestContext {
    const { sampling, roots } = this.#options;
    return { server: this.#context?.toolset ?? this.#link.name, log: this.#context?.log ?? SILENT, sampling, roots };
  }
}

const SILENT = { debug: (): void => undefined, warn: (): void => undefined };
