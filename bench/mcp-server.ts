/** The server of the MCP benchmark, by the official SDK: `stdio`, or `http`, which prints its port. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { McpServer, createMcpHandler, fromJsonSchema } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { SCHEMA, handle, type Order } from "./workload.ts";

function makeServer(): McpServer {
  const server = new McpServer({ name: "bench", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.registerTool("order", { description: "d", inputSchema: fromJsonSchema<Order>(SCHEMA) }, async (order) => {
    const output = handle(order);
    return { content: [{ type: "text", text: JSON.stringify(output) }], structuredContent: output };
  });
  return server;
}

if (process.argv[2] === "stdio") {
  serveStdio(makeServer);
} else {
  const handler = createMcpHandler(makeServer);
  const server = createServer((request, response) => void answer(handler.fetch, request, response));
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    if (typeof address === "object" && address !== null) process.stdout.write(`${address.port}\n`);
  });
}

async function answer(
  fetch: ReturnType<typeof createMcpHandler>["fetch"],
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const { method = "GET", url = "/", headers } = incoming;
  const body = method === "POST" ? new Uint8Array(await buffer(incoming)) : null;
  const plain = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
  const response = await fetch(new Request(`http://127.0.0.1${url}`, { method, headers: plain, body }));
  outgoing.writeHead(response.status, [...response.headers].flat());
  if (response.body === null) outgoing.end();
  else await pipeline(Readable.fromWeb(response.body as never), outgoing).catch(() => undefined); // the client has gone
}
