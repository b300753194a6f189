/** The interface through which a connection uses its transport, whichever kind it is. */
import type { Transport } from "@modelcontextprotocol/client";

export interface ServerStreamEvents {
  /** Called when the stream is open again after it was closed, unless the server replays the messages in between. */
  onReopened(): void;
  /** Called when a server refuses a stream that it had: its session may have ended. The stream is tried again once it resolves. */
  onRefused(): Promise<void>;
  onProblem(what: string): void;
}

export interface Wire {
  readonly kind: "stdio" | "http" | "sse" | "custom";
  readonly transport: Transport;
  /** The address of the server, without secrets; undefined for a child process. */
  readonly url?: string;
  /** Why the server can no longer be used, as the end of a sentence; undefined while it can. */
  readonly endReason: string | undefined;
  /** Whether a child process, or a transport of the program, ended by itself, and was not given up or closed. */
  readonly exited: boolean;
  /** The last lines of the server's output that is not messages. */
  readonly stderrTail: readonly string[];
  readonly receivedBytes: number;
  /** Why the last answer was cut off, as the end of a sentence. */
  readonly problem?: string | undefined;
  /** Gives the server up; later requests fail with the reason. */
  abandon(reason: string): void;
  /** Waits for a person to log in; undefined if a login is not possible. */
  readonly authorize?: ((signal: AbortSignal) => Promise<void>) | undefined;
  /** Keeps open the stream on which the server sends messages, if that is a separate one. */
  listen?(events: ServerStreamEvents): void;
  /** Ends the connection, gracefully if possible. Idempotent. */
  close(): Promise<void>;
}

/** The `endReason` of a connection that was closed from this side. */
export const CLOSED_REASON = "it was closed";
