/** The outside world of a fleet: a table that counts effects, and a counter behind fences. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";

export class EffectService {
  /** How often each payment was made. */
  readonly paid = new Map<string, number>();
  /** The changes of the counter that were taken. */
  readonly bumped = new Map<string, number>();
  /** Changes that were refused because a later lease had been seen. */
  refusedByFence = 0;
  /** Changes that were taken although the counter had changed since it was read. */
  lostUpdates = 0;
  #count = 0;
  #fence = 0;
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      let text = "";
      request.setEncoding("utf8");
      request.on("data", (part: string) => (text += part));
      request.on("end", () => {
        const { status, body } = this.#answer(request.url ?? "", JSON.parse(text));
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
      });
    });
  }

  /** Resolves to its port. */
  async listen(host: string): Promise<number> {
    this.#server.listen(0, host);
    await once(this.#server, "listening");
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  #answer(
    path: string,
    { tag = "", fence = 0, count = 0 }: { readonly tag?: string; readonly fence?: number; readonly count?: number },
  ): { readonly status: number; readonly body: unknown } {
    if (path === "/pay") {
      this.paid.set(tag, (this.paid.get(tag) ?? 0) + 1);
      return { status: 200, body: { count: this.paid.get(tag) } };
    }
    if (fence < this.#fence) {
      if (path === "/write") this.refusedByFence++;
      return { status: 409, body: `The fence ${fence} is older than ${this.#fence}.` };
    }
    this.#fence = fence;
    if (path === "/read") return { status: 200, body: { count: this.#count } };
    if (count !== this.#count) this.lostUpdates++;
    this.#count++;
    this.bumped.set(tag, (this.bumped.get(tag) ?? 0) + 1);
    return { status: 200, body: { count: this.#count } };
  }
}
