/** Answers calls through an MCP server that runs as a child process. */
import type { ToolContext } from "../core/context.ts";
import type { Engine, EngineContext, EngineRequest } from "../core/engine.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import type { Log } from "../core/ports.ts";
import type { Tool } from "../core/tool.ts";
import { connect } from "./mcp-connection.ts";
import type { McpConnection } from "./mcp-connection.ts";
import { printable } from "./mcp-last-words.ts";
import type { ServerCommand } from "./mcp-process.ts";
import { redactError, redactor } from "./redact.ts";
import type { Redact } from "./redact.ts";
import { toToolOutput } from "./mcp-result.ts";
import { listTools } from "./mcp-tools.ts";
import { processNow, processPause } from "./process-time.ts";

export interface McpOptions extends ServerCommand {
  /** Take the server's word that a tool only reads or may be repeated. @default false: its hints only add caution */
  readonly trustAnnotations?: boolean;
  /** A longer list of tools is refused. Integer ≥ 1. @default 100_000 */
  readonly maxTools?: number;
}

/** How long the server is left alone before the first, second and third restart. */
const RESTART_DELAYS_MS = [0, 250, 1_000];
const RESTART_TIMEOUT_MS = 10_000;
/** Restarts are counted anew when the last start lies this far back. */
const FORGIVEN_MS = 60_000;
const INVALID_PARAMS = -32_602;

/**
 * An MCP server over stdio, speaking either era of the protocol.
 *
 * `open` starts the process and returns its tools. The client library is loaded only then. A server that dies
 * fails the calls under way with `network_error`, of unknown outcome and never sent again from here; the next
 * call starts it anew, at most three times and then not for a minute. `close` ends the process and all it started.
 *
 * @throws ToolError `invalid_argument` at once for options that cannot work
 */
export function mcpEngine(options: McpOptions): Engine {
  checkOptions(options);
  return new McpEngine(options);
}

class McpEngine implements Engine {
  readonly kind = "mcp";
  readonly #options: McpOptions;
  readonly #redact: Redact;
  #name = "";
  /** Set while the engine is open. */
  #log: Log | undefined;
  #connection: McpConnection | undefined;
  #connecting: Promise<McpConnection> | undefined;
  #closing = new AbortController();
  #restarts = 0;
  #startedAt = 0;

  constructor(options: McpOptions) {
    this.#options = options;
    this.#redact = redactor(options.env);
  }

  async open(context: EngineContext): Promise<readonly Tool[]> {
    this.#name = context.toolset;
    this.#closing = new AbortController();
    this.#restarts = 0;
    const signal = AbortSignal.any([context.signal, this.#closing.signal]);
    const connection = await this.#start(context.log, signal);
    try {
      const { trustAnnotations = false, maxTools = 100_000 } = this.#options;
      const tools = await listTools(connection, { name: this.#name, trustAnnotations, maxTools, signal, log: context.log });
      this.#log = context.log;
      return tools;
    } catch (error: unknown) {
      const reason = connection.ended ?? printable(describeThrown(error));
      await this.close();
      if (error instanceof ToolError) throw error;
      throw new ToolError("unavailable", `MCP server "${this.#name}" did not list its tools: ${reason}.`, {
        details: connection.lastWords,
        cause: error,
      });
    }
  }

  async call(request: EngineRequest, context: ToolContext): Promise<unknown> {
    const { signal } = context;
    let connection = this.#connection;
    if (connection === undefined || connection.ended !== undefined) connection = await this.#reconnected(signal);
    try {
      const answer = await connection.callTool(request.tool.name, request.input, {
        signal,
        onProgress: (update) => context.progress(update),
      });
      return toToolOutput(answer, this.#name);
    } catch (error: unknown) {
      throw redactError(this.#callError(error, connection, signal), this.#redact);
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const connection = this.#connection;
    const connecting = this.#connecting;
    this.#connection = undefined;
    this.#log = undefined;
    await connection?.close();
    await connecting?.then((late) => late.close()).catch(() => undefined); // its own caller is told
  }

  async #start(log: Log, signal: AbortSignal): Promise<McpConnection> {
    this.#startedAt = processNow();
    const connection = await connect({ server: this.#options, name: this.#name, signal, log });
    this.#connection = connection;
    return connection;
  }

  /** A living connection, made anew if need be; callers that come meanwhile share it. */
  async #reconnected(signal: AbortSignal): Promise<McpConnection> {
    const log = this.#log;
    if (log === undefined) throw new ToolError("unavailable", `MCP server "${this.#name}" is not open.`);
    this.#connecting ??= this.#restart(log).finally(() => {
      this.#connecting = undefined;
    });
    return await untilAborted(this.#connecting, signal);
  }

  async #restart(log: Log): Promise<McpConnection> {
    const reason = this.#connection?.ended ?? "it is gone";
    if (processNow() - this.#startedAt > FORGIVEN_MS) this.#restarts = 0;
    const delayMs = RESTART_DELAYS_MS[this.#restarts];
    if (delayMs === undefined) {
      throw new ToolError("unavailable", `MCP server "${this.#name}" ended again after ${this.#restarts} restarts: ${reason}.`, {
        hint: "Find out why it ends. It is left alone for a minute; a call after that starts it once more.",
      });
    }
    this.#restarts++;
    log.warn(`MCP server "${this.#name}" is started again (${this.#restarts} of ${RESTART_DELAYS_MS.length}): ${reason}.`);
    await processPause(delayMs, this.#closing.signal);
    try {
      return await this.#start(log, AbortSignal.any([this.#closing.signal, AbortSignal.timeout(RESTART_TIMEOUT_MS)]));
    } catch (thrown: unknown) {
      const error = ToolError.fromUnknown(thrown);
      throw new ToolError("network_error", error.message, { outcome: "not_started", details: error.details, cause: error });
    }
  }

  #callError(error: unknown, connection: McpConnection, signal: AbortSignal): ToolError {
    if (error instanceof ToolError) return error;
    if (signal.aborted) return new ToolError("cancelled", `The call was cancelled; MCP server "${this.#name}" was told.`, { cause: error });
    if (connection.ended !== undefined) {
      return new ToolError("network_error", `The connection to MCP server "${this.#name}" was lost during the call: ${connection.ended}.`, {
        details: connection.lastWords,
        cause: error,
      });
    }
    const code = connection.errorCode(error);
    const message = `MCP server "${this.#name}": ${describeThrown(error)}`;
    if (code === INVALID_PARAMS) return new ToolError("invalid_input", message, { outcome: "failed", cause: error });
    return new ToolError(code === undefined ? "invalid_output" : "execution_failed", message, { cause: error });
  }
}

/** Waits for a promise that others wait for too, only as long as this caller wants. */
function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void =>
      reject(
        new ToolError("cancelled", "The call was cancelled while its MCP server was being started again.", { outcome: "not_started" }),
      );
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

function checkOptions(options: McpOptions): void {
  const { command, args = [], env = {}, maxTools = 1 } = options;
  if (typeof command !== "string" || command === "")
    throw new ToolError("invalid_argument", 'An MCP server needs a command: the program that runs it, such as "npx".');
  const texts = [command, ...args, ...Object.keys(env), ...Object.values(env), options.cwd ?? ""];
  if (texts.some((text) => typeof text !== "string" || text.includes("\0"))) {
    throw new ToolError(
      "invalid_argument",
      `The arguments, variables and folder of the MCP server ${JSON.stringify(command)} must be strings without NUL.`,
    );
  }
  if (!Number.isInteger(maxTools) || maxTools < 1)
    throw new ToolError("invalid_argument", `maxTools is ${String(maxTools)}; it takes a whole number from 1.`);
}
