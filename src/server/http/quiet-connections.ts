/** Closes quiet connections: idle ones between two requests, and those whose clients do not read their responses. */
import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

export interface QuietOptions {
  /** How long a client may read nothing of its responses, in milliseconds. */
  readonly unreadMs: number;
  /** How long a client may keep a connection open without a request, in milliseconds. Responses announce it in whole seconds. */
  readonly idleMs: number;
}

/** Share by which a connection is kept longer than announced: a request sent at the last moment may still be on its way. */
const MORE = 1 / 8;

/**
 * Closes quiet connections of a server. The returned function must be called with the response to each request.
 *
 * A connection is closed only when everything received on it has been read. After the process was busy, Node runs timers before it reads sockets, and
 * would close a connection on which the next request waits: its client could not know whether that request was started.
 */
export function closeQuiet(server: Server, { unreadMs, idleMs }: QuietOptions): (outgoing: ServerResponse) => void {
  /** Number of unanswered requests by connection. */
  const open = new WeakMap<Socket, number>();
  const isIdle = (socket: Socket): boolean => (open.get(socket) ?? 0) === 0;
  server.timeout = unreadMs;
  server.keepAliveTimeout = idleMs;
  server.keepAliveTimeoutBuffer = idleMs * MORE;
  // emitted when a connection was quiet for that long in both directions
  server.on("timeout", (socket) => {
    if (isIdle(socket)) closeUnlessRead(socket, isIdle);
    else if (socket.writableLength > 0) socket.destroy(); // if nothing waits to be written, a request is taking long
  });
  return (outgoing) => {
    const { socket } = outgoing.req;
    open.set(socket, (open.get(socket) ?? 0) + 1);
    outgoing.once("close", () => open.set(socket, (open.get(socket) ?? 1) - 1));
  };
}

/** Closes an idle socket unless it gets data: Node reads sockets between timers and `setImmediate`. */
function closeUnlessRead(socket: Socket, isIdle: (socket: Socket) => boolean): void {
  const { bytesRead } = socket;
  setImmediate(() => {
    if (isIdle(socket) && socket.bytesRead === bytesRead) socket.destroy();
  });
}
