/** A way to a port that can be cut without either side hearing of it, or broken. */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

export class TcpProxy {
  readonly #target: number;
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #isCut = false;

  constructor(target: number) {
    this.#target = target;
    this.#server = createServer((client) => this.#accept(client));
  }

  async listen(host: string): Promise<number> {
    this.#server.listen(0, host);
    await once(this.#server, "listening");
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  /** Nothing comes through any more, in either direction; new connections are taken and lead nowhere. */
  cut(): void {
    this.#isCut = true;
    this.halfOpen();
  }

  heal(): void {
    this.#isCut = false;
  }

  /** Connections that are open stay so, and nothing comes through them any more; new ones work. Returns how many there were. */
  halfOpen(): number {
    const count = this.#pairs.size;
    for (const [client, upstream] of this.#pairs) {
      client.unpipe(upstream);
      upstream.unpipe(client);
      client.resume();
      upstream.resume();
    }
    this.#pairs.clear();
    return count;
  }

  close(): void {
    this.#server.close();
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy();
  }

  #accept(client: Socket): void {
    client.on("error", () => {});
    if (this.#isCut) return void client.resume();
    const upstream = connect(this.#target, "127.0.0.1");
    upstream.on("error", () => client.destroy());
    const pair = [client, upstream] as const;
    this.#pairs.add(pair);
    client.pipe(upstream);
    upstream.pipe(client);
    const end = (other: Socket): void => {
      if (this.#pairs.delete(pair)) other.destroy();
    };
    client.once("close", () => end(upstream));
    upstream.once("close", () => end(client));
  }
}
