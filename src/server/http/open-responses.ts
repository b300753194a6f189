/** The requests of each connection that have not been answered completely. */
import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

export class OpenResponses {
  readonly #open = new WeakMap<Duplex, Set<ServerResponse>>();
  readonly #refused = new WeakSet<Duplex>();

  /** Notes the response to a request that has arrived. */
  add(outgoing: ServerResponse): void {
    const { socket } = outgoing.req;
    const open = this.#open.get(socket) ?? new Set();
    this.#open.set(socket, open.add(outgoing));
    outgoing.once("close", () => open.delete(outgoing));
  }

  /** Notes that a request was refused whose end a proxy may have seen elsewhere: bytes behind it may not be a request of its sender. */
  markRefused(socket: Duplex): void {
    this.#refused.add(socket);
  }

  isRefused(socket: Duplex): boolean {
    return this.#refused.has(socket);
  }

  isIdle(socket: Duplex): boolean {
    return (this.#open.get(socket)?.size ?? 0) === 0;
  }

  /** Destroys a connection and its responses, so that the work for them is aborted. */
  destroyAll(socket: Duplex): void {
    for (const outgoing of this.#open.get(socket) ?? []) outgoing.destroy();
    socket.destroy();
  }

  /** Whether a complete request is being answered. The next bytes that are written are read as its response, or as the rest of it. */
  isAnswering(socket: Duplex): boolean {
    return [...(this.#open.get(socket) ?? [])].some(({ headersSent, req }) => headersSent || req.complete);
  }
}
