/** Connections between two requests: open for longer than clients and proxies keep them, and never closed under a request that has come. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createServer, staticToken } from "haft/server";
import { createRuntime } from "haft";
import { expect, onTestFinished, test } from "vitest";
import { listenOn } from "../../../src/server/http/listen.ts";
import { MemoryLog } from "../../../src/testing/fake-ports.ts";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { TOKEN } from "../api/api-server.ts";

const IDLE_MS = 1_000;

async function port(): Promise<number> {
  const handler = async (request: Request): Promise<Response> => new Response(`<${await request.text()}>`);
  const options = { port: 0, host: "127.0.0.1", clock: systemPorts.clock, log: new MemoryLog(), idleMs: IDLE_MS };
  const listener = await listenOn(handler, options);
  onTestFinished(() => listener.close(async () => {}));
  return listener.port;
}

/** A connection whose first request was answered just now. */
async function keptConnection(to: number): Promise<{ readonly socket: Socket; readonly text: () => string }> {
  const socket = connect(to, "127.0.0.1");
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  socket.write(post("one"));
  while (!text.includes("<one>")) await once(socket, "data");
  return { socket, text: () => text };
}

const post = (body: string): string => `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** Keeps the process busy for longer than connections may be idle. */
function beBusy(): void {
  for (const until = performance.now() + IDLE_MS * 1.3; performance.now() < until;);
}

test("an idle connection is closed", async () => {
  const { socket, text } = await keptConnection(await port());
  await once(socket, "close");
  expect(text()).toContain("<one>");
});

test("a request that came while the process was busy is answered, although its connection was idle for too long", async () => {
  const { socket, text } = await keptConnection(await port());
  socket.write(post("two"));
  beBusy();
  await expect.poll(text).toContain("<two>");
});

test("a request that began to arrive while the process was busy may complete", async () => {
  const { socket, text } = await keptConnection(await port());
  const request = post("two");
  socket.write(request.slice(0, 20));
  beBusy();
  for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve));
  socket.write(request.slice(20));
  await expect.poll(text).toContain("<two>");
});

test("a server tells its clients to keep connections for two minutes", async () => {
  const runtime = createRuntime({ tools: [] });
  const server = createServer(runtime, { auth: staticToken({ token: TOKEN }) });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    await server.close();
    await runtime.close();
  });
  const { headers } = await fetch(`${url}/healthz`);
  expect([headers.get("connection"), headers.get("keep-alive")]).toEqual(["keep-alive", "timeout=120"]);
});
