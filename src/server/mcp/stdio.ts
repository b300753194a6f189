/** Serves one client over standard input and output. */
import { Transform, type Readable, type Writable } from "node:stream";
import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { ToolError, describeThrown, isToolError } from "../../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { RuntimeSession } from "../../runtime/runtime-session.ts";
import { Gateway } from "./gateway.ts";
import { ObservedTransport, type Ears } from "./observed-transport.ts";
import { requestId } from "../../engine/mcp/oversize-answer.ts";
import type { JsonObject } from "../../core/base/json.ts";
import type { Clock, Log } from "../../core/ports.ts";
import { Listened } from "./listened.ts";
import { SERVER_OPTIONS, type McpServerOptions } from "./options.ts";
import { checkLine } from "./malformed-request.ts";
import { INVALID_REQUEST } from "../../engine/mcp/rpc-codes.ts";
import { protocolOutput } from "./protocol-output.ts";
import { loadServer, loadStdio, type ServerModule } from "./sdk.ts";
import { LOCAL_CALLER } from "./serving.ts";
import { TaskListens } from "./tasks/task-listens.ts";
import { untilOver } from "../api/until-over.ts";
import { LineReader } from "../../processes/line-reader.ts";

export interface McpStdioOptions extends McpServerOptions {
  /** @default standard input */
  readonly input?: Readable;
  /**
   * Nothing else may be written to it. @default standard output: what the process prints there goes to standard error until the
   * connection has ended
   */
  readonly output?: Writable;
  /** How long `close` waits for calls under way before it cancels them, in milliseconds. @default 5_000 */
  readonly graceMs?: number;
}

const OPTIONS: OptionNames<McpStdioOptions> = { ...SERVER_OPTIONS, input: true, output: true, graceMs: true };

/** A connection that is being served. */
export interface McpStdioServer {
  /**
   * Resolves when the client has closed its end, or `close` was called, and everything under way has ended: with the error where
   * the connection was given up because the client does not speak the protocol, or its input could not be read. The requests of a client that
   * closes its end, as a pipe does, are still answered; what runs 60 seconds later is cancelled, or as soon as no client reads any more, and so is what asks that client.
   */
  readonly closed: Promise<ToolError | undefined>;
  /** Takes no more calls, lets those under way end for a while, then cancels them. The runtime stays open. */
  close(): Promise<void>;
}

const DEFAULT_GRACE_MS = 5_000;
/** The longest wait for work that ignores its cancellation. */
const DRAIN_MS = 1_000;
/**
 * A client that has closed its end, such as `printf` in a pipe, may still wait for its answers; as long as clients usually wait for one, since the
 * end of one that is gone looks the same.
 */
const ANSWER_MS = 60_000;
/** How often it is looked whether such a client still reads. */
const LOOK_MS = 1_000;

async function closeSession(session: RuntimeSession | undefined, log: Log): Promise<void> {
  try {
    await session?.close();
  } catch (error: unknown) {
    log.warn(`The session of an MCP connection was not closed: ${describeThrown(error)}`);
  }
}

/** @param ended called when everything was read: it ends the gate */
function joinInput(input: Readable, gate: Transform, ended: () => void): void {
  input.pipe(gate, { end: false });
  input.once("error", (error) => {
    gate.destroy(new ToolError("network_error", `The input of the client cannot be read: ${describeThrown(error)}`, { cause: error }));
  });
  input.once("close", () => {
    if (!input.readableEnded) gate.end();
  });
  input.once("end", () => {
    gate.write("\n"); // the last line may have no end of its own
    ended();
  });
}

/** Resolves when every request that was read is answered, or is not to be waited for any longer. */
async function untilAnswered({ transport, gate, gateway, left }: LastAnswers): Promise<void> {
  const answered = async (): Promise<void> => {
    for (;;) {
      await new Promise((resolve) => void setImmediate(resolve)); // what the gate holds is passed on
      if (left.aborted) return;
      for (const work of gateway.works) if (work.isAsking) work.cancel("the client has closed its end, and cannot answer");
      if (transport.unanswered > 0) await transport.whenSent;
      else if (gate.readableLength + gate.writableLength === 0) return;
    }
  };
  if (await untilOver(answered(), ANSWER_MS, gateway.settings.clock, left)) return;
  if (!left.aborted) await gateway.cancelCalls(`the client closed its end ${ANSWER_MS / 1_000} s ago`);
}

interface LastAnswers {
  readonly transport: ObservedTransport;
  readonly gate: Transform;
  readonly gateway: Gateway;
  /** Aborts when the connection ends. */
  readonly left: AbortSignal;
}

interface GateParts {
  readonly log: Log;
  readonly sdk: ServerModule;
  readonly send: (message: JSONRPCMessage) => Promise<void>;
}

/** Refuses lines that are too long and requests that are malformed, each as the request that it is; input without a message ends the connection. */
function gateFor({ log, sdk, send }: GateParts): Transform {
  const refuse = (refusal: JsonObject): void => void send(asMessage(refusal)).catch(() => {}); // gone
  const gate = lineGate({
    check: (line) => {
      const { lines, refusals } = checkLine(line, sdk);
      for (const refusal of refusals) refuse(refusal);
      return lines;
    },
    onLongLine: (edges) => {
      const message = `The request has more than ${MAX_LINE_BYTES} bytes and was not read.`;
      log.warn(`MCP over stdio: ${message}`);
      const id = requestId(edges);
      refuse({ jsonrpc: "2.0", ...(id === undefined ? {} : { id }), error: { code: INVALID_REQUEST, message } });
    },
    onNoise: () => {
      const message = `The client sends a line of more than ${MAX_LINE_BYTES} bytes that is not a message: the connection is closed.`;
      gate.destroy(new ToolError("too_large", message));
    },
  });
  gate.once("error", (error) => log.warn(`MCP over stdio: ${error.message}`));
  return gate;
}

/** Once its input has ended a client may still read; when it has taken no answer for a while, nothing more is begun for it. */
function endWaiting(transport: ObservedTransport, clock: Clock): void {
  const before = transport.waiting;
  if (before === 0) return;
  clock.timer(() => {
    if (transport.waiting === before) transport.dropWaiting();
    else endWaiting(transport, clock);
  }, DRAIN_MS);
}

/** Only a write shows that no client reads any more, as after the end of one that was killed. It is a space, which JSON allows before a message. */
function endUnread(output: Writable, { transport, gateway, left }: Omit<LastAnswers, "gate">): void {
  const look = (): void => {
    if (left.aborted || transport.unanswered === 0) return;
    if (output.destroyed) return void transport.close();
    if (output.writableLength === 0) output.write(" "); // an error of it ends the transport
    endUnread(output, { transport, gateway, left });
  };
  gateway.settings.clock.timer(look, LOOK_MS);
}

/** See `serveMcpStdio` of `../mcp.ts`. */
// oxlint-disable-next-line max-lines-per-function -- one connection, from its beginning to its end
export async function serveStdio(runtime: Runtime, options: McpStdioOptions): Promise<McpStdioServer> {
  checkKnownKeys(options, OPTIONS, "serveMcpStdio()");
  const [sdk, stdio] = await Promise.all([loadServer(), loadStdio()]);
  const gateway = new Gateway(runtime, options, { sdk });
  const { log, session: wanted } = gateway.settings;
  let session: RuntimeSession | undefined;
  const seatSession = (): RuntimeSession | undefined => (wanted === "none" ? undefined : (session ??= runtime.session()));
  const { promise: closed, resolve } = Promise.withResolvers<ToolError | undefined>();
  const listens = listensOf(gateway, (message) => transport.send(message));
  const { input = process.stdin } = options;
  const { output, release } = options.output === undefined ? protocolOutput() : { output: options.output, release: () => {} };
  const gate = gateFor({ log, sdk, send: (message) => transport.send(message) });
  const transport = new ObservedTransport(new stdio.StdioServerTransport(gate, output), output, {
    message: listens.hear,
    passing: listens.passing,
    repeated: (id) => {
      const message = `The request id ${JSON.stringify(id)} is that of a request that is being answered.`;
      void transport.send(asMessage({ jsonrpc: "2.0", id: null, error: { code: INVALID_REQUEST, message } })).catch(() => undefined); // gone
    },
    congested: (isCongested) => void (isCongested ? gate.pause() : gate.resume()),
    closed: () => void end(),
  });
  const left = new AbortController();
  joinInput(input, gate, () => {
    endWaiting(transport, gateway.settings.clock);
    endUnread(output, { transport, gateway, left: left.signal });
    void untilAnswered({ transport, gate, gateway, left: left.signal }).finally(() => gate.end());
  });
  const end = async (): Promise<void> => {
    left.abort();
    input.unpipe(gate).pause();
    listens.end();
    gateway.close();
    await gateway.stop(DRAIN_MS);
    await closeSession(session, log);
    await gateway.settled(0); // its client is gone
    release();
    resolve(isToolError(gate.errored) ? gate.errored : undefined);
  };
  const server = stdio.serveStdio(({ era }) => gateway.makeServer({ era, caller: LOCAL_CALLER, isTold: true, session: seatSession }), {
    transport,
    onerror: (error) => log.debug(`MCP over stdio: ${describeThrown(error)}`),
  });
  return {
    closed,
    close: async () => {
      if (!left.signal.aborted) await gateway.stop(input.readableEnded ? 0 : (options.graceMs ?? DEFAULT_GRACE_MS));
      await server.close();
      await closed;
    },
  };
}

/** The requests to listen of the one client: to resources, and to tasks. */
function listensOf(
  { announcer, tasks }: Gateway,
  send: (message: JSONRPCMessage) => Promise<void>,
): Pick<Ears, "passing"> & { readonly hear: (message: unknown) => void; readonly end: () => void } {
  const resources = new Listened((uri) => announcer.watch(uri, undefined));
  const sendAll = (message: JsonObject): void => void send(asMessage(message)).catch(() => undefined); // the client is gone
  const own = tasks === undefined ? undefined : new TaskListens({ tasks, callerId: LOCAL_CALLER.id, send: sendAll });
  return {
    hear: (message) => {
      resources.hear(message);
      own?.hear(message);
    },
    passing: (message) => (own === undefined ? message : asMessage(own.passing(message))),
    end: () => {
      resources.end();
      own?.end();
    },
  };
}

/** A message that was made here, for the SDK. */
function asMessage(message: JSONRPCMessage | JsonObject): JSONRPCMessage {
  return message as JSONRPCMessage; // its type has an index that ours does not name
}

/** The longest line that is taken from a client, in bytes: less than what the SDK takes at once. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;

interface LineGateOptions {
  /** Returns the lines to read in the place of one. */
  readonly check: (line: string) => readonly string[];
  /** Called with the beginning and the end of a line that was too long. */
  readonly onLongLine: (edges: string) => void;
  /** Called when what comes is not a message and has no end. */
  readonly onNoise: () => void;
}

function lineGate({ check, onLongLine, onNoise }: LineGateOptions): Transform {
  const lines: string[] = [];
  const reader = new LineReader({ line: (line) => void lines.push(line), longLine: onLongLine }, MAX_LINE_BYTES);
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
