/**
 * The stdio transport: one server process, one JSON-RPC message per line.
 *
 * Unlike the SDK's own transport, it starts a process group, ends the server's helper processes, and survives a write to a server that has exited. It
 * implements the SDK's `Transport` interface.
 */
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { LastWords } from "../../processes/stderr-tail.ts";
import { LineReader, MAX_MESSAGE_BYTES } from "../../processes/line-reader.ts";
import { MessageLines } from "./message-lines.ts";
import { endServer, startProblem, startServer, type Spawn } from "../../processes/process.ts";
import type { ServerCommand } from "../../processes/server-command.ts";
import type { Clock } from "../../core/ports.ts";
import type { Redact } from "../../core/base/redact.ts";
import { CLOSED, type Wire } from "./wire.ts";

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
  ended: string | undefined;
  /** Whether the server ended by itself, and was not given up or closed. */
  exited = false;
  /** Number of bytes that the server has written to its standard output. */
  receivedBytes = 0;

  readonly #server: ServerCommand;
  readonly #clock: Clock;
  readonly #spawn: Spawn | undefined;
  readonly #words: LastWords;
  readonly #lines = new MessageLines({
    isOpen: () => this.ended === undefined,
    message: (message) => this.onmessage?.(message),
    problem: (error) => this.onerror?.(error),
    stray: (line) => this.#words.push(Buffer.from(`${line}\n`)),
    send: (refusal) => this.send(refusal),
    giveUp: (reason) => this.lose(reason),
  });
  readonly #reader = new LineReader({ line: (line) => this.#lines.receive(line), longLine: (edges) => this.#lines.oversize(edges) });
  #child: ChildProcessWithoutNullStreams | undefined;
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

  /** The last lines of the server's standard error, and of standard output that is not messages. */
  get stderrTail(): readonly string[] {
    return this.#words.lines();
  }

  /** Resolves once the process runs; rejects if it cannot be started. Does nothing if it runs already. */
  start(): Promise<void> {
    if (this.#child !== undefined && this.ended === undefined) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const failed = (error: unknown): void => {
        void this.#end(startProblem(this.#server, error));
        reject(new Error(this.ended)); // without the original error, which repeats all arguments
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
    if (this.#child === undefined || this.ended !== undefined) return Promise.reject(new Error(this.ended ?? "it was not started"));
    const { stdin } = this.#child;
    return new Promise((resolve) => stdin.write(`${JSON.stringify(message)}\n`, () => resolve())); // an error of the pipe ends the transport
  }

  /** Ends the server and its child processes. Pending requests fail at once; resolves when the processes have ended. */
  close(): Promise<void> {
    return this.#end(CLOSED);
  }

  /** Ends a server that violated the protocol, and ignores its further output. */
  lose(reason: string): void {
    this.#child?.stdout.destroy();
    void this.#end(reason);
  }

  #listen(child: ChildProcessWithoutNullStreams): void {
    const broken = (error: Error): void => void this.#end(`its pipe broke (${error.message})`);
    child.stdin.on("error", (error) => this.#whenExited(child, () => broken(error)));
    child.stdout.on("error", broken);
    child.stderr.on("error", broken);
    child.stderr.on("data", (chunk: Buffer) => this.#words.push(chunk));
    child.stdout.on("data", (chunk: Buffer) => {
      this.receivedBytes += chunk.length;
      if (!this.#reader.push(chunk)) this.lose(`it sent a line of more than ${MAX_MESSAGE_BYTES} bytes`);
    });
    child.stdout.once("end", () => this.#whenExited(child, () => this.lose("it closed its output")));
    const exited = (): void => {
      this.exited ||= this.ended === undefined;
      void this.#end(child.signalCode === null ? `it exited with code ${child.exitCode}` : `it was ended by ${child.signalCode}`);
    };
    child.once("close", exited);
    child.once("exit", () => this.#whenExited(child, exited));
  }

  /** Waits briefly for the exit code and the last output of an ending server, for a better message. */
  #whenExited(child: ChildProcessWithoutNullStreams, then: () => void): void {
    child.once("close", this.#clock.timer(then, LAST_OUTPUT_MS));
  }

  #end(reason: string): Promise<void> {
    if (this.#ending !== undefined) return this.#ending;
    this.ended = reason;
    this.#ending = this.#child === undefined ? Promise.resolve() : endServer(this.#child, this.#clock);
    this.onclose?.();
    return this.#ending;
  }
}
