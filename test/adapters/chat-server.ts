/** A handler of requests on a port of loopback, for the clients of other projects. */
import { once } from "node:events";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

export interface ChatServer {
  readonly url: string;
  close(): Promise<void>;
}

export async function serveChat(handler: (request: Request) => Promise<Response>): Promise<ChatServer> {
  const server = createServer((incoming, outgoing) => {
    void (async () => {
      const gone = new AbortController();
      outgoing.on("close", () => gone.abort());
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
      const request = new Request("http://127.0.0.1/", { method: "POST", body: Buffer.concat(chunks), signal: gone.signal });
      const response = await handler(request);
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      if (response.body === null) outgoing.end();
      else await pipeline(Readable.fromWeb(response.body), outgoing);
    })().catch(() => outgoing.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`,
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
