/** A connection's knowledge of the way to its server, whichever it is. */
import type { Transport } from "@modelcontextprotocol/client";

export interface ServerStreamEvents {
  /** Called when the stream was gone for a while and is open again, unless the server replays what it sent meanwhile. */
  onReopened(): void;
  /** Called when a server refuses a stream that it had: its session may be over. The stream is tried again once it resolves. */
  onRefused(): Promise<void>;
  onProblem(what: string): void;
}

export interface Wire {
  readonly kind: "stdio" | "http" | "sse" | "custom";
  readonly transport: Transport;
  /** Where the server is, fit to be shown; undefined for a child process. */
  readonly url?: string;
  /** Why the server is no longer to be had, as the end of a sentence; undefined while it is. */
  readonly ended: string | undefined;
  /** A child process, or a transport of the program's own, ended by itself, rather than that it was given up or closed. */
  readonly exited: boolean;
  /** The server's output besides its messages. */
  readonly stderrTail: readonly string[];
  readonly receivedBytes: number;
  /** Why the last answer was cut short, as the end of a sentence. */
  readonly problem?: string | undefined;
  /** Gives the server up; later requests fail with the reason. */
  lose(reason: string): void;
  /** Waits for a person to log in; undefined where no one can log in. */
  readonly authorize?: ((signal: AbortSignal) => Promise<void>) | undefined;
  /** Keeps the stream open on which the server sends messages by itself, where that is a stream of its own. */
  listen?(events: ServerStreamEvents): void;
  /** Ends it, orderly where that can be. Idempotent. */
  close(): Promise<void>;
}

/** `ended` of what was closed from this side. */
export const CLOSED = "it was closed";
