/** Closes connections on which nothing moves: those between two requests, and those of clients that do not read their answers. */
import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

export interface QuietOptions {
  /** So long may a client read nothing of what waits for it, in milliseconds. */
  readonly unreadMs: number;
  /** So long may a client keep a connection without a request, in milliseconds. Answers say it in whole seconds. */
  readonly idleMs: number;
}

/** A connection is kept for longer than its client was told, by this share: what was sent at the last moment is still on its way. */
const MORE = 1 / 8;

/**
 * The returned function is called with the answer to each request.
 *
 * A connection is closed only when all that came has been read. After a while in which the process was busy, Node's timers run before its sockets are read, and
 * would close a connection that has the next request: its client could not know whether that was begun.
 */
export function closeQuiet(server: Server, { unreadMs, idleMs }: QuietOptions): (outgoing: ServerResponse) => void {
  /** How many requests of a connection are not answered. */
  const open = new WeakMap<Socket, number>();
  const isIdle = (socket: Socket): boolean => (open.get(socket) ?? 0) === 0;
  server.timeout = unreadMs;
  server.keepAliveTimeout = idleMs;
  server.keepAliveTimeoutBuffer = idleMs * MORE;
  // Emitted when a connection was quiet for so long, in both directions.
  server.on("timeout", (socket) => {
    if (isIdle(socket)) closeUnlessRead(socket, isIdle);
    else if (socket.writableLength > 0) socket.destroy(); // where nothing waits, the request takes long
  });
  return (outgoing) => {
    const { socket } = outgoing.req;
    open.set(socket, (open.get(socket) ?? 0) + 1);
    outgoing.once("close", () => open.set(socket, (open.get(socket) ?? 1) - 1));
  };
}

/** Once the sockets were read: Node does that between its timers and what `setImmediate` was given. */
function closeUnlessRead(socket: Socket, isIdle: (socket: Socket) => boolean): void {
  const { bytesRead } = socket;
  setImmediate(() => {
    if (isIdle(socket) && socket.bytesRead === bytesRead) socket.destroy();
  });
}
