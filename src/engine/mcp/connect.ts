/** Connects to a server with the official client, and negotiates the version of the protocol. */
import type { Client, ClientCapabilities, Transport } from "@modelcontextprotocol/client";
import { rejectOnAbort } from "../../core/base/reject-on-abort.ts";
import { ToolError, describeThrown, isToolError, pickHints } from "../../core/error.ts";
import { loadPackage } from "../../core/system/lazy-package.ts";
import { copyJson, type JsonObject } from "../../core/base/json.ts";
import type { Clock, Log } from "../../core/ports.ts";
import { redactError, type Redact } from "../../core/secrets/redact.ts";
import { credentialProblem, findInnerToolError, findRpcFailure, findHttpStatus } from "./call-error.ts";
import type { ServerRequest } from "./answer-request.ts";
import { Callers } from "./callers.ts";
import { McpConnection } from "./connection.ts";
import { createCustomTransport } from "./custom-transport.ts";
import { hasPath, nextEndpoint, httpEndpoints, type HttpEndpoint } from "./http-endpoints.ts";
import { HttpWire } from "./http-wire.ts";
import { loadSpawn } from "../../processes/server-process.ts";
import { stripControlCharacters } from "../../processes/stderr-tail.ts";
import { serverUrl, redactUrl, type McpOptions, type McpUrlOptions } from "./options.ts";
import { Relay, StdioRelay, type RelayEvents } from "./relay.ts";
import { StdioTransport } from "./stdio-transport.ts";
import { UNSUPPORTED_PROTOCOL_VERSION } from "./rpc-codes.ts";
import { CLOSED_REASON, type Wire } from "./wire.ts";

type ClientModule = typeof import("@modelcontextprotocol/client");

export interface ConnectOptions {
  readonly server: McpOptions;
  /** The name of the server in messages. */
  readonly name: string;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
  readonly redact: Redact;
  /** See `HttpWireOptions`. */
  readonly onToken: (token: string) => void;
  readonly events: ConnectionEvents;
}

/** Notifications and requests that a server sends. */
export interface ServerEvents {
  onNotification(method: string, params: JsonObject): void;
  /** See `RelayEvents`. */
  onRequest(request: ServerRequest, callers: Callers): Promise<JsonObject> | undefined;
}

export interface ConnectionEvents extends ServerEvents {
  /** Called when the process has ended, or the stream that carries all messages of a server. */
  onLost(): void;
  /** Called when a server requires a login while it is being connected to. */
  onLogin(): void;
}

/** The longest delay of a timer, so that the SDK's own limit never ends a request first. */
const NO_TIMEOUT_MS = 2_147_483_647;
/** How long to wait for an answer to the version probe before a child process counts as an older server, in milliseconds. */
const PROBE_MS = 3_000;
/** Maximum number of characters quoted of an answer that is not valid. */
const MAX_QUOTED = 500;
/** How often a person is sent to log in before opening fails. */
const MAX_LOGINS = 2;

/**
 * Connects, with the newest version that both sides support.
 *
 * Some older servers exit at a request of the modern era: they are started once more and initialized in the legacy way. Over HTTP with `transport:
 * "auto"`, the older transport is tried if a server does not support Streamable HTTP; at a `url` without a path, `/mcp` and `/sse` are tried if there
 * is no server at `/`.
 *
 * @throws ToolError `unavailable` with the reason, and the stderr tail of a child process as details
 */
export async function connect(options: ConnectOptions): Promise<McpConnection> {
  const sdk = await loadClient();
  const { server, clock, redact, signal } = options;
  if (server.url !== undefined) return await connectHttp(sdk, server, options);
  if (server.command === undefined) return await connectChannel(sdk, () => createCustomTransport(server, clock, signal), options);
  const stdio = { clock, redact, spawn: await loadSpawn(server) };
  return await connectChannel(sdk, async () => new StdioTransport(server, stdio), options);
}

/** Connects by a single channel for all messages. @param makeWire called once more if the server exited at the version probe */
async function connectChannel(sdk: ClientModule, makeWire: () => Promise<Wire>, options: ConnectOptions): Promise<McpConnection> {
  const { server } = options;
  let wire: Wire | undefined;
  try {
    wire = await makeWire();
    return await connectOnce(sdk, wire, options);
  } catch (error: unknown) {
    const endedByProbe = wire?.exited === true && error instanceof sdk.SdkError && error.code === sdk.SdkErrorCode.EraNegotiationFailed;
    if (!endedByProbe || options.signal.aborted || (server.protocol ?? "auto") !== "auto") throw connectError(options, wire, error);
  }
  try {
    wire = await makeWire();
    return await connectOnce(sdk, wire, { ...options, server: { ...server, protocol: "legacy" } });
  } catch (error: unknown) {
    throw connectError(options, wire, error);
  }
}

async function connectHttp(sdk: ClientModule, server: McpUrlOptions, options: ConnectOptions): Promise<McpConnection> {
  const endpoints = httpEndpoints(server);
  let endpoint: HttpEndpoint | undefined = endpoints[0];
  let failed: unknown;
  while (endpoint !== undefined) {
    try {
      return await connectWithLogin(sdk, { ...options, server: endpoint.server }, endpoint.kind);
    } catch (error: unknown) {
      if (findRpcFailure(failed) === undefined) failed = error; // a server's own error says most
      endpoint = options.signal.aborted ? undefined : nextEndpoint(endpoints, endpoint, findHttpStatus(error));
    }
  }
  throw httpConnectError(options, server, failed);
}

/** Connects over HTTP by one of the ways, and sends the person to log in up to `MAX_LOGINS` times. */
async function connectWithLogin(
  sdk: ClientModule,
  options: ConnectOptions & { readonly server: McpUrlOptions },
  kind: "http" | "sse",
): Promise<McpConnection> {
  for (let login = 1; ; login++) {
    const wire = new HttpWire({ server: options.server, kind, sdk, clock: options.clock, log: options.log, onToken: options.onToken });
    try {
      return await connectOnce(sdk, wire, options);
    } catch (error: unknown) {
      if (error instanceof sdk.UnauthorizedError) options.events.onLogin();
      const mayLogIn = wire.authorize !== undefined && login <= MAX_LOGINS && !options.signal.aborted;
      if (!mayLogIn || !(error instanceof sdk.UnauthorizedError)) throw error;
      try {
        await wire.authorize(options.signal);
      } finally {
        await wire.close();
      }
    }
  }
}

/** Loads the official client, an optional peer dependency: only programs that call MCP servers install it. */
export function loadClient(): Promise<ClientModule> {
  const wanted = { name: "@modelcontextprotocol/client", need: "MCP servers are called through it" };
  return loadPackage(() => import("@modelcontextprotocol/client"), wanted);
}

async function connectOnce(sdk: ClientModule, wire: Wire, options: ConnectOptions): Promise<McpConnection> {
  const { signal } = options;
  const callers = new Callers(options.clock);
  const stop = (): void => void wire.close();
  signal.addEventListener("abort", stop, { once: true });
  try {
    signal.throwIfAborted();
    const { client, relay } = await negotiate(sdk, wire, { ...options, callers });
    relay.isNegotiating = false;
    if (wire.endReason !== undefined) throw new Error(wire.endReason);
    if (client.getProtocolEra() === "modern") relay.envelope = envelopeOf(sdk, client, options.server);
    return new McpConnection({ client, relay, wire, sdk, callers });
  } catch (error: unknown) {
    const isNeeded = wire.authorize !== undefined && error instanceof sdk.UnauthorizedError; // to finish the login that follows
    if (!isNeeded) await wire.close();
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

interface NegotiateOptions extends ConnectOptions {
  readonly callers: Callers;
}

interface NegotiatedClient {
  readonly client: Client;
  readonly relay: Relay;
}

/**
 * Negotiates the version with a connected server.
 *
 * A child process of the modern era that starts slowly finds both the version probe and the legacy `initialize` in its pipe, and refuses the latter:
 * it is asked once more, in the modern way.
 */
async function negotiate(sdk: ClientModule, wire: Wire, options: NegotiateOptions): Promise<NegotiatedClient> {
  try {
    return await negotiateOnce(sdk, wire, options);
  } catch (error: unknown) {
    const isNewer = error instanceof sdk.ProtocolError && error.code === UNSUPPORTED_PROTOCOL_VERSION;
    const mayAskAgain = isChannel(wire) && wire.endReason === undefined && (options.server.protocol ?? "auto") === "auto";
    if (!isNewer || !mayAskAgain || options.signal.aborted) throw error;
    return await negotiateOnce(sdk, wire, { ...options, server: { ...options.server, protocol: "modern" } });
  }
}

async function negotiateOnce(sdk: ClientModule, wire: Wire, options: NegotiateOptions): Promise<NegotiatedClient> {
  const { name, signal, log, events, callers } = options;
  const debug = (what: string): void => log.debug(`MCP server "${name}": ${options.redact(what).slice(0, 500)}`);
  const client = makeClient(sdk, wire, options.server);
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK knows only this way
  client.onerror = (error) => {
    debug(describeThrown(error));
    if (wire.kind !== "sse" || !(error instanceof sdk.SseError)) return;
    wire.abandon("its event stream broke off");
    events.onLost();
  };
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK knows only this way
  client.onclose = () => {
    if (isChannel(wire) && wire.endReason !== CLOSED_REASON) events.onLost();
  };
  const relay = new (isChannel(wire) ? StdioRelay : Relay)(wire.transport, relayEvents(events, callers, debug));
  // the SDK's connect never settles if an SSE stream is closed before it names the address for messages
  await rejectOnAbort(client.connect(relay satisfies Transport, { timeout: NO_TIMEOUT_MS }), signal);
  return { client, relay };
}

/** Whether one channel carries all messages, so that its end is the end of the connection. */
function isChannel({ kind }: Wire): boolean {
  return kind === "stdio" || kind === "custom";
}

function relayEvents(events: ServerEvents, callers: Callers, onDropped: (what: string) => void): RelayEvents {
  return {
    onNotification: (method, params) => events.onNotification(method, params),
    onRequest: (method, params, signal) => events.onRequest({ method, params, signal }, callers),
    onDropped,
  };
}

function makeClient(sdk: ClientModule, wire: Wire, server: McpOptions): Client {
  const modes = { auto: "auto", legacy: "legacy", modern: { pin: "2026-07-28" } } as const;
  const protocol = server.protocol ?? "auto";
  const versionNegotiation = {
    mode: wire.kind === "sse" ? modes.legacy : modes[protocol],
    probe: { timeoutMs: isChannel(wire) && protocol === "auto" ? PROBE_MS : NO_TIMEOUT_MS },
  };
  return new sdk.Client(CLIENT_INFO, { capabilities: clientCapabilities(server), versionNegotiation });
}

const CLIENT_INFO = { name: "haft", version: "0" };

/** The capabilities that are offered to servers. Elicitation always is: without an approver a question is declined. */
function clientCapabilities({ sampling, roots }: McpOptions): ClientCapabilities {
  return {
    elicitation: { form: { applyDefaults: true }, url: {} },
    ...(sampling === undefined ? {} : { sampling: {} }),
    ...(roots === undefined ? {} : { roots: {} }),
    extensions: { "io.modelcontextprotocol/tasks": {} },
  };
}

/** The `_meta` fields that the modern era requires in every request, in place of a handshake. */
function envelopeOf(sdk: ClientModule, client: Client, server: McpOptions): JsonObject {
  const capabilities = copyJson(clientCapabilities(server)).value;
  return {
    [sdk.PROTOCOL_VERSION_META_KEY]: client.getNegotiatedProtocolVersion() ?? "",
    [sdk.CLIENT_INFO_META_KEY]: CLIENT_INFO,
    [sdk.CLIENT_CAPABILITIES_META_KEY]: capabilities,
  };
}

function connectError({ name, signal, redact, log }: ConnectOptions, wire: Wire | undefined, error: unknown): ToolError {
  logLastLines(name, { signal, log, lines: wire?.stderrTail ?? [] });
  const ended = wire?.endReason;
  let reason = ended === undefined || ended === CLOSED_REASON ? stripControlCharacters(redact(describeThrown(error))) : ended;
  if (signal.aborted) reason = "it did not answer in time";
  const connectionError = new ToolError("unavailable", `MCP server "${name}" could not be opened: ${reason}.`, {
    details: wire?.stderrTail ?? [],
    cause: error,
  });
  return redactError(connectionError, redact);
}

/** Logs what a server printed that did not open in time: its toolset has failed by then, with an error that says only this. */
function logLastLines(
  name: string,
  { signal, log, lines }: Pick<ConnectOptions, "signal" | "log"> & { readonly lines: readonly string[] },
): void {
  const isLate = signal.aborted && isToolError(signal.reason) && signal.reason.code === "timeout";
  if (!isLate || lines.length === 0) return;
  const printed = stripControlCharacters(lines.join(" / ")).slice(0, MAX_QUOTED);
  log.warn(
    `MCP server ${JSON.stringify(name)} did not open in time. The last lines that it printed: ${printed}. ` +
      "A server writes messages to its standard output, and everything else to its standard error.",
  );
}

function httpConnectError({ name, signal, redact }: ConnectOptions, server: McpUrlOptions, error: unknown): ToolError {
  const inner = findInnerToolError(error);
  const retryable = inner?.code === "unavailable" && inner.retryable;
  const createError = (reason: string, hints: Parameters<typeof pickHints>[0] = {}): ToolError =>
    redactError(
      new ToolError("unavailable", `MCP server "${name}" could not be opened: ${stripControlCharacters(reason).replace(/\.$/u, "")}.`, {
        retryable,
        ...pickHints(hints),
        cause: error,
      }),
      redact,
    );
  if (signal.aborted) return createError("it did not answer in time");
  const refusal = credentialProblem(server, error);
  if (refusal !== undefined) return createError(refusal.reason, refusal);
  if (inner !== undefined) return createError(inner.message, inner);
  const status = findHttpStatus(error);
  if (status !== 404 && status !== 405) return createError((findRpcFailure(error)?.message ?? describeThrown(error)).slice(0, MAX_QUOTED));
  return createError(`there is no MCP server at ${redactUrl(serverUrl(server))} (HTTP ${status})`, { operatorHint: pathHint(server) });
}

function pathHint(server: McpUrlOptions): string {
  const others = httpEndpoints(server).map((endpoint) => serverUrl(endpoint.server).pathname);
  if (hasPath(server)) return "Look at the path of the url: many servers are at /mcp, or at /sse with the older transport.";
  return `The url has no path, and there is no server at ${[...new Set(others)].join(", ")}; write the path of the server.`;
}
