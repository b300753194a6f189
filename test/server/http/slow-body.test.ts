/** Bodies that come slowly: a long one may take its time, and one that does not come is refused with an answer. */
import { connect, type Socket } from "node:net";
import { createRuntime } from "haft";
import { createServer, staticToken } from "haft/server";
import { expect, onTestFinished, test } from "vitest";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { listenOn } from "../../../src/server/http/listen.ts";
import { FakeClock, MemoryLog } from "../../../src/testing/fake-ports.ts";
import { TOKEN } from "../api/api-server.ts";

interface Client {
  readonly socket: Socket;
  /** What has come back. */
  readonly text: () => string;
}

function client(port: number, head: string): Client {
  let text = "";
  const socket = connect(port, "127.0.0.1");
  socket.write(`${head}\r\n`);
  socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  return { socket, text: () => text };
}

/** Lets time pass until there is an answer, or a quarter of an hour is over. Resolves to the seconds that passed. */
async function answered(clock: FakeClock, { socket, text }: Client, sent = ""): Promise<number> {
  for (let seconds = 0; seconds < 900; seconds++) {
    if (text() !== "") return seconds;
    socket.write(sent);
    for (let turns = 0; turns < 5; turns++) await turn();
    await clock.advance(1_000);
  }
  return Infinity;
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A port whose handler reads the whole body, and how much of it has come. */
async function readingPort(clock: FakeClock): Promise<{ readonly port: number; readonly received: () => number; readonly log: MemoryLog }> {
  let received = 0;
  const log = new MemoryLog();
  const handler = async ({ body }: Request): Promise<Response> => {
    for await (const chunk of body ?? []) received += chunk.byteLength;
    return new Response(`read ${received}`);
  };
  const { port, close } = await listenOn(handler, { port: 0, host: "127.0.0.1", clock, log });
  onTestFinished(async () => {
    const closing = close(async () => {});
    await clock.advance(1_000);
    await closing;
  });
  return { port, received: () => received, log };
}

const PIECE = "x".repeat(100_000);

test("a long body may take longer in total than a client may be silent", async () => {
  const clock = new FakeClock();
  const { port, received } = await readingPort(clock);
  const { socket, text } = client(port, `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${PIECE.length * 10}\r\n`);
  for (let piece = 1; piece <= 10; piece++) {
    socket.write(PIECE);
    await expect.poll(received).toBe(piece * PIECE.length);
    await clock.advance(20_000);
  }
  await expect.poll(text).toContain("read 1000000");
});

test.each([
  ["with a length", "Content-Length: 1000000\r\n", "x"],
  ["with a small length", "Content-Length: 1000\r\n", "x"],
  ["in chunks", "Transfer-Encoding: chunked\r\n", "1\r\nx\r\n"],
])("a body %s that arrives one byte at a time is rejected with 408", async (_, head, byte) => {
  const clock = new FakeClock();
  const { port, log } = await readingPort(clock);
  const sender = client(port, `POST / HTTP/1.1\r\nHost: a\r\n${head}`);
  const seconds = await answered(clock, sender, byte);
  expect(sender.text()).toMatch(/^HTTP\/1\.1 408 [^]*connection: close[^]*"code":"timeout"[^]*"retryable":true,"outcome":"not_started"/iu);
  expect([seconds >= 30, log.lines]).toEqual([true, []]);
});

test.each([
  ["a call", "/v1/execute", "Content-Type: application/json\r\nContent-Length: 1000\r\n"],
  ["a recording", "/v1/recordings", "Content-Type: application/jsonl\r\nContent-Length: 1000000\r\n"],
  ["a recording in chunks", "/v1/recordings", "Content-Type: application/jsonl\r\nTransfer-Encoding: chunked\r\n"],
  [
    "a plain call over MCP",
    "/mcp",
    "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: a\r\nContent-Length: 1000\r\n",
  ],
  [
    "a message over MCP",
    "/mcp",
    "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 1000\r\n",
  ],
])("%s whose body does not arrive is rejected with 408", async (_, path, head) => {
  const clock = new FakeClock();
  const log = new MemoryLog();
  const runtime = createRuntime({ store: memoryStore() });
  const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), ports: { clock, log } });
  const { port } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    const closing = server.close();
    await clock.advance(60_000);
    await closing;
    await runtime.close();
  });
  const sender = client(port, `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n${head}`);
  await answered(clock, sender);
  expect(sender.text()).toMatch(/^HTTP\/1\.1 408 [^]*"code":"timeout"/u);
  expect(log.lines).toEqual([]);
});
