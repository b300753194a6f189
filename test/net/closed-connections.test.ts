/** Connections that a server has closed between two requests. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { httpClient } from "../../src/net/http-client.ts";
import { systemPorts } from "../../src/core/system/system-ports.ts";

test("a request that may not be repeated uses no connection whose end has arrived, even if the process was too busy to notice", async () => {
  const connections: Socket[] = [];
  const server = createServer((incoming, outgoing) => void incoming.resume().on("end", () => outgoing.end("{}")));
  server.on("connection", (socket) => connections.push(socket));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const client = httpClient({ allowPrivate: ["127.0.0.1"] }, systemPorts);
  onTestFinished(() => {
    client.close();
    server.close();
  });
  const { port } = server.address() as AddressInfo; // it listens at a port
  const post = async (): Promise<number> => {
    const request = {
      method: "POST",
      url: new URL(`http://127.0.0.1:${port}/`),
      headers: [],
      body: Buffer.from("{}"),
      signal: new AbortController().signal,
    };
    const answer = await client.request(request);
    await answer.bytes();
    return answer.status;
  };
  expect(await post()).toBe(200);
  await new Promise((resolve) => setImmediate(resolve)); // the agent has the connection back
  connections[0]?.destroy(); // the system has its end at once, and the client reads it when the event loop comes round
  expect([await post(), connections.length]).toEqual([200, 2]);
});
