/**
 * The stdio transport: one server process, one JSON-RPC message a line.
 *
 * The SDK's own transport starts no process group, leaves helpers of the server running and does not survive a
 * write to a server that has gone; this one does all three, on the SDK's `Transport` interface.
 */
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { ToolError, describeThrown } from "../../core/error.ts";
import { LastWords } from "../../processes/stderr-tail.ts";
import { LineReader, MAX_MESSAGE_BYTES } from "../../processes/line-reader.ts";
import { isRequest, isSoundRequest, unreadable } from "./unreadable-line.ts";
import { errorInstead, shallowList } from "./oversize-answer.ts";
import { endServer, startProblem, startServer, type Spawn } from "../../processes/process.ts";
import type { ServerCommand } from "../../processes/server-command.ts";
import type { Clock } from "../../core/ports.ts";
import type { Redact } from "../../core/base/redact.ts";
import { CLOSED, type Wire } from "./wire.ts";
import { isJsonObject } from "../../core/base/json.ts";
import { endOfString, parseExactly } from "../../core/base/exact-json.ts";
import { LONG_INTEGER, keepDigits } from "../../core/base/parse-json.ts";

/** How long the last output of a server that has exited is waited for, when something else holds its pipe. */
const LAST_OUTPUT_MS = 250;

export interface StdioOptions {
  readonly clock: Clock;
  /** Takes secrets out of what the server said. */
  readonly redact: Redact;
  /** @default that of Node */
  readonly spawn?: Spawn;
}

export class StdioTransport implements Transport, Wire {
  readonly kind = "stdio";
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Why the server is no longer to be had, as the end of a sentence; undefined while it runs. */
  ended: string | undefined;
  /** The server ended by itself, rather than that it was given up or closed. */
  exited = false;
  /** How many bytes the server has written to its standard output. */
  receivedBytes = 0;

  readonly #server: ServerCommand;
  readonly #clock: Clock;
  readonly #spawn: Spawn | undefined;
  readonly #words: LastWords;
  readonly #reader = new LineReader({ line: (line) => this.#receive(line), longLine: (edges) => this.#oversize(edges) });
  #child: ChildProcessWithoutNullStreams | undefined;
  #refusals = 0;
  #ending: Promise<void> | undefined;

  constructor(server: ServerCommand, { clock, redact, spawn }: StdioOptions) {
    this.#server = server;
    this.#clock = clock;
    this.#spawn = spawn;
    this.#words = new LastWords(redact);
  }

  get transport(): Transport {
    return this;
  }

  /** The last lines of the server's standard error, and of its standard output that are not messages. */
  get stderrTail(): readonly string[] {
    return this.#words.lines();
  }

  /** Resolves once the process runs, at once where it does already; rejects when it cannot be started. */
  start(): Promise<void> {
    if (this.#child !== undefined && this.ended === undefined) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const failed = (error: unknown): void => {
        void this.#end(startProblem(this.#server, error));
        reject(new Error(this.ended)); // without what was thrown, which repeats all arguments
      };
      try {
        const child = startServer(this.#server, this.#spawn);
        this.#child = child;
        child.once("spawn", resolve);
        child.on("error", failed);
        this.#listen(child);
      } catch (error: unknown) {
        failed(error);
      }
    });
  }

  /** Resolves once the message is in the server's pipe. The deadline of its caller ends the wait for a server that never reads. */
  send(message: JSONRPCMessage): Promise<void> {
    if (this.#child === undefined || this.ended !== undefined) return Promise.reject(new Error(this.ended ?? "it was not started"));
    const { stdin } = this.#child;
    return new Promise((resolve) => stdin.write(`${JSON.stringify(message)}\n`, () => resolve())); // an error of the pipe ends the transport
  }

  /** Ends the server and all it started. Pending requests fail at once; resolves when the processes are gone. */
  close(): Promise<void> {
    return this.#end(CLOSED);
  }

  lose(reason: string): void {
    this.#giveUp(reason);
  }

  #listen(child: ChildProcessWithoutNullStreams): void {
    const broken = (error: Error): void => void this.#end(`its pipe broke (${error.message})`);
    child.stdin.on("error", (error) => this.#whenExited(child, () => broken(error)));
    child.stdout.on("error", broken);
    child.stderr.on("error", broken);
    child.stderr.on("data", (chunk: Buffer) => this.#words.push(chunk));
    child.stdout.on("data", (chunk: Buffer) => {
      this.receivedBytes += chunk.length;
      if (!this.#reader.push(chunk)) this.#giveUp(`it sent a line of more than ${MAX_MESSAGE_BYTES} bytes`);
    });
    child.stdout.once("end", () => this.#whenExited(child, () => this.#giveUp("it closed its output")));
    const exited = (): void => {
      this.exited ||= this.ended === undefined;
      void this.#end(child.signalCode === null ? `it exited with code ${child.exitCode}` : `it was ended by ${child.signalCode}`);
    };
    child.once("close", exited);
    child.once("exit", () => this.#whenExited(child, exited));
  }

  /** Gives the exit code and the last output of a dying server a moment to arrive, for the better message. */
  #whenExited(child: ChildProcessWithoutNullStreams, then: () => void): void {
    child.once("close", this.#clock.timer(then, LAST_OUTPUT_MS));
  }

  /** Ends a server that broke the rules, and reads nothing more of it. */
  #giveUp(reason: string): void {
    this.#child?.stdout.destroy();
    void this.#end(reason);
  }

  #oversize(edges: string): void {
    this.#refuse(edges, `it sent a line of more than ${MAX_MESSAGE_BYTES} bytes`);
  }

  /** Ends the request that a line answers; ends the server where the line answers none that can be named. */
  #refuse(line: string, problem: string): void {
    if (this.ended !== undefined) return;
    const error = errorInstead(line, problem);
    if (error === undefined) this.#giveUp(problem);
    else this.onmessage?.(error);
  }

  #receive(line: string): void {
    if (this.ended !== undefined) return;
    try {
      if (line.startsWith("[")) return this.#receiveBatch(line);
      const message = parseMessage(line);
      if (message === undefined) this.#receiveNone(line);
      else if (isMisnumbered(message)) this.onerror?.(new Error(`dropped an answer to a request never sent: ${line.slice(0, 200)}`));
      else this.onmessage?.(message);
    } catch (error: unknown) {
      if (error instanceof ToolError) this.#receiveCostly(line, error.message);
      else this.onerror?.(error instanceof Error ? error : new Error(describeThrown(error)));
    }
  }

  #receiveBatch(line: string): void {
    const batch = parseBatch(line);
    if (batch.length === 0) this.#words.push(Buffer.from(`${line}\n`));
    for (const each of batch) this.#receive(each);
  }

  /** A line that is no message ends the request that it answers, is refused where it was meant as a request, and else is a stray print. */
  #receiveNone(line: string): void {
    const told = unreadable(line);
    if (told === undefined) this.#words.push(Buffer.from(`${line}\n`));
    else if ("ended" in told) this.onmessage?.(told.ended);
    else this.#refuseRequest(told.refusal, line);
  }

  /** A server that takes no answers gets no more of them. */
  #refuseRequest(refusal: JSONRPCMessage, line: string): void {
    if (this.#refusals >= MAX_REFUSALS) return this.#words.push(Buffer.from(`${line}\n`));
    this.#refusals++;
    void this.send(refusal).finally(() => this.#refusals--);
  }

  /** A tool whose schema nests too deep does not cost the others: the list is read without what is too deep. */
  #receiveCostly(line: string, problem: string): void {
    const list = problem.includes("nests deeper") ? shallowList(line) : undefined;
    if (list === undefined) this.#refuse(line, problem);
    else this.onmessage?.(list);
  }

  #end(reason: string): Promise<void> {
    if (this.#ending !== undefined) return this.#ending;
    this.ended = reason;
    this.#ending = this.#child === undefined ? Promise.resolve() : endServer(this.#child, this.#clock);
    this.onclose?.();
    return this.#ending;
  }
}

const PROBE_ID = "server-discover-probe";

/** The SDK numbers its requests, but for its version probe, and would take an answer to "1" for one to 1. */
function isMisnumbered(message: JSONRPCMessage): boolean {
  return !("method" in message) && typeof message.id === "string" && !message.id.startsWith(PROBE_ID);
}

/** So many refusals of lines may be on their way to a server. */
const MAX_REFUSALS = 100;
const MAX_DEPTH = 256;
const MAX_VALUES = 500_000;

/**
 * The message in a line, or undefined when the line is none (a banner, a stray print, a torn message).
 *
 * Of repeated keys the last one counts, and an integer that would lose digits comes as a string of them:
 * refusing a whole answer for one would leave its call without any.
 *
 * @throws ToolError `too_large` for a line that nests too deep or holds too many values
 */
export function parseMessage(line: string): JSONRPCMessage | undefined {
  if (!line.startsWith("{")) return undefined;
  checkCost(line);
  let message: unknown;
  try {
    message = parseExactly(line, LONG_INTEGER.test(line) ? keepDigits : undefined);
  } catch {
    return undefined;
  }
  if (!isJsonObject(message) || message["jsonrpc"] !== "2.0" || (isRequest(message) && !isSoundRequest(message, line))) return undefined;
  return message as unknown as JSONRPCMessage; // the SDK checks every field that it uses
}

/**
 * The messages in a line that is a batch, as a line each; none where it is another array. Of the revision 2025-03-26 only.
 *
 * @see https://modelcontextprotocol.io/specification/2025-03-26/basic#batching
 * @throws as `parseMessage`
 */
function parseBatch(line: string): readonly string[] {
  checkCost(line);
  let batch: unknown;
  try {
    batch = parseExactly(line, LONG_INTEGER.test(line) ? keepDigits : undefined);
  } catch {
    return [];
  }
  if (!Array.isArray(batch) || !batch.every((each) => isJsonObject(each) && each["jsonrpc"] === "2.0")) return [];
  return batch.map((each) => JSON.stringify(each));
}

function checkCost(line: string): void {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < line.length; at++) {
    switch (line.charCodeAt(at)) {
      case 0x22: // a string: on to its closing quote
        at = endOfString(line, at + 1);
        break;
      case 0x2c:
        values++;
        break;
      case 0x5b:
      case 0x7b:
        values++;
        if (++depth > MAX_DEPTH) throw new ToolError("too_large", `it sent a message that nests deeper than ${MAX_DEPTH} levels`);
        break;
      case 0x5d:
      case 0x7d:
        depth--;
    }
  }
  if (values > MAX_VALUES) throw new ToolError("too_large", `it sent a message of more than ${MAX_VALUES} values`);
}
