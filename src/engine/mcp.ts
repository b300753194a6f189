/** Answers calls through an MCP server: a child process, a server over HTTP, or one behind a transport of the program. @packageDocumentation */
import type { ToolContext } from "../core/context.ts";
import type { Engine, EngineContext, EngineRequest } from "../core/engine.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import { checkText } from "../core/check-argument.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { Tool } from "../core/tool.ts";
import { TOOLSET_SETTINGS, splitSettings, type Toolset, type ToolsetSettings } from "../core/toolset.ts";
import { definitionFingerprint } from "../schema/definition-fingerprint.ts";
import { answerRequest, isAnswerable, type Answering } from "./mcp/answer-request.ts";
import { attachToTask, callTool } from "./mcp/call-tool.ts";
import type { McpConnection } from "./mcp/connection.ts";
import { HEADER_MISMATCH } from "./mcp/rpc-codes.ts";
import { printable } from "../processes/stderr-tail.ts";
import { ServerLink } from "./mcp/link.ts";
import { PerUserEngine } from "./mcp/login/per-user.ts";
import { checkOptions } from "./mcp/check-options.ts";
import { MCP_OPTIONS, credentialsOf, secretsOf, type McpOptions } from "./mcp/options.ts";
import { MCP_PEER, PeerError, type McpPeer } from "./mcp/peer.ts";
import { ServerPeer, type Strike } from "./mcp/server-peer.ts";
import { throttledLog } from "../core/throttled-log.ts";
import { listTools, type ToolList } from "./mcp/tools.ts";
import { redactError, redactor, redactValue, type Redact } from "../core/base/redact.ts";

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
  checkText(name, "mcpToolset(name, options)", "the name of a toolset");
  checkKnownKeys<McpOptions & ToolsetSettings>(options, { ...MCP_OPTIONS, ...TOOLSET_SETTINGS }, "mcpToolset()");
  const [settings, engine] = splitSettings<McpOptions>(options);
  return { name, ...settings, engine: mcpEngine(engine) };
}

class McpEngine implements Engine {
  readonly kind = "mcp";
  readonly [MCP_PEER]: McpPeer;
  readonly #options: McpOptions;
  readonly #redact: Redact;
  readonly #strike: Strike;
  readonly #link: ServerLink;
  readonly #peer: ServerPeer;
  /** The server's names of the renamed tools, by their new names. */
  readonly #renamed: ReadonlyMap<string, string>;
  /** Set while the engine is open. */
  #context: EngineContext | undefined;
  #stopTtl: (() => void) | undefined;
  /** The tools that the runtime has, and the connection on which they were listed. */
  #told: { readonly tools: readonly Tool[]; readonly on: McpConnection } | undefined;
  /** The tool lists of later connections to the server. */
  readonly #live = new WeakMap<McpConnection, Promise<ToolList>>();
  #closing = new AbortController();

  constructor(options: McpOptions) {
    this.#options = options;
    this.#renamed = new Map(Object.entries(options.rename ?? {}).map(([from, to]) => [to, from]));
    this.#redact = redactor(secretsOf(options));
    const credentials = credentialsOf(options);
    const redactAnswer = redactor(credentials);
    this.#strike = Object.keys(credentials).length === 0 ? (said) => said : (said) => redactValue(said, redactAnswer);
    this.#peer = new ServerPeer(() => this.#link, this.#strike);
    this[MCP_PEER] = this.#peer;
    this.#link = new ServerLink(options, this.#redact, {
      onConnected: (connection, isAgain) => this.#peer.connected(connection, isAgain),
      hasListeners: () => this.#peer.hasListeners,
      onNotification: (method, params) => this.#peer.notified(method, params),
      onRequest: (request, callers) =>
        isAnswerable(request.method) ? answerRequest(request, callers.owner(), this.#answering()) : undefined,
    });
  }

  async open({ log, ...given }: EngineContext): Promise<readonly Tool[]> {
    const context = { ...given, log: throttledLog(log, given.clock) };
    this.#context = context;
    this.#closing = new AbortController();
    this.#peer.open({
      clock: context.clock,
      log: context.log,
      answering: this.#answering(),
      onToolsChanged: () => this.#context?.changed(),
    });
    let connection: McpConnection | undefined;
    try {
      connection = await this.#link.open(context);
      return this.#taken(await this.#listed(connection, context.signal), connection);
    } catch (error: unknown) {
      const reason = connection?.ended ?? connection?.wire.problem ?? printable(describeThrown(error));
      const details = connection?.wire.stderrTail ?? [];
      await this.close();
      if (error instanceof ToolError) throw error;
      throw redactError(
        new ToolError("unavailable", `MCP server "${context.toolset}" did not list its tools: ${reason.replace(/\.$/u, "")}.`, {
          details,
          cause: error,
        }),
        this.#redact,
      );
    }
  }

  async list(signal: AbortSignal): Promise<readonly Tool[]> {
    return await this.#link.use(signal, async (connection) => this.#taken(await this.#listed(connection, signal), connection));
  }

  call(request: EngineRequest, context: ToolContext): Promise<unknown> {
    return this.#ask(request, context, callTool);
  }

  /** Continues a task of the server, by its id. */
  attach(taskId: string, request: EngineRequest, context: ToolContext): Promise<unknown> {
    return this.#ask(request, context, (connection, _, options) => attachToTask(connection, taskId, options));
  }

  async #ask(request: EngineRequest, context: ToolContext, ask: typeof callTool): Promise<unknown> {
    const { signal } = context;
    const engine = this.#context;
    if (engine === undefined) throw new ToolError("unavailable", `MCP server "${this.#link.name}" is not open.`);
    try {
      return await this.#link.use(signal, async (connection) => {
        if (this.#told?.on !== connection) await this.#checkSame(connection, request.tool.name);
        return await ask(connection, request, {
          name: this.#renamed.get(request.tool.name) ?? request.tool.name,
          context,
          answering: this.#answering(),
          strike: this.#strike,
          clock: engine.clock,
          reach: (signal) => this.#link.reach(signal),
          explain: (error, on) => this.#link.explain(error, on, signal),
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
    this.#told = undefined;
    this.#peer.close();
    this.#context = undefined;
    await this.#link.close();
  }

  #listed(connection: McpConnection, signal: AbortSignal): Promise<ToolList> {
    const { trustAnnotations = false, maxTools = 100_000 } = this.#options;
    const { log } = this.#answering();
    return listTools(connection, { name: this.#link.name, trustAnnotations, maxTools, choice: this.#options, signal, log });
  }

  /** Checks, on a new connection, that the tool's definition is the one that the runtime has, as the restarted server may differ. */
  async #checkSame(connection: McpConnection, name: string): Promise<void> {
    let live = this.#live.get(connection);
    if (live === undefined) {
      live = this.#listed(connection, this.#closing.signal);
      this.#live.set(connection, live);
      live.catch(() => this.#live.delete(connection)); // the next call lists again
    }
    const { tools } = await live;
    const told = this.#told?.tools.find((tool) => tool.name === name);
    if (told === undefined) return;
    const now = tools.find((tool) => tool.name === name);
    if (now !== undefined && definitionFingerprint(now) === definitionFingerprint(told)) return;
    const what = now === undefined ? "no longer has the tool" : "has changed the definition of the tool";
    throw new ToolError("definition_changed", `MCP server "${this.#link.name}" ${what} ${JSON.stringify(name)}; the call was not sent.`, {
      hint: "The tools are listed again: look at its definition, then call again.",
    });
  }

  /** Keeps the tools that the runtime has. A server that does not announce changes is asked again when the TTL of its list has passed. */
  #taken({ tools, ttlMs = 0 }: ToolList, connection: McpConnection): readonly Tool[] {
    const { identity } = connection;
    this.#told = { tools, on: connection };
    this.#stopTtl?.();
    const context = this.#context;
    const announces = JSON.stringify(identity.capabilities["tools"] ?? {}).includes('"listChanged":true');
    if (context === undefined || announces || !(ttlMs > 0)) return tools;
    const delayMs = Math.min(Math.max(ttlMs, MIN_TTL_MS), MAX_TTL_MS);
    this.#stopTtl = context.clock.timer(() => this.#context?.changed(), delayMs, { background: true });
    return tools;
  }

  #answering(): Answering {
    const { sampling, roots } = this.#options;
    return { server: this.#context?.toolset ?? this.#link.name, log: this.#context?.log ?? SILENT, sampling, roots };
  }
}

const SILENT = { debug: (): void => undefined, warn: (): void => undefined };
