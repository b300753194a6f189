/** Answers to a client that does not read: what lies here for it is bounded, and nothing that it waits for is lost. */
import { createServer, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { defineTool, pure } from "haft";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { NodeReply } from "../../../src/server/http/direct.ts";
import { listening, openRuntime } from "../mcp-clients.ts";
import { testInCI } from "../../test-in-ci.ts";

const BIG = "x".repeat(400_000);

/** A client that sends one request and reads nothing until it is told to; then everything until the end of the answer. */
function silentClient(port: number, request: string): { readonly read: () => Promise<string> } {
  const socket: Socket = connect(port, "127.0.0.1", () => socket.write(request));
  socket.pause();
  onTestFinished(() => void socket.destroy());
  const read = (): Promise<string> => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    let text = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      if (text.endsWith("\r\n0\r\n\r\n")) resolve(text); // the last piece
    });
    socket.on("close", () => reject(new Error("the answer was cut"))).on("error", reject);
    socket.resume();
    return promise;
  };
  return { read };
}

testInCI("issue 19.3 for a client that does not read, updates replace one another, and the last event still arrives", async () => {
  const { promise, resolve } = Promise.withResolvers<ServerResponse>();
  const server = createServer((_incoming, outgoing) => resolve(outgoing));
  await new Promise<void>((listens) => server.listen(0, "127.0.0.1", listens));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const client = silentClient(port, "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
  const outgoing = await promise;
  const reply = new NodeReply(outgoing, { clock: systemPorts.clock });
  let most = 0;
  for (let step = 1; step <= 200; step++) {
    reply.sendNotification(`step ${step} ${BIG}`);
    most = Math.max(most, outgoing.writableLength);
    if (step % 10 === 0) await new Promise((go) => setImmediate(go)); // the system takes what it can
  }
  expect(most).toBeLessThan(3 * BIG.length); // of 80 million
  reply.sendEvent("the result");
  reply.end(200);
  const text = await client.read();
  const steps = [...text.matchAll(/step (\d+)/gu)].map(([, step]) => Number(step));
  expect([text.includes("data: the result"), steps[0], steps.length < 100]).toEqual([true, 1, true]);
  expect(steps.toSorted((one, other) => one - other)).toEqual(steps);
});

test("issue 19.3 a client that resumes reading gets the latest progress at once", async () => {
  const { promise, resolve } = Promise.withResolvers<ServerResponse>();
  const server = createServer((_incoming, outgoing) => resolve(outgoing));
  await new Promise<void>((listens) => server.listen(0, "127.0.0.1", listens));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const client = silentClient(port, "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
  const outgoing = await promise;
  const reply = new NodeReply(outgoing, { clock: systemPorts.clock });
  for (let step = 1; step <= 100; step++) reply.sendNotification(`step ${step} ${BIG}`);
  const text = client.read();
  await new Promise<void>((drained) => outgoing.once("drain", drained));
  reply.end(200);
  const steps = [...(await text).matchAll(/step (\d+)/gu)].map(([, step]) => Number(step));
  expect([steps.at(-1), steps.length < 50]).toEqual([100, true]);
});

test("issue 19.3 progress for a client that does not read uses bounded memory, and the result arrives later", async () => {
  const ended = Promise.withResolvers<void>();
  const talks = defineTool({
    name: "talks",
    description: "Tells much.",
    inputSchema: { type: "object" },
    effects: pure,
    async execute(_input: object, { progress }) {
      for (let done = 1; done <= 90; done++) progress({ done, message: `step ${done} ${BIG}` });
      setImmediate(ended.resolve);
      return "done";
    },
  });
  const { runtime } = await openRuntime({ tools: [talks] });
  const { port } = await listening(runtime);
  const prefix = "io.modelcontextprotocol/";
  const meta = {
    progressToken: 1,
    [`${prefix}protocolVersion`]: "2026-07-28",
    [`${prefix}clientInfo`]: { name: "c", version: "1" },
    [`${prefix}clientCapabilities`]: {},
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "talks", arguments: {}, _meta: meta } });
  const lines = [
    "POST /mcp HTTP/1.1",
    "host: 127.0.0.1",
    "connection: close",
    "content-type: application/json",
    "accept: application/json, text/event-stream",
    "mcp-protocol-version: 2026-07-28",
    "mcp-method: tools/call",
    "mcp-name: talks",
    `content-length: ${body.length}`,
  ];
  const client = silentClient(port, `${lines.join("\r\n")}\r\n\r\n${body}`);
  await ended.promise;
  const text = await client.read();
  expect(text).toContain('"text":"done"');
  expect(text.length).toBeLessThan(90 * BIG.length * 0.75); // the system's own buffers take some
});
