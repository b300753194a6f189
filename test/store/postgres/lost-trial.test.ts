/** Servers that end a connection, or fall silent, while it is tried whether notifications arrive on it. */
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { PostgresNotifier } from "../../../src/store/postgres/postgres-notifier.ts";
import { MemoryLog } from "../../../src/testing/fake-ports.ts";

/** @see https://www.postgresql.org/docs/current/protocol-message-formats.html */
function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}
const READY = message("Z", Buffer.from("I"));
const WELCOME = Buffer.concat([message("R", Buffer.alloc(4)), READY]);
const DONE = Buffer.concat([message("C", Buffer.from("LISTEN\0")), READY]);

/** A server that ends the connection that listens as soon as another one is made, or does not answer that one. Resolves to its port, and to how many connections it had. */
async function restartingServer(isSilent = false): Promise<{ readonly port: number; readonly connections: Socket[] }> {
  const connections: Socket[] = [];
  const server = createServer((socket) => {
    connections.push(socket.on("error", () => {}).unref());
    const isSecond = connections.length === 2;
    let isWelcome = false;
    socket.on("data", (data) => {
      if (isSecond && isSilent) return;
      if (isSecond) connections[0]?.destroy();
      socket.write(isWelcome ? DONE : WELCOME);
      isWelcome = true;
      if (data[0] === 0x58) socket.end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of connections) socket.destroy();
    server.close();
  });
  const address = server.address();
  return { port: typeof address === "object" && address !== null ? address.port : 0, connections };
}

test("a connection attempt to a silent server does not keep the process alive", async () => {
  const { port, connections } = await restartingServer(true);
  const before = sockets();
  const settings = { url: `postgres://haft@127.0.0.1:${port}/app`, schema: "haft", connectTimeoutMs: 1_000 };
  const notifier = new PostgresNotifier(settings, { ...systemPorts, log: new MemoryLog() });
  onTestFinished(() => notifier.close());
  notifier.follow(() => {});
  await expect.poll(() => connections.length).toBe(2);
  expect(sockets()).toBeLessThanOrEqual(before);
});

/** How many keep this process alive. */
function sockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
}

test("a connection that is lost while it is tested is replaced, and no missing notifications are reported", async () => {
  const { port, connections } = await restartingServer();
  const log = new MemoryLog();
  const settings = { url: `postgres://haft@127.0.0.1:${port}/app`, schema: "haft", connectTimeoutMs: 1_000 };
  const notifier = new PostgresNotifier(settings, { ...systemPorts, log });
  onTestFinished(() => notifier.close());
  notifier.follow(() => {});
  await expect.poll(() => connections.length, { timeout: 1_800, interval: 20 }).toBeGreaterThan(2);
  expect(log.lines).toEqual([]);
});
