/** Adapts a transport that the program made. Its messages are copied and checked like those of a child process. */
import type { JSONRPCMessage, Transport, TransportSendOptions } from "@modelcontextprotocol/client";
import { hasMethods, wrongTypeError } from "../../core/check-argument.ts";
import { parseExactly } from "../../core/base/parse-exactly.ts";
import { rejectOnAbort } from "../../core/base/reject-on-abort.ts";
import { ToolError, describeThrown } from "../../core/error.ts";
import type { Clock } from "../../core/ports.ts";
import { MAX_MESSAGE_BYTES } from "../../processes/line-reader.ts";
import { sleep } from "../../processes/sleep.ts";
import { MessageLines } from "./message-lines.ts";
import type { McpTransportOptions } from "./options.ts";
import { UNREADABLE_ANSWER } from "./rpc-codes.ts";
import { CLOSED_REASON, type Wire } from "./wire.ts";

/** How long to wait for a transport to close, in milliseconds. */
const CLOSE_MS = 2_000;
const NOTHING: readonly string[] = [];
/** The transports of all open connections. */
const USED_TRANSPORTS = new WeakSet<object>();

/** @throws ToolError `invalid_argument` for a value that is not a transport, or is in use; the error of the function; the reason of the signal */
export async function createCustomTransport(
  { transport: make }: McpTransportOptions,
  clock: Clock,
  signal: AbortSignal,
): Promise<CustomTransport> {
  signal.throwIfAborted();
  const making = (async () => await make())();
  try {
    const made: unknown = await rejectOnAbort(making, signal);
    if (!isTransport(made))
      throw wrongTypeError("The function transport of an MCP server must return a transport: an object with start, send and close", made);
    if (USED_TRANSPORTS.has(made)) throw new ToolError("invalid_argument", SHARED_TRANSPORT_MESSAGE);
    return new CustomTransport(made, clock);
  } catch (error: unknown) {
    // the transport came too late: it is closed
    if (signal.aborted) making.then((late) => (USED_TRANSPORTS.has(late) ? undefined : late.close())).catch(() => undefined);
    throw error;
  }
}

const SHARED_TRANSPORT_MESSAGE =
  "The function transport of an MCP server returned the transport of another connection; it must make a new one each time it is called";

function isTransport(made: unknown): made is Transport {
  return hasMethods(made, "start", "send", "close");
}

export class CustomTransport implements Transport, Wire {
  readonly kind = "custom";
  readonly stderrTail = NOTHING;
  readonly hasPerRequestStream: boolean;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  endReason: string | undefined;
  exited = false;
  receivedBytes = 0;

  readonly #inner: Transport;
  readonly #clock: Clock;
  readonly #lines = new MessageLines({
    isOpen: () => this.endReason === undefined,
    onMessage: (message) => this.onmessage?.(message),
    onProblem: (error) => this.onerror?.(error),
    onStrayLine: (line) => this.onerror?.(new Error(`dropped something that is not a message: ${line.slice(0, 200)}`)),
    send: (refusal) => this.send(refusal),
    giveUp: (reason) => this.abandon(reason),
  });
  #started: Promise<void> | undefined;
  #ending: Promise<void> | undefined;

  constructor(inner: Transport, clock: Clock) {
    this.#inner = inner;
    this.#clock = clock;
    USED_TRANSPORTS.add(inner);
    this.hasPerRequestStream = inner.hasPerRequestStream === true;
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK knows only this way
    inner.onmessage = (message) => this.#receive(message);
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK knows only this way
    inner.onerror = (error) => this.onerror?.(error);
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK knows only this way
    inner.onclose = () => {
      this.exited ||= this.endReason === undefined;
      void this.#end("it closed the connection");
    };
  }

  get transport(): Transport {
    return this;
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion?.(version);
  }

  /** Starts the inner transport once, however often a client calls it. */
  start(): Promise<void> {
    return (this.#started ??= (async () => await this.#inner.start())());
  }

  /** Sends a copy, so that neither side can change the other's object. */
  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (this.endReason !== undefined) throw new Error(this.endReason);
    const copy: unknown = parseExactly(JSON.stringify(message));
    await this.#inner.send(copy as JSONRPCMessage, options); // a copy of a message is a message
  }

  close(): Promise<void> {
    return this.#end(CLOSED_REASON);
  }

  abandon(reason: string): void {
    void this.#end(reason);
  }

  #receive(message: unknown): void {
    if (this.endReason !== undefined) return;
    let text: string | undefined;
    try {
      text = JSON.stringify(message);
    } catch (error: unknown) {
      return this.#receiveUnwritable(message, describeThrown(error));
    }
    if (text === undefined) return;
    this.receivedBytes += text.length;
    if (text.length > MAX_MESSAGE_BYTES) this.#lines.receiveOversize(text);
    else this.#lines.receive(text);
  }

  /** Handles a message that JSON cannot express, such as one with a cycle or a BigInt: only the request that it answers fails. */
  #receiveUnwritable(message: unknown, problem: string): void {
    const id = answeredId(message);
    if (id !== undefined) this.onmessage?.({ jsonrpc: "2.0", id, error: { code: UNREADABLE_ANSWER, message: "its answer is not JSON" } });
    else this.onerror?.(new Error(`dropped a message that is not JSON: ${problem}`));
  }

  #end(reason: string): Promise<void> {
    if (this.#ending !== undefined) return this.#ending;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ending = promise; // set before closing, as some transports report their end while they close
    this.endReason = reason;
    USED_TRANSPORTS.delete(this.#inner);
    void this.#closeInner().then(resolve);
    this.onclose?.();
    return promise;
  }

  async #closeInner(): Promise<void> {
    const closed = new AbortController();
    const closing = (async () => await this.#inner.close())()
      .catch(() => undefined)
      .finally(() => closed.abort());
    await Promise.race([closing, sleep(this.#clock, CLOSE_MS, closed.signal)]);
  }
}

/** The id of the request that a message answers; undefined if it answers none, or cannot be read. */
function answeredId(message: unknown): number | undefined {
  try {
    const id: unknown = typeof message === "object" && message !== null && !("method" in message) ? Reflect.get(message, "id") : undefined;
    return typeof id === "number" ? id : undefined;
  } catch {
    return undefined; // a getter or a proxy that throws
  }
}
