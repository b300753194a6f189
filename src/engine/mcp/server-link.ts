/** Keeps a server connected: connects, reconnects after a loss, and never repeats work that may have begun. */
import type { EngineContext } from "../../core/engine.ts";
import { ToolError, describeThrown, pickHints } from "../../core/error.ts";
import { rejectOnAbort } from "../../core/base/reject-on-abort.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { redactError, redactValue, type Redact } from "../../core/secrets/redact.ts";
import { callError } from "./call-error.ts";
import { connect, type ServerEvents } from "./connect.ts";
import type { McpConnection } from "./connection.ts";
import { RpcFailure, ServerFault, SessionLost } from "./failure.ts";
import type { McpOptions } from "./options.ts";
import { PeerError } from "./peer.ts";
import type { ServerSecrets } from "./server-secrets.ts";
import { reopenDelayMs } from "./reopen-delay.ts";
import { CLOSED_REASON } from "./wire.ts";
import { sleep, withTimeLimit } from "../../processes/sleep.ts";

export interface LinkEvents extends ServerEvents {
  /** Called with each new connection before anything else uses it; `isReconnect` is true after a reconnect. */
  onConnected(connection: McpConnection, isReconnect: boolean): void;
  /** Whether there are listeners for the server's notifications: then a process that ends is restarted without a call. */
  hasListeners(): boolean;
}

type OpenContext = Pick<EngineContext, "clock" | "log" | "toolset" | "disconnected"> & { readonly openTimeoutMs: number };

/** Waits before the first, second and third restart, in milliseconds. */
const RESTART_DELAYS_MS = [0, 250, 1_000];
/** How long a server may take to open, in milliseconds, if no limit is given. */
const DEFAULT_OPEN_TIMEOUT_MS = 10_000;
/** After this time since the last start, in milliseconds, or once the server has answered, restarts are counted from zero again. */
const RESTART_RESET_MS = 60_000;
/** A connection over HTTP that lasted this long is made again at once when it is lost, in milliseconds. */
const STABLE_CONNECTION_MS = 5_000;
/** How often in a row a process that did not last a minute is restarted without a call. */
const MAX_RECOVERIES = 8;

export class ServerLink {
  readonly #options: McpOptions;
  readonly #secrets: ServerSecrets;
  readonly #events: LinkEvents;
  /** Set while the link is open. */
  #context: OpenContext | undefined;
  #name = "";
  #connection: McpConnection | undefined;
  #connecting: Promise<McpConnection> | undefined;
  #closing = new AbortController();
  #restarts = 0;
  #startedAt = 0;
  #connectedAt = 0;
  /** The connection whose end was not reported yet. */
  #unreported: McpConnection | undefined;
  /** Number of connections in a row that did not last. */
  #shortLived = 0;
  /** Whether the last start failed because a person has to log in. */
  #wantsLogin = false;
  #stopRecovery: (() => void) | undefined;

  constructor(options: McpOptions, secrets: ServerSecrets, events: LinkEvents) {
    this.#options = options;
    this.#secrets = secrets;
    this.#events = events;
  }

  get name(): string {
    return this.#name;
  }

  /** The last connection, which may be lost. */
  get connection(): McpConnection | undefined {
    return this.#connection;
  }

  /** Connects for the first time. @throws ToolError `unavailable`, as a rejection */
  async open(given: EngineContext): Promise<McpConnection> {
    const { clock, log, toolset, signal, openTimeoutMs = DEFAULT_OPEN_TIMEOUT_MS } = given;
    this.#name = toolset;
    this.#closing = new AbortController();
    this.#restarts = 0;
    this.#startedAt = clock.now();
    this.#context = { clock, log, toolset, openTimeoutMs, disconnected: (connection) => given.disconnected?.(connection) };
    try {
      return await this.#start(this.#context, AbortSignal.any([signal, this.#closing.signal]), false);
    } catch (error: unknown) {
      this.#context = undefined;
      throw error;
    }
  }

  /**
   * Runs `work` on a live connection, reconnecting if necessary, and converts its errors to errors of a call. If the server has forgotten the
   * session, so that the first request had no effect, `work` is run once more.
   */
  async withConnection<T>(signal: AbortSignal, work: (connection: McpConnection) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const connection = await this.getConnection(signal);
      try {
        const result = await work(connection);
        this.#restarts = 0;
        return result;
      } catch (error: unknown) {
        if (isServerAnswer(error)) this.#restarts = 0;
        if (!(error instanceof SessionLost) || attempt > 1 || signal.aborted) throw this.toCallError(error, connection, signal);
      }
    }
  }

  /**
   * Converts the failure of a call on a connection to the error of the call, without secrets.
   *
   * @param connection undefined if there was none any more
   */
  toCallError(error: unknown, connection: McpConnection | undefined, signal: AbortSignal): ToolError {
    const situation = { name: this.#name, server: this.#options, signal, wire: connection?.wire };
    return redactPeerError(callError(error, situation), this.#secrets.redact);
  }

  /** Reconnects to a lost server without a call, for its notifications. A process is restarted only while there are listeners for them. */
  reconnect(failures = 0): void {
    const context = this.#context;
    if (context === undefined || this.#connection?.endReason === undefined || (this.#isProcess && !this.#events.hasListeners())) return;
    if (this.#connecting !== undefined) return;
    if (this.#isProcess) context.log.warn(`MCP server "${this.#name}" is ${this.#restartVerb}: ${this.#lossReason}.`);
    this.#connecting = this.#shareStart(context, this.#startWithTimeout(context), failures);
  }

  /** True for a process or a transport of the program. Its end is noticed at once, and it is restarted only for a call or a listener. */
  get #isProcess(): boolean {
    return this.#options.url === undefined;
  }

  get #restartVerb(): "reconnected" | "started again" {
    return this.#options.command === undefined ? "reconnected" : "started again";
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#stopRecovery?.();
    const connection = this.#connection;
    const connecting = this.#connecting;
    if (this.#context !== undefined) this.#reportEnd(this.#context);
    this.#context = undefined;
    this.#connection = undefined;
    await connection?.close();
    await connecting?.then((late) => late.close()).catch(() => undefined); // its own caller gets the error
  }

  /** Resolves to a live connection, reconnecting if necessary. @throws ToolError as a rejection */
  async getConnection(signal: AbortSignal): Promise<McpConnection> {
    const connection = this.#connection;
    if (connection !== undefined && connection.endReason === undefined) return connection;
    const context = this.#context;
    if (context === undefined) throw new ToolError("unavailable", `MCP server "${this.#name}" is not open.`, { retryable: false });
    if (signal.aborted) throw cancelledError();
    // concurrent callers share the start; if it is refused by `#restartDelay`, a scheduled recovery is not affected
    this.#connecting ??= this.#shareStart(context, this.#restart(context, this.#restartDelay(context)));
    return await rejectOnAbort(this.#connecting, signal, cancelledError);
  }

  /** Reconnects, at once or later, after a process or the stream that carries all messages has ended. */
  #handleLoss(connection: McpConnection): void {
    const context = this.#context;
    if (context === undefined || this.#connection !== connection) return;
    this.#reportEnd(context);
    const lastingMs = this.#isProcess ? RESTART_RESET_MS : STABLE_CONNECTION_MS;
    this.#shortLived = context.clock.now() - this.#connectedAt < lastingMs ? this.#shortLived + 1 : 0;
    if (this.#shortLived === 0) this.reconnect();
    else this.#reconnectLater(context, this.#shortLived - 1, `MCP server "${this.#name}" ended: ${this.#lossReason}.`);
  }

  /**
   * Schedules a reconnect without a call.
   *
   * @param failures how often in a row it has ended at once or could not be connected to before
   * @param reason of this failure, as a sentence
   */
  #reconnectLater({ clock, log }: OpenContext, failures: number, reason: string): void {
    this.#stopRecovery?.();
    if (this.#isProcess && !this.#events.hasListeners()) return;
    if (this.#isProcess && failures >= MAX_RECOVERIES)
      return log.warn(`${reason} After ${MAX_RECOVERIES} restarts in a row, it is ${this.#restartVerb} with the next call.`);
    this.#stopRecovery = clock.timer(() => this.reconnect(failures + 1), reopenDelayMs(failures), { background: true });
  }

  /**
   * Shares a start between callers. If it fails, connecting is tried again later, as the server cannot report that it is back; but not if a person
   * has to log in, who would be asked each time: then the next call tries it.
   */
  #shareStart(context: OpenContext, start: Promise<McpConnection>, failures = 0): Promise<McpConnection> {
    this.#stopRecovery?.();
    const shared = start.finally(() => {
      this.#connecting = undefined;
    });
    shared.catch((error: unknown) => {
      if (this.#context !== context || this.#wantsLogin) return;
      context.log.debug(`MCP server "${this.#name}" could not be reconnected: ${describeThrown(error)}`);
      this.#reconnectLater(context, failures, describeThrown(error));
    });
    return shared;
  }

  /** Reports the end of the connection, once. Requests of the newer revision over HTTP have no session that could end. */
  #reportEnd({ clock, disconnected }: OpenContext): void {
    const connection = this.#unreported;
    this.#unreported = undefined;
    if (connection === undefined || (connection.era === "modern" && connection.wire.kind === "http")) return;
    const { endReason, origin: server } = connection;
    const isLost = endReason !== undefined && endReason !== CLOSED_REASON;
    const error = isLost
      ? new ToolError("network_error", `The connection to MCP server "${this.#name}" was lost: ${endReason}.`)
      : undefined;
    disconnected?.({
      durationMs: clock.now() - this.#connectedAt,
      server,
      ...(error === undefined ? {} : { error: redactError(error, this.#secrets.redact) }),
    });
  }

  async #start(context: OpenContext, signal: AbortSignal, isReconnect: boolean): Promise<McpConnection> {
    const { clock, log } = context;
    this.#reportEnd(context); // of the connection that is replaced
    this.#wantsLogin = false;
    const onLogin = (): void => {
      this.#wantsLogin = true;
    };
    const onLost = (): void => {
      if (connection !== undefined) this.#handleLoss(connection);
    };
    let connection: McpConnection | undefined;
    connection = await connect({
      server: this.#options,
      name: this.#name,
      signal,
      clock,
      log,
      redact: this.#secrets.redact,
      onToken: this.#secrets.addToken,
      events: { ...this.#events, onLost, onLogin },
    });
    this.#connectedAt = clock.now();
    this.#connection = connection;
    this.#unreported = connection;
    this.#events.onConnected(connection, isReconnect);
    return connection;
  }

  /** The wait before the next start for a call. @throws ToolError `unavailable` after too many restarts */
  #restartDelay({ clock }: OpenContext): number {
    if (clock.now() - this.#startedAt > RESTART_RESET_MS) this.#restarts = 0;
    const delayMs = RESTART_DELAYS_MS[this.#restarts];
    if (delayMs !== undefined) return delayMs;
    throw new ToolError("unavailable", `MCP server "${this.#name}" ended again after ${this.#restarts} restarts: ${this.#lossReason}.`, {
      operatorHint: `Find out why it ends. ${this.#nextStart}`,
    });
  }

  async #restart(context: OpenContext, delayMs: number): Promise<McpConnection> {
    const { clock, log } = context;
    this.#restarts++;
    log.warn(`MCP server "${this.#name}" is ${this.#restartVerb} (${this.#restarts} of ${RESTART_DELAYS_MS.length}): ${this.#lossReason}.`);
    await sleep(clock, delayMs, this.#closing.signal);
    this.#startedAt = clock.now();
    return await this.#startWithTimeout(context);
  }

  get #nextStart(): string {
    if (!this.#isProcess) return "It is reconnected without a call, after pauses of at most a minute.";
    if (this.#events.hasListeners()) return `It is ${this.#restartVerb} without a call, after pauses of at most a minute.`;
    const restarts = this.#options.command === undefined ? "connects to" : "starts";
    return `It is left alone for a minute; a call after that ${restarts} it once more.`;
  }

  get #lossReason(): string {
    return this.#connection?.endReason ?? "it is gone";
  }

  async #startWithTimeout(context: OpenContext): Promise<McpConnection> {
    const { clock } = context;
    try {
      const { openTimeoutMs: limitMs } = context;
      const start = (signal: AbortSignal): Promise<McpConnection> => this.#start(context, signal, true);
      return limitMs === 0
        ? await start(this.#closing.signal)
        : await withTimeLimit({ clock, limitMs, outer: this.#closing.signal }, start);
    } catch (thrown: unknown) {
      const error = ToolError.fromUnknown(thrown);
      throw new ToolError("network_error", error.message, {
        outcome: "not_started",
        details: error.details,
        cause: error,
        ...pickHints(error),
      });
    }
  }
}

/** Whether the server has answered, if with an error: then it is running. */
function isServerAnswer(error: unknown): boolean {
  return (
    error instanceof RpcFailure || (error instanceof ToolError && error.code === "execution_failed" && !(error instanceof ServerFault))
  );
}

function cancelledError(): ToolError {
  return new ToolError("cancelled", "The call was cancelled while its MCP server was being started again.", { outcome: "not_started" });
}

/** The same error, with nothing secret in the data of the server's own either, which a gateway passes on. */
function redactPeerError(error: ToolError, redact: Redact): ToolError {
  const clean = redactError(error, redact);
  if (!(clean instanceof PeerError)) return clean;
  const { code, message, retryable, outcome, details, retryAfterMs, rpcCode, rpcMessage } = clean;
  const rpcData = redactValue(clean.rpcData, redact);
  if (rpcData === clean.rpcData) return clean;
  const options = { retryable, outcome, details, ...pickHints(clean), ...omitUndefined({ retryAfterMs }) };
  return new PeerError(code, message, { ...options, rpcCode, rpcMessage, rpcData }); // without its cause, which has the data as well
}
