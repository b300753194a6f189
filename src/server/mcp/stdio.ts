/** Serves one client over standard input and output. */
import { Transform, type Readable, type Writable } from "node:stream";
import type { JSONRPCMessage, Server } from "@modelcontextprotocol/server";
import { ToolError, describeThrown, isToolError } from "../../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { RuntimeSession } from "../../runtime/runtime-session.ts";
import { Gateway } from "./gateway.ts";
import { ObservedTransport, type TransportListeners } from "./observed-transport.ts";
import { findRequestId } from "../../engine/mcp/oversize-answer.ts";
import type { JsonObject } from "../../core/base/json.ts";
import type { Clock, Log } from "../../core/ports.ts";
import { onNextTurn } from "../../core/system/lazy-timer.ts";
import { ListenRequests } from "./listen-requests.ts";
import { beginSession } from "./measure.ts";
import { SERVER_OPTIONS, type McpServerOptions } from "./options.ts";
import { checkLine } from "./malformed-request.ts";
import { INVALID_REQUEST } from "../../engine/mcp/rpc-codes.ts";
import { openProtocolOutput } from "./protocol-output.ts";
import { loadServerModule, loadStdioModule, type ServerModule } from "./sdk.ts";
import { LOCAL_CALLER, type ConnectionInfo } from "./handler-context.ts";
import { TaskListenRequests } from "./tasks/task-listen-requests.ts";
import { settlesWithin } from "../api/settles-within.ts";
import { LineReader } from "../../processes/line-reader.ts";

export interface McpStdioOptions extends McpServerOptions {
  /** @default standard input */
  readonly input?: Readable;
  /**
   * The stream for the protocol; nothing else may be written to it.
   * @default standard output: everything else that the process prints there goes to standard error until the connection has ended
   */
  readonly output?: Writable;
  /** How long `close` waits for running calls before it cancels them, in milliseconds. @default 5_000 */
  readonly graceMs?: number;
}

const OPTIONS: OptionNames<McpStdioOptions> = { ...SERVER_OPTIONS, input: true, output: true, graceMs: true };

/** A connection to one client. */
export interface McpStdioServer {
  /**
   * Resolves when the client has closed its end, or `close` was called, and everything running has ended. Resolves to the error if the connection was
   * closed because the client does not speak the protocol, or its input could not be read. If a client closes its end, as a pipe does, its requests
   * are still answered. What still runs after 60 seconds is cancelled, or earlier if the client stops reading; calls that ask the client are
   * cancelled at once.
   */
  readonly closed: Promise<ToolError | undefined>;
  /** Accepts no more calls, lets running ones end for a while, then cancels them. The runtime stays open. */
  close(): Promise<void>;
}

const DEFAULT_GRACE_MS = 5_000;
/** Maximum wait for work that ignores its cancellation, in milliseconds. */
const DRAIN_MS = 1_000;
/**
 * How long a client that has closed its end, such as `printf` in a pipe, is still answered, in milliseconds: as long as clients usually wait for an
 * answer, since a client that is gone looks the same.
 */
const LAST_ANSWER_MS = 60_000;
/** How often to check whether such a client still reads, in milliseconds. */
const WRITE_CHECK_MS = 1_000;

async function closeSession(session: RuntimeSession | undefined, log: Log): Promise<void> {
  try {
    await session?.close();
  } catch (error: unknown) {
    log.warn(`The session of an MCP connection could not be closed: ${describeThrown(error)}`);
  }
}

/** @param ended called when all input was read; it must end the gate */
function pipeInput(input: Readable, gate: Transform, ended: () => void): void {
  input.pipe(gate, { end: false });
  input.once("error", (error) => {
    gate.destroy(new ToolError("network_error", `The input of the client cannot be read: ${describeThrown(error)}`, { cause: error }));
  });
  input.once("close", () => {
    if (!input.readableEnded) gate.end();
  });
  input.once("end", () => {
    gate.write("\n"); // the last line may lack a line break
    ended();
  });
}

/** Resolves when every request that was read is answered, or no longer waited for. */
async function waitUntilAnswered({ transport, gate, gateway, connectionEnd }: ClosingConnection): Promise<void> {
  const answered = async (): Promise<void> => {
    for (;;) {
      await new Promise((resolve) => void onNextTurn(resolve)); // lets the gate pass on what it holds
      if (connectionEnd.aborted) return;
      for (const work of gateway.activeWork) if (work.isAsking) work.cancel("the client has closed its end, and cannot answer");
      if (transport.unansweredRequests > 0) await transport.whenSent;
      else if (gate.readableLength + gate.writableLength === 0) return;
    }
  };
  if (await settlesWithin(answered(), LAST_ANSWER_MS, gateway.settings.clock, connectionEnd)) return;
  if (!connectionEnd.aborted) await gateway.cancelCalls(`the client closed its end ${LAST_ANSWER_MS / 1_000} s ago`);
}

interface ClosingConnection {
  readonly transport: ObservedTransport;
  readonly gate: Transform;
  readonly gateway: Gateway;
  /** Aborts when the connection ends. */
  readonly connectionEnd: AbortSignal;
}

interface GateOptions {
  readonly log: Log;
  readonly sdk: ServerModule;
  readonly send: (message: JSONRPCMessage) => Promise<void>;
}

/** Filters the input. Refuses too long lines and malformed requests by their ids; input without any message closes the connection. */
function createGate({ log, sdk, send }: GateOptions): Transform {
  const refuse = (refusal: JsonObject): void => void send(asMessage(refusal)).catch(() => {}); // the client has disconnected
  const gate = createLineGate({
    check: (line) => {
      const { lines, refusals } = checkLine(line, sdk);
      for (const refusal of refusals) refuse(refusal);
      return lines;
    },
    onLongLine: (edges) => {
      const message = `The request has more than ${MAX_LINE_BYTES} bytes and was not read.`;
      log.warn(`MCP over stdio: ${message}`);
      const id = findRequestId(edges);
      refuse({ jsonrpc: "2.0", ...(id === undefined ? {} : { id }), error: { code: INVALID_REQUEST, message } });
    },
    onNoise: () => {
      const message = `The client sent a line of more than ${MAX_LINE_BYTES} bytes that is not a message: the connection is closed.`;
      gate.destroy(new ToolError("too_large", message));
    },
  });
  gate.once("error", (error) => log.warn(`MCP over stdio: ${error.message}`));
  return gate;
}

/** Drops waiting requests if a client whose input has ended reads no answer for DRAIN_MS. */
function dropWaitingWhenStuck(transport: ObservedTransport, clock: Clock): void {
  const before = transport.queuedRequests;
  if (before === 0) return;
  clock.timer(() => {
    if (transport.queuedRequests === before) transport.dropWaiting();
    else dropWaitingWhenStuck(transport, clock);
  }, DRAIN_MS);
}

/** Detects that no client reads any more, as after a kill: only a write shows it. It writes a space, which JSON allows before a message. */
function closeWhenUnread(output: Writable, { transport, gateway, connectionEnd }: Omit<ClosingConnection, "gate">): void {
  const look = (): void => {
    if (connectionEnd.aborted || transport.unansweredRequests === 0) return;
    if (output.destroyed) return void transport.close();
    if (output.writableLength === 0) output.write(" "); // a write error closes the transport
    closeWhenUnread(output, { transport, gateway, connectionEnd });
  };
  gateway.settings.clock.timer(look, WRITE_CHECK_MS);
}

/** Implements `serveMcpStdio` of `../mcp.ts`. */
// oxlint-disable-next-line max-lines-per-function -- one connection, from its beginning to its end
export async function serveStdio(runtime: Runtime, options: McpStdioOptions): Promise<McpStdioServer> {
  checkKnownKeys(options, OPTIONS, "serveMcpStdio()");
  const [sdk, stdio] = await Promise.all([loadServerModule(), loadStdioModule()]);
  const gateway = new Gateway(runtime, options, { sdk });
  const { log, session: wanted } = gateway.settings;
  let session: RuntimeSession | undefined;
  const openSession = (): RuntimeSession | undefined => (wanted === "none" ? undefined : (session ??= runtime.session()));
  const { promise: closed, resolve } = Promise.withResolvers<ToolError | undefined>();
  const listenRequests = createListenRequests(gateway, (message) => transport.send(message));
  const { input = process.stdin } = options;
  const { output, release } = options.output === undefined ? openProtocolOutput() : { output: options.output, release: () => {} };
  const gate = createGate({ log, sdk, send: (message) => transport.send(message) });
  const transport = new ObservedTransport(new stdio.StdioServerTransport(gate, output), output, {
    onMessage: listenRequests.handleMessage,
    transformOutgoing: listenRequests.transformOutgoing,
    onRepeatedId: (id) => {
      const message = `The request id ${JSON.stringify(id)} is in use by a request that is being answered.`;
      // the client has disconnected
      void transport.send(asMessage({ jsonrpc: "2.0", id: null, error: { code: INVALID_REQUEST, message } })).catch(() => undefined);
    },
    onCongestion: (isCongested) => void (isCongested ? gate.pause() : gate.resume()),
    onClose: () => void end(),
  });
  const connectionEnd = new AbortController();
  pipeInput(input, gate, () => {
    dropWaitingWhenStuck(transport, gateway.settings.clock);
    closeWhenUnread(output, { transport, gateway, connectionEnd: connectionEnd.signal });
    void waitUntilAnswered({ transport, gate, gateway, connectionEnd: connectionEnd.signal }).finally(() => gate.end());
  });
  const end = async (): Promise<void> => {
    connectionEnd.abort();
    input.unpipe(gate).pause();
    listenRequests.end();
    gateway.close();
    await gateway.stop(DRAIN_MS);
    await closeSession(session, log);
    await gateway.flush(0); // 0, since its client has disconnected
    release();
    const error = isToolError(gate.errored) ? gate.errored : undefined;
    measure(instance, error);
    resolve(error);
  };
  let instance: Server | undefined;
  const measure = beginSession(gateway, "stdio");
  const makeServer = ({ era }: Pick<ConnectionInfo, "era">): Server =>
    (instance = gateway.createServerInstance({ era, caller: LOCAL_CALLER, receivesChanges: true, session: openSession }));
  const server = stdio.serveStdio(makeServer, {
    transport,
    onerror: (error) => log.debug(`MCP over stdio: ${describeThrown(error)}`),
  });
  return {
    closed,
    close: async () => {
      if (!connectionEnd.signal.aborted) await gateway.stop(input.readableEnded ? 0 : (options.graceMs ?? DEFAULT_GRACE_MS));
      await server.close();
      await closed;
    },
  };
}

/** The client's listen requests, for resources and tasks. */
function createListenRequests(
  gateway: Gateway,
  send: (message: JSONRPCMessage) => Promise<void>,
): Pick<TransportListeners, "transformOutgoing"> & { readonly handleMessage: (message: unknown) => void; readonly end: () => void } {
  const { changeNotifier, tasks } = gateway;
  const resources = new ListenRequests((uri) => changeNotifier.watch(uri, undefined));
  const sendAll = (message: JsonObject): void => void send(asMessage(message)).catch(() => undefined); // the client has disconnected
  const own = tasks === undefined ? undefined : new TaskListenRequests({ serving: gateway.servingModern(LOCAL_CALLER), send: sendAll });
  return {
    handleMessage: (message) => {
      resources.handleMessage(message);
      own?.handleMessage(message);
    },
    transformOutgoing: (message) => {
      const passed = own === undefined ? message : own.transformOutgoing(message);
      return passed instanceof Promise ? passed.then(asMessage) : passed;
    },
    end: () => {
      resources.close();
      own?.close();
    },
  };
}

/** Types a message made here for the SDK. */
function asMessage(message: JSONRPCMessage | JsonObject): JSONRPCMessage {
  return message as JSONRPCMessage; // the SDK's type has an index signature
}

/** Maximum length of a client's line, in bytes; less than the SDK's own limit. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;

interface LineGateOptions {
  /** Returns the lines to process in place of one. */
  readonly check: (line: string) => readonly string[];
  /** Called with the beginning and the end of a line that is too long. */
  readonly onLongLine: (edges: string) => void;
  /** Called when the input is not a message and has no end. */
  readonly onNoise: () => void;
}

function createLineGate({ check, onLongLine, onNoise }: LineGateOptions): Transform {
  const lines: string[] = [];
  const reader = new LineReader({ onLine: (line) => void lines.push(line), onLongLine: onLongLine }, MAX_LINE_BYTES);
  let isNoise = false;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (!isNoise && !reader.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk)) {
        isNoise = true;
        onNoise();
      }
      for (const line of lines.splice(0).flatMap(check)) this.push(`${line}\n`);
      done();
    },
  });
}
