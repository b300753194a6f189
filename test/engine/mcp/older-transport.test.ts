import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { isJsonObject, type JsonObject } from "../../../src/core/base/json.ts";
import { parseJson } from "../../../src/core/base/parse-json.ts";
import { FakeClock } from "../../../src/testing/fake-ports.ts";
import { request, toolContext } from "../engine-contexts.ts";
import { openHttp } from "./loopback-mcp.ts";

interface Answer {
  /** What the request itself is answered with; otherwise the stream has an answer. */
  readonly refusal?: readonly [status: number, body: string];
  readonly said?: JsonObject;
}

interface SseServer {
  readonly url: string;
  readonly calls: readonly number[];
  /** The streams that were opened, in order. */
  readonly streams: readonly ServerResponse[];
}

/** A server with one tool over SSE; `answer` is given the number of the connection that a call came by. */
async function sseServer(answer: (connection: number) => Answer, { isBrief = false, isMute = false } = {}): Promise<SseServer> {
  const calls: number[] = [];
  const streams: ServerResponse[] = [];
  const serve = async (asked: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (asked.method === "GET") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const id = streams.push(response);
      if (isMute && id > 1) response.flushHeaders();
      else response.write(`event: endpoint\ndata: /messages?sessionId=${id}\n\n`);
      return;
    }
    const connection = Number(new URL(asked.url ?? "", "http://x").searchParams.get("sessionId"));
    const message = parseJson(await text(asked));
    const { id, method, params } = isJsonObject(message) ? message : {};
    const say = (said: JsonObject): void => {
      response.writeHead(202).end();
      streams[connection - 1]?.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, ...said })}\n\n`);
    };
    if (method === "initialize") {
      const protocolVersion = isJsonObject(params) ? (params["protocolVersion"] ?? "") : "";
      say({ result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } } });
    } else if (method === "tools/list") say({ result: { tools: [{ name: "pay", inputSchema: { type: "object" } }] } });
    else if (method === "tools/call") {
      calls.push(connection);
      const { refusal, said = {} } = answer(connection);
      if (refusal === undefined) say(said);
      else response.writeHead(refusal[0]).end(refusal[1]);
    } else {
      response.writeHead(202).end();
      if (isBrief && connection > 1 && method === "notifications/initialized") streams[connection - 1]?.end();
    }
  };
  const server = createServer((asked, response) => void serve(asked, response)).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/sse`, calls, streams };
}

test.each([
  ["has a status in its data", { message: "Paid, and no receipt.", data: { status: 404 } }],
  ["reads as the error of a request", { message: "Error POSTing to endpoint (HTTP 404): upstream" }],
  ["is of a session of its own", { message: "The session of the payment is over.", data: { status: 400 } }],
])("an error answer over SSE is not a lost session, even if it %s: the call is sent once", async (_what, error) => {
  const { url, calls } = await sseServer(() => ({ said: { error: { code: -32_000, ...error } } }));
  const { engine } = await openHttp({ url, transport: "sse" });
  await expect(engine.call(request("pay"), toolContext())).rejects.toMatchObject({
    code: "execution_failed",
    outcome: "unknown",
    message: `MCP server "far": ${error.message}`,
  });
  expect(calls).toEqual([1]);
});

test("a message rejected by something in front of an SSE server fails alone, and the connection is kept", async () => {
  const { url, calls } = await sseServer(() => ({ refusal: [404, "<h1>Not found</h1>"] }));
  const { engine } = await openHttp({ url, transport: "sse" });
  for (let call = 0; call < 2; call++)
    await expect(engine.call(request("pay"), toolContext())).rejects.toMatchObject({
      message: 'MCP server "far" answered with HTTP 404.',
    });
  expect(calls).toEqual([1, 1]);
});

test.each([
  [404, "Could not find session"],
  [404, ""],
  [400, "No transport found for sessionId"],
])("an SSE server that lost the session (%i %j) is reconnected, and the call is sent again", async (status, body) => {
  const { url, calls } = await sseServer((connection) =>
    connection === 1 ? { refusal: [status, body] } : { said: { result: { content: [{ type: "text", text: "paid" }] } } },
  );
  const { engine } = await openHttp({ url, transport: "sse" });
  expect(JSON.stringify(await engine.call(request("pay"), toolContext()))).toContain("paid");
  expect(calls).toEqual([1, 2]);
});

test("an SSE server whose streams end as soon as they open is reconnected at increasing intervals", async () => {
  const { url, streams } = await sseServer(() => ({}), { isBrief: true });
  const clock = new FakeClock();
  await openHttp({ url, transport: "sse" }, { clock });
  await clock.advance(60_000);
  streams[0]?.end(); // it has lasted: the server is connected to again at once
  for (const [index, delayMs] of [1_000, 2_000, 4_000].entries()) {
    await expect.poll(() => clock.nextIn).toBe(delayMs);
    expect(streams).toHaveLength(index + 2);
    await clock.advance(delayMs);
  }
});

test("an engine can be closed while it reconnects to an SSE server that does not answer", async () => {
  const { url, streams } = await sseServer(() => ({}), { isMute: true });
  const clock = new FakeClock();
  const { engine } = await openHttp({ url, transport: "sse" }, { clock });
  await clock.advance(60_000);
  streams[0]?.end();
  await expect.poll(() => streams.length).toBe(2);
  await engine.close?.();
  expect(clock.pending).toBe(0);
});
