/** MCP and the API on one port. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createRuntime } from "haft";
import { createServer, staticToken } from "haft/server";
import { expect, onTestFinished, test } from "vitest";
import { raw, rawResponse } from "../mcp-raw.ts";
import { TOKEN, startApi } from "./api-server.ts";

const BOTH = { accept: "application/json, text/event-stream" };
const INITIALIZE = {
  jsonrpc: "2.0",
  id: "init",
  method: "initialize",
  params: { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};

test("issue 19.7 the official MCP client calls a tool at /mcp with the token of the API", async () => {
  const api = await startApi();
  const client = new Client({ name: "test", version: "1" });
  const requestInit = { headers: { authorization: `Bearer ${TOKEN}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${api.url}/mcp`), { requestInit }));
  await client.callTool({ name: "notes__add", arguments: { text: "Buy milk" } });
  await client.close();
  expect(api.added).toEqual(["Buy milk"]);
});

test("issue 19.7 E04 /mcp rejects requests without a token, and pages of other origins", async () => {
  const api = await startApi();
  const body = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  expect((await api.ask("POST", "/mcp", { body, token: null })).status).toBe(401);
  expect((await api.ask("POST", "/mcp", { body, headers: { origin: "http://evil.example" } })).status).toBe(403);
});

const AUTHORIZED = { authorization: `Bearer ${TOKEN}` };

test.each([
  ["calls", { maxConcurrentCalls: 2 }, false],
  ["requests", { maxConcurrentRequests: 2 }, false],
  ["calls of a page", { maxConcurrentCalls: 2 }, true],
])("a principal's limit on concurrent %s also applies at /mcp", async (_, limits, isPage) => {
  const api = await startApi({ limits });
  const headers = { ...AUTHORIZED, ...(isPage ? { origin: api.url } : {}) };
  let refused = 0;
  const sent = Array.from({ length: 6 }, async () => {
    const { status } = await rawResponse(`${api.url}/mcp`, "tools/call", { name: "notes__wait", arguments: {} }, { headers });
    if (status === 429 && ++refused === 4) api.gate.open();
    return status;
  });
  expect((await Promise.all(sent)).sort((one, other) => one - other)).toEqual([200, 200, 429, 429, 429, 429]);
  expect((await raw(`${api.url}/mcp`, "tools/call", { name: "notes__list", arguments: {} }, { headers })).status).toBe(200);
});

test("a caller that exceeds maxSessions at /mcp ends its own oldest sessions, and none of another caller", async () => {
  const runtime = createRuntime();
  const tokens = { a: "a-token-of-the-one-caller", b: "a-token-of-another-caller" };
  const [one, other] = [staticToken({ token: tokens.a, id: "a" }), staticToken({ token: tokens.b, id: "b" })];
  const auth = { authenticate: async (request: Request) => (await one.authenticate(request)) ?? other.authenticate(request) };
  const server = createServer(runtime, { auth, mcp: { maxSessions: 3 } });
  onTestFinished(() => server.close());
  const ask = (token: string, body: object, sessionId?: string) => {
    const headers = { ...BOTH, authorization: `Bearer ${token}`, "content-type": "application/json" };
    const init = { method: "POST", headers: { ...headers, ...(sessionId === undefined ? {} : { "mcp-session-id": sessionId }) } };
    return server.fetch(new Request("http://localhost/mcp", { ...init, body: JSON.stringify(body) }));
  };
  const begun = async (token: string): Promise<string> => (await ask(token, INITIALIZE)).headers.get("mcp-session-id") ?? "";
  const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  const session = await begun(tokens.a);
  const others: string[] = [];
  for (let n = 0; n < 5; n++) others.push(await begun(tokens.b));
  expect((await ask(tokens.a, list, session)).status).toBe(200);
  const statuses = await Promise.all(others.map(async (id) => (await ask(tokens.b, list, id)).status));
  expect(statuses).toEqual([404, 404, 404, 200, 200]);
});

test("each call of a batch at /mcp counts towards the limit, and a listen request counts as a stream", async () => {
  const api = await startApi({ limits: { maxConcurrentCalls: 2, maxStreams: 1 } });
  const begun = await api.ask("POST", "/mcp", { body: INITIALIZE, headers: BOTH });
  const headers = { ...BOTH, "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
  const batch = (count: number) =>
    Array.from({ length: count }, (_, id) => ({
      jsonrpc: "2.0",
      id,
      method: "tools/call",
      params: { name: "notes__list", arguments: {} },
    }));
  expect((await api.ask("POST", "/mcp", { body: batch(3), headers })).status).toBe(413);
  expect((await api.ask("POST", "/mcp", { body: batch(2), headers })).status).toBe(200);

  const listen = (signal: AbortSignal) =>
    rawResponse(`${api.url}/mcp`, "subscriptions/listen", { notifications: { toolsListChanged: true } }, { headers: AUTHORIZED, signal });
  const stop = new AbortController();
  expect((await listen(stop.signal)).status).toBe(200);
  expect((await listen(stop.signal)).status).toBe(429);
  expect((await api.ask("GET", "/mcp", { headers: { ...headers, accept: "text/event-stream" } })).status).toBe(429);
  stop.abort();
  await expect.poll(async () => (await listen(new AbortController().signal)).status).toBe(200);
});

test("a call whose client has disconnected counts at /mcp until it has ended", async () => {
  const api = await startApi({ limits: { maxConcurrentCalls: 1 } });
  const begun = await api.ask("POST", "/mcp", { body: INITIALIZE, headers: BOTH });
  const headers = { ...BOTH, "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
  const call = (id: number, name: string) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: {} } });
  const leave = new AbortController();
  await fetch(`${api.url}/mcp`, {
    method: "POST",
    headers: { ...headers, ...AUTHORIZED, "content-type": "application/json" },
    body: JSON.stringify(call(1, "notes__wait")),
    signal: leave.signal,
  });
  await api.gate.entered.promise;
  leave.abort();
  const execute = async () => (await api.ask("POST", "/v1/execute", { body: { calls: [{ name: "notes::list" }] } })).status;
  for (let n = 0; n < 5; n++)
    expect([await execute(), (await api.ask("POST", "/mcp", { body: call(2 + n, "notes__list"), headers })).status]).toEqual([429, 429]);
  api.gate.open();
  await expect.poll(execute).toBe(200);
});
