/**
 * The stdio transport: one server process, one JSON-RPC message per line.
 *
 * Unlike the SDK's own transport, it starts a process group, ends the server's helper processes, and survives a write to a server that has exited. It
 * implements the SDK's `Transport` interface.
 */
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { StderrTail } from "../../processes/stderr-tail.ts";
import { LineReader, MAX_MESSAGE_BYTES } from "../../processes/line-reader.ts";
import { MessageLines } from "./message-lines.ts";
import { endServer, describeStartError, startServer, type Spawn } from "../../processes/server-process.ts";
import type { ServerCommand } from "../../processes/server-command.ts";
import type { Clock } from "../../core/ports.ts";
import type { Redact } from "../../core/secrets/redact.ts";
import { CLOSED_REASON, type Wire } from "./wire.ts";

/** How long to wait for the last output of an exited server if another process holds its pipe, in milliseconds. */
const LAST_OUTPUT_MS = 250;

export interface StdioOptions {
  readonly clock: Clock;
  /** Removes secrets from the server's output. */
  readonly redact: Redact;
  /** @default Node's `spawn` */
  readonly spawn?: Spawn;
}

export class StdioTransport implements Transport, Wire {
  readonly kind = "stdio";
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Why the server can no longer be used, as the end of a sentence; undefined while it runs. */
  endReason: string | undefined;
  /** Whether the server ended by itself, and was not given up or closed. */
  exited = false;
  /** Number of bytes that the server has written to its standard output. */
  receivedBytes = 0;

  readonly #server: ServerCommand;
  readonly #clock: Clock;
  readonly #spawn: Spawn | undefined;
  readonly #stderrTail: StderrTail;
  readonly #lines = new MessageLines({
    isOpen: () => this.endReason === undefined,
    onMessage: (message) => this.onmessage?.(message),
    onProblem: (error) => this.onerror?.(error),
    onStrayLine: (line) => this.#stderrTail.push(Buffer.from(`${line}\n`)),
    send: (refusal) => this.send(refusal),
    giveUp: (reason) => this.abandon(reason),
  });
  readonly #reader = new LineReader({
    onLine: (line) => this.#lines.receive(line),
    onLongLine: (edges) => this.#lines.receiveOversize(edges),
  });
  #child: ChildProcessWithoutNullStreams | undefined;
  #ending: Promise<void> | undefined;

  constructor(server: ServerCommand, { clock, redact, spawn }: StdioOptions) {
    this.#server = server;
    this.#clock = clock;
    this.#spawn = spawn;
    this.#stderrTail = new StderrTail(redact);
  }

  get transport(): Transport {
    return this;
  }

  /** The last lines of the server's standard error, and of standard output that is not messages. */
  get stderrTail(): readonly string[] {
    return this.#stderrTail.lines();
  }

  /** Resolves once the process runs; rejects if it cannot be started. Does nothing if it runs already. */
  start(): Promise<void> {
    if (this.#child !== undefined && this.endReason === undefined) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const failed = (error: unknown): void => {
        void this.#stopServer(describeStartError(this.#server, error));
        reject(new Error(this.endReason)); // without the original error, which repeats all arguments
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

  /** Resolves once the message is in the server's pipe. If the server never reads, only the caller's deadline ends the wait. */
  send(message: JSONRPCMessage): Promise<void> {
    if (this.#child === undefined || this.endReason !== undefined) return Promise.reject(new Error(this.endReason ?? "it was not started"));
    const { stdin } = this.#child;
    return new Promise((resolve) => stdin.write(`${JSON.stringify(message)}\n`, () => resolve())); // an error of the pipe ends the transport
  }

  /** Ends the server and its child processes. Pending requests fail at once; resolves when the processes have ended. */
  close(): Promise<void> {
    return this.#stopServer(CLOSED_REASON);
  }

  /** Ends a server that violated the protocol, and ignores its further output. */
  abandon(reason: string): void {
    this.#child?.stdout.destroy();
    void this.#stopServer(reason);
  }

  #listen(child: ChildProcessWithoutNullStreams): void {
    const broken = (error: Error): void => void this.#stopServer(`its pipe broke (${error.message})`);
    child.stdin.on("error", (error) => this.#waitForExit(child, () => broken(error)));
    child.stdout.on("error", broken);
    child.stderr.on("error", broken);
    child.stderr.on("data", (chunk: Buffer) => this.#stderrTail.push(chunk));
    child.stdout.on("data", (chunk: Buffer) => {
      this.receivedBytes += chunk.length;
      if (!this.#reader.push(chunk)) this.abandon(`it sent a line of more than ${MAX_MESSAGE_BYTES} bytes`);
    });
    child.stdout.once("end", () => this.#waitForExit(child, () => this.abandon("it closed its output")));
    const exited = (): void => {
      this.exited ||= this.endReason === undefined;
      void this.#stopServer(child.signalCode === null ? `it exited with code ${child.exitCode}` : `it was ended by ${child.signalCode}`);
    };
    child.once("close", exited);
    child.once("exit", () => this.#waitForExit(child, exited));
  }

  /** Waits briefly for the exit code and the last output of an ending server, for a better message. */
  #waitForExit(child: ChildProcessWithoutNullStreams, then: () => void): void {
    child.once("close", this.#clock.timer(then, LAST_OUTPUT_MS));
  }

  #stopServer(reason: string): Promise<void> {
    if (this.#ending !== undefined) return this.#ending;
    this.endReason = reason;
    this.#ending = this.#child === undefined ? Promise.resolve() : endServer(this.#child, this.#clock);
    this.onclose?.();
    return this.#ending;
  }
}
