/** CONNECT after other requests on the same connection, which Node hands to the server and no longer watches. */
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { listenOn, type FetchHandler } from "../../../src/server/http/listen.ts";
import { MemoryLog } from "../../../src/testing/fake-ports.ts";

const GET = "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n";
const CONNECT = "CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n";

async function open(handler: FetchHandler) {
  const listener = await listenOn(handler, { port: 0, host: "127.0.0.1", clock: systemPorts.clock, log: new MemoryLog() });
  const socket = connect(listener.port, "127.0.0.1").on("error", () => {});
  onTestFinished(() => void socket.destroy());
  return { listener, socket };
}

function whenClosed(socket: Socket): Promise<string> {
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  return new Promise((resolve) => socket.on("close", () => resolve(text)));
}

test("a client that sends CONNECT and does not read its responses does not keep the server from closing", async () => {
  const { promise: answered, resolve } = Promise.withResolvers<void>();
  const { listener, socket } = await open(async () => {
    resolve();
    return new Response(new Uint8Array(40_000_000));
  });
  socket.pause().write(GET);
  await answered;
  const closed = new Promise<void>((done) => socket.on("close", () => done()));
  socket.write(CONNECT);
  await listener.close(async () => {});
  socket.resume();
  await closed;
});

test.each([1, 2, 3])("CONNECT after %i requests that are being answered aborts the work of each", async (requests) => {
  const aborted: unknown[] = [];
  const { listener, socket } = await open(async ({ signal }) => {
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    aborted.push(signal.aborted);
    return new Response("late");
  });
  const text = whenClosed(socket);
  socket.write(GET.repeat(requests) + CONNECT);
  expect(await text).toBe("");
  await listener.close(async () => {});
  expect(aborted).toEqual(Array.from({ length: requests }, () => true));
});

test("CONNECT after a request that was answered is refused", async () => {
  const { listener, socket } = await open(async () => new Response("here"));
  onTestFinished(() => listener.close(async () => {}));
  const text = whenClosed(socket);
  socket.write(GET);
  socket.once("data", () => setTimeout(() => socket.write(CONNECT), 20));
  expect((await text).match(/HTTP\/1\.1 \d+/gu)).toEqual(["HTTP/1.1 200", "HTTP/1.1 501"]);
});
