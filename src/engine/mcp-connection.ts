/** One connection to one running server: made with the official client, used for requests, closed once. */
import type { Client, JSONRPCMessage } from "@modelcontextprotocol/client";
import type { ProgressUpdate } from "../core/context.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import { isJsonObject } from "../core/json.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import type { Log } from "../core/ports.ts";
import { printable } from "./mcp-last-words.ts";
import type { ServerCommand } from "./mcp-process.ts";
import { CLOSED, StdioTransport } from "./mcp-stdio.ts";

type ClientModule = typeof import("@modelcontextprotocol/client");
type ProtocolMode = "auto" | "legacy";

export interface ConnectionOptions {
  readonly server: ServerCommand;
  /** What the server is called in messages. */
  readonly name: string;
  readonly signal: AbortSignal;
  readonly log: Log;
}

export interface CallOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (update: ProgressUpdate) => void;
}

/** The SDK's own limit must never be the first to end a request; this is the longest that a timer can wait. */
const NO_TIMEOUT_MS = 2_147_483_647;
/** A server that says nothing to the version probe is taken for an older one after this time. */
const PROBE_MS = 3_000;

/** Takes any result: what it holds is read field by field, so that one bad tool or part spoils no other. */
const ANY_RESULT = { "~standard": { version: 1 as const, vendor: "haft", validate: (value: unknown) => ({ value }) } };

export class McpConnection {
  readonly #client: Client;
  readonly #transport: StdioTransport;
  readonly #isProtocolError: (error: unknown) => error is { readonly code: number; readonly message: string } & Error;

  readonly #progress = new Map<unknown, (update: ProgressUpdate) => void>();
  #calls = 0;

  /** Made before the client connects, so that it sees every message first. */
  constructor(client: Client, transport: StdioTransport, sdk: ClientModule) {
    this.#client = client;
    this.#transport = transport;
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK knows only this way
    transport.onmessage = (message) => this.#report(message);
    client.setNotificationHandler("notifications/progress", () => undefined);
    this.#isProtocolError = (error) => error instanceof sdk.ProtocolError;
  }

  /** Why the connection can no longer be used, as the end of a sentence; undefined while it can. */
  get ended(): string | undefined {
    return this.#transport.ended;
  }

  /** What the server last said beside its messages; see `LastWords`. */
  get lastWords(): readonly string[] {
    return this.#transport.lastWords;
  }

  get receivedBytes(): number {
    return this.#transport.receivedBytes;
  }

  /** What the server calls itself. Its own claim. */
  get serverInfo(): { readonly name: string; readonly version: string } | undefined {
    const info = this.#client.getServerVersion();
    return info === undefined ? undefined : { name: info.name, version: info.version };
  }

  get hasTools(): boolean {
    return this.#client.getServerCapabilities()?.tools !== undefined;
  }

  /** Sends one request; rejects with the SDK's errors. It is on its way when this returns. */
  request(method: string, params: { readonly [name: string]: JsonValue }, signal: AbortSignal): Promise<unknown> {
    return this.#client.request({ method, params: { ...params } }, ANY_RESULT, { signal, timeout: NO_TIMEOUT_MS });
  }

  async callTool(name: string, input: JsonObject, options: CallOptions): Promise<unknown> {
    const progressToken = this.#calls++;
    this.#progress.set(progressToken, options.onProgress);
    try {
      return await this.request("tools/call", { name, arguments: input, _meta: { progressToken } }, options.signal);
    } finally {
      this.#progress.delete(progressToken);
    }
  }

  /** The code of a JSON-RPC error answer; undefined for every other failure. */
  errorCode(error: unknown): number | undefined {
    return this.#isProtocolError(error) ? error.code : undefined;
  }

  async close(): Promise<void> {
    await this.#transport.close();
  }

  /** Passes progress on at once: the SDK does so a moment later, and forgets what came just before the answer. */
  #report(message: JSONRPCMessage): void {
    if (!("method" in message) || message.method !== "notifications/progress" || !isJsonObject(message.params)) return;
    const { progressToken, progress, total, message: text } = message.params;
    if (typeof progress !== "number") return;
    this.#progress.get(progressToken)?.({
      done: progress,
      ...(typeof total === "number" ? { total } : {}),
      ...(typeof text === "string" ? { message: text } : {}),
    });
  }
}

/**
 * Starts a server and agrees on a version of the protocol with it.
 *
 * The newest version is asked for first. Some older servers end themselves at that question: they are started
 * once more and greeted in the older way.
 *
 * @throws ToolError `unavailable` saying why, with the server's last lines as details
 */
export async function connect(options: ConnectionOptions): Promise<McpConnection> {
  const sdk = await loadClient();
  const transport = new StdioTransport(options.server);
  try {
    return await attempt(sdk, transport, "auto", options);
  } catch (error: unknown) {
    const endedByProbe = transport.exited && error instanceof sdk.SdkError && error.code === sdk.SdkErrorCode.EraNegotiationFailed;
    if (!endedByProbe || options.signal.aborted) throw failure(options, transport, error);
  }
  const second = new StdioTransport(options.server);
  try {
    return await attempt(sdk, second, "legacy", options);
  } catch (error: unknown) {
    throw failure(options, second, error);
  }
}

/** The official client is an optional peer: only who calls MCP servers installs it. */
async function loadClient(): Promise<ClientModule> {
  try {
    return await import("@modelcontextprotocol/client");
  } catch (error: unknown) {
    throw new ToolError(
      "unavailable",
      "The package @modelcontextprotocol/client is not installed, and MCP servers are called through it.",
      {
        hint: "npm install @modelcontextprotocol/client",
        cause: error,
      },
    );
  }
}

async function attempt(
  sdk: ClientModule,
  transport: StdioTransport,
  mode: ProtocolMode,
  options: ConnectionOptions,
): Promise<McpConnection> {
  const { name, signal, log } = options;
  const client = new sdk.Client({ name: "haft", version: "0" }, { versionNegotiation: { mode, probe: { timeoutMs: PROBE_MS } } });
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK knows only this way
  client.onerror = (error) => log.debug(`MCP server "${name}": ${describeThrown(error).slice(0, 500)}`);
  const connection = new McpConnection(client, transport, sdk);
  const stop = (): void => void transport.close();
  signal.addEventListener("abort", stop, { once: true });
  try {
    signal.throwIfAborted();
    await client.connect(transport, { timeout: NO_TIMEOUT_MS });
    if (transport.ended !== undefined) throw new Error(transport.ended);
    return connection;
  } catch (error: unknown) {
    await transport.close();
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function failure(options: ConnectionOptions, transport: StdioTransport, error: unknown): ToolError {
  const { ended } = transport;
  let reason = ended === undefined || ended === CLOSED ? printable(describeThrown(error)) : ended;
  if (options.signal.aborted) reason = "it did not answer in time";
  return new ToolError("unavailable", `MCP server "${options.name}" could not be opened: ${reason}.`, {
    details: transport.lastWords,
    cause: error,
  });
}
