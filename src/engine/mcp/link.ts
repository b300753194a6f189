/** Keeps one server within reach: connects, connects again when it was lost, and repeats nothing that may have begun. */
import type { EngineContext } from "../../core/engine.ts";
import { ToolError, describeThrown, hintsOf } from "../../core/error.ts";
import { untilAborted } from "../../core/base/until-aborted.ts";
import { redactError, type Redact } from "../../core/base/redact.ts";
import { callError } from "./call-error.ts";
import { connect, type ServerEvents } from "./connect.ts";
import type { McpConnection } from "./connection.ts";
import { RpcFailure, ServerFault, SessionLost } from "./failure.ts";
import type { McpOptions } from "./options.ts";
import { reopenDelayMs } from "./reopen-delay.ts";
import { pause, within } from "../../processes/pause.ts";

export interface LinkEvents extends ServerEvents {
  /** Called with each new connection before anything else uses it; `isAgain` when there was another before. */
  onConnected(connection: McpConnection, isAgain: boolean): void;
  /** Whether there are listeners for the messages that the server sends by itself: a process that ends is started again then without a call. */
  hasListeners(): boolean;
}

type OpenContext = Pick<EngineContext, "clock" | "log" | "toolset"> & { readonly openTimeoutMs: number };

/** How long the server is left alone before the first, second and third restart. */
const RESTART_DELAYS_MS = [0, 250, 1_000];
/** Where nothing is said of how long a server may take to open. */
const DEFAULT_OPEN_TIMEOUT_MS = 10_000;
/** Restarts are counted from zero when the last start lies this far back, or once the server has answered. */
const FORGIVEN_MS = 60_000;
/** A connection that lasted so long is made again at once when its server is lost. */
const LASTING_MS = 5_000;
/** So often in a row is a process that did not last a minute started again without a call. */
const MAX_RECOVERIES = 8;

export class ServerLink {
  readonly #options: McpOptions;
  readonly #redact: Redact;
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
  /** How many connections in a row did not last. */
  #shortLived = 0;
  /** The last start found that a person has to log in. */
  #wantsLogin = false;
  #stopRecovery: (() => void) | undefined;

  constructor(options: McpOptions, redact: Redact, events: LinkEvents) {
    this.#options = options;
    this.#redact = redact;
    this.#events = events;
  }

  get name(): string {
    return this.#name;
  }

  /** The connection as it last was, perhaps lost. */
  get connection(): McpConnection | undefined {
    return this.#connection;
  }

  /** Connects for the first time. @throws ToolError `unavailable`, by rejecting */
  async open({ clock, log, toolset, signal, openTimeoutMs = DEFAULT_OPEN_TIMEOUT_MS }: EngineContext): Promise<McpConnection> {
    this.#name = toolset;
    this.#closing = new AbortController();
    this.#restarts = 0;
    this.#startedAt = clock.now();
    this.#context = { clock, log, toolset, openTimeoutMs };
    try {
      return await this.#start(this.#context, AbortSignal.any([signal, this.#closing.signal]), false);
    } catch (error: unknown) {
      this.#context = undefined;
      throw error;
    }
  }

  /**
   * Runs `work` on a living connection, opened again if need be, and converts what it throws to errors of a call. Work whose first
   * request found a server that has forgotten the session, and so did nothing, is run once more.
   */
  async use<T>(signal: AbortSignal, work: (connection: McpConnection) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const connection = await this.reach(signal);
      try {
        const result = await work(connection);
        this.#restarts = 0;
        return result;
      } catch (error: unknown) {
        if (isAnswer(error)) this.#restarts = 0;
        if (!(error instanceof SessionLost) || attempt > 1 || signal.aborted) throw this.explain(error, connection, signal);
      }
    }
  }

  /**
   * Describes the failure of a call on a connection, in the words of a call and without its secrets.
   *
   * @param connection undefined where there was none any more
   */
  explain(error: unknown, connection: McpConnection | undefined, signal: AbortSignal): ToolError {
    const situation = { name: this.#name, server: this.#options, signal, wire: connection?.wire };
    return redactError(callError(error, situation), this.#redact);
  }

  /**
   * Connects again to a server that was lost, without a call that waits for it: for the messages that it sends by itself. A process is started again only
   * while there are listeners for those.
   */
  recover(failures = 0): void {
    const context = this.#context;
    if (context === undefined || this.#connection?.ended === undefined || (this.#isProcess && !this.#events.hasListeners())) return;
    if (this.#connecting !== undefined) return;
    if (this.#isProcess) context.log.warn(`MCP server "${this.#name}" is ${this.#verb} again: ${this.#lossReason}.`);
    this.#connecting = this.#sharedStart(context, this.#startAgain(context), failures);
  }

  /** A process, or a transport of the program's own: its end is noticed, and not followed by another try unless something waits for it. */
  get #isProcess(): boolean {
    return this.#options.url === undefined;
  }

  get #verb(): "connected to" | "started" {
    return this.#options.command === undefined ? "connected to" : "started";
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#stopRecovery?.();
    const connection = this.#connection;
    const connecting = this.#connecting;
    this.#context = undefined;
    this.#connection = undefined;
    await connection?.close();
    await connecting?.then((late) => late.close()).catch(() => undefined); // its own caller gets the error
  }

  /** Resolves to a living connection, opened again if need be. @throws ToolError, by rejecting */
  async reach(signal: AbortSignal): Promise<McpConnection> {
    const connection = this.#connection;
    if (connection !== undefined && connection.ended === undefined) return connection;
    const context = this.#context;
    if (context === undefined) throw new ToolError("unavailable", `MCP server "${this.#name}" is not open.`, { retryable: false });
    if (signal.aborted) throw cancelledMeanwhile();
    // Callers that come meanwhile share it. One that is refused leaves the next start without a call as it is.
    this.#connecting ??= this.#sharedStart(context, this.#restart(context, this.#restartDelay(context)));
    return await untilAborted(this.#connecting, signal, cancelledMeanwhile);
  }

  /** Connects again to a process that has ended, or a server that has ended the stream that all of its messages come by. */
  #lost(connection: McpConnection): void {
    const context = this.#context;
    if (context === undefined || this.#connection !== connection) return;
    const lastingMs = this.#isProcess ? FORGIVEN_MS : LASTING_MS;
    this.#shortLived = context.clock.now() - this.#connectedAt < lastingMs ? this.#shortLived + 1 : 0;
    if (this.#shortLived === 0) this.recover();
    else this.#recoverLater(context, this.#shortLived - 1, `MCP server "${this.#name}" ended: ${this.#lossReason}.`);
  }

  /**
   * @param failures how often in a row it has ended at once, or could not be connected to, before this time
   * @param reason what went wrong this time, as a sentence
   */
  #recoverLater({ clock, log }: OpenContext, failures: number, reason: string): void {
    this.#stopRecovery?.();
    if (this.#isProcess && !this.#events.hasListeners()) return;
    if (this.#isProcess && failures >= MAX_RECOVERIES)
      return log.warn(`${reason} After ${MAX_RECOVERIES} restarts in a row, it is ${this.#verb} again with the next call.`);
    this.#stopRecovery = clock.timer(() => this.recover(failures + 1), reopenDelayMs(failures), { background: true });
  }

  /**
   * A server that could not be connected to is tried again later: it cannot say by itself that it is back. One that wants a person to log in
   * is not, as that person would be asked each time: the next call tries it.
   */
  #sharedStart(context: OpenContext, start: Promise<McpConnection>, failures = 0): Promise<McpConnection> {
    this.#stopRecovery?.();
    const shared = start.finally(() => {
      this.#connecting = undefined;
    });
    shared.catch((error: unknown) => {
      if (this.#context !== context || this.#wantsLogin) return;
      context.log.debug(`MCP server "${this.#name}" is not connected to again: ${describeThrown(error)}`);
      this.#recoverLater(context, failures, describeThrown(error));
    });
    return shared;
  }

  async #start({ clock, log }: OpenContext, signal: AbortSignal, isAgain: boolean): Promise<McpConnection> {
    this.#wantsLogin = false;
    const onLogin = (): void => {
      this.#wantsLogin = true;
    };
    const onLost = (): void => {
      if (connection !== undefined) this.#lost(connection);
    };
    let connection: McpConnection | undefined;
    connection = await connect({
      server: this.#options,
      name: this.#name,
      signal,
      clock,
      log,
      redact: this.#redact,
      events: { ...this.#events, onLost, onLogin },
    });
    this.#connectedAt = clock.now();
    this.#connection = connection;
    this.#events.onConnected(connection, isAgain);
    return connection;
  }

  /** How long the next start for a call waits. @throws ToolError `unavailable` where there were too many */
  #restartDelay({ clock }: OpenContext): number {
    if (clock.now() - this.#startedAt > FORGIVEN_MS) this.#restarts = 0;
    const delayMs = RESTART_DELAYS_MS[this.#restarts];
    if (delayMs !== undefined) return delayMs;
    throw new ToolError("unavailable", `MCP server "${this.#name}" ended again after ${this.#restarts} restarts: ${this.#lossReason}.`, {
      operatorHint: `Find out why it ends. ${this.#nextStart}`,
    });
  }

  async #restart(context: OpenContext, delayMs: number): Promise<McpConnection> {
    const { clock, log } = context;
    this.#restarts++;
    log.warn(`MCP server "${this.#name}" is ${this.#verb} again (${this.#restarts} of ${RESTART_DELAYS_MS.length}): ${this.#lossReason}.`);
    await pause(clock, delayMs, this.#closing.signal);
    this.#startedAt = clock.now();
    return await this.#startAgain(context);
  }

  get #nextStart(): string {
    if (!this.#isProcess) return "It is connected to again without a call, after pauses of at most a minute.";
    if (this.#events.hasListeners()) return `It is ${this.#verb} again without a call, after pauses of at most a minute.`;
    const restarts = this.#options.command === undefined ? "connects to" : "starts";
    return `It is left alone for a minute; a call after that ${restarts} it once more.`;
  }

  get #lossReason(): string {
    return this.#connection?.ended ?? "it is gone";
  }

  async #startAgain(context: OpenContext): Promise<McpConnection> {
    const { clock } = context;
    try {
      const { openTimeoutMs: limitMs } = context;
      const start = (signal: AbortSignal): Promise<McpConnection> => this.#start(context, signal, true);
      return limitMs === 0 ? await start(this.#closing.signal) : await within({ clock, limitMs, outer: this.#closing.signal }, start);
    } catch (thrown: unknown) {
      const error = ToolError.fromUnknown(thrown);
      throw new ToolError("network_error", error.message, {
        outcome: "not_started",
        details: error.details,
        cause: error,
        ...hintsOf(error),
      });
    }
  }
}

/** The server did the work and answered with an error, so that it is there. */
function isAnswer(error: unknown): boolean {
  return (
    error instanceof RpcFailure || (error instanceof ToolError && error.code === "execution_failed" && !(error instanceof ServerFault))
  );
}

function cancelledMeanwhile(): ToolError {
  return new ToolError("cancelled", "The call was cancelled while its MCP server was being started again.", { outcome: "not_started" });
}
