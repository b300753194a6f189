/** Closes quiet connections: idle ones between two requests, and those whose clients do not read their responses. */
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { onNextTurn } from "../../core/system/lazy-timer.ts";
import type { OpenResponses } from "./open-responses.ts";

export interface QuietConnectionOptions {
  readonly open: OpenResponses;
  /** How long a client may read nothing of its responses, in milliseconds. */
  readonly unreadMs: number;
  /** How long a client may keep a connection open without a request, in milliseconds. Responses announce it in whole seconds. */
  readonly idleMs: number;
}

/** Share by which a connection is kept longer than announced: a request sent at the last moment may still be on its way. */
const GRACE_SHARE = 1 / 8;

/**
 * Closes quiet connections of a server.
 *
 * A connection is closed only when everything received on it has been read. After the process was busy, Node runs timers before it reads sockets, and
 * would close a connection on which the next request waits: its client could not know whether that request was started.
 */
export function closeQuietConnections(server: Server, { open, unreadMs, idleMs }: QuietConnectionOptions): void {
  server.timeout = unreadMs;
  server.keepAliveTimeout = idleMs;
  server.keepAliveTimeoutBuffer = idleMs * GRACE_SHARE;
  // emitted when a connection was quiet for that long in both directions
  server.on("timeout", (socket) => {
    if (open.isIdle(socket)) closeUnlessRead(socket, open);
    else if (socket.writableLength > 0) socket.destroy(); // if nothing waits to be written, a request is taking long
  });
}

/** Closes an idle socket unless it gets data: Node reads sockets between timers and `setImmediate`. */
function closeUnlessRead(socket: Socket, open: OpenResponses): void {
  const { bytesRead } = socket;
  onNextTurn(() => {
    if (open.isIdle(socket) && socket.bytesRead === bytesRead) socket.destroy();
  });
}
