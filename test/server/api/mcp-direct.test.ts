/** Plain calls at the MCP door of the API are answered without a `Response`, by the same guards as every other request. */
import { request as httpRequest } from "node:http";
import { createRuntime, defineTool, pure } from "haft";
import { createServer, openServerAccess, staticToken, Keys, type ServerLimits } from "haft/server";
import { expect, onTestFinished, test, vi } from "vitest";
import { ToolError } from "../../../src/core/error.ts";
import { markHeadOnly } from "../../../src/server/auth/principal.ts";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { MemoryLog } from "../../../src/testing/fake-ports.ts";

const TOKEN = "a-token-for-the-tests";

interface Given {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

interface Sending {
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly input?: object;
}

interface Opening {
  readonly limits?: ServerLimits;
  readonly corsOrigins?: readonly string[];
  /** Asked for each request. */
  readonly authenticate?: () => Promise<undefined>;
}

async function open({ limits = {}, corsOrigins = [], authenticate = async () => undefined }: Opening = {}) {
  const gate = Promise.withResolvers<void>();
  const say = defineTool({
    name: "say",
    description: "Says it.",
    inputSchema: { type: "object" },
    effects: pure,
    execute: (input: object) => input,
  });
  const steps = defineTool({
    name: "steps",
    description: "Tells how far it is, and waits.",
    inputSchema: { type: "object" },
    effects: pure,
    async execute(_input: object, { progress, signal }) {
      progress({ done: 1 });
      const aborted = new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true }));
      await Promise.race([gate.promise, aborted]);
      return "done";
    },
  });
  const runtime = createRuntime({ toolsets: [{ name: "t", tools: [say, steps] }] });
  await runtime.open();
  const { access } = memoryStore();
  const log = new MemoryLog();
  const others = [
    markHeadOnly({ authenticate, authenticateHead: authenticate }),
    staticToken({ token: TOKEN, id: "one" }),
    staticToken({ token: "a-token-that-only-reads", id: "reader", scopes: ["read"] }),
  ];
  const auth = await openServerAccess({ access, others, rules: [{ allow: ["t::*"] }] }, { ...systemPorts, log });
  const server = createServer(runtime, { auth, corsOrigins, limits: { graceMs: 0, ...limits }, ports: { log } });
  const { url, port } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    gate.resolve();
    await server.close();
    await runtime.close();
  });
  /** With a declared length, as official clients send it, and what the usual way gives for the same. */
  const direct = (name: string, { token = TOKEN, headers = {}, input = {} }: Sending = {}): Promise<Given> =>
    new Promise((resolve, reject) => {
      const body = bodyOf(name, input);
      const sent = { ...headersOf(name, token), ...headers, "content-length": Buffer.byteLength(body) };
      const outgoing = httpRequest({ host: "127.0.0.1", port, method: "POST", path: "/mcp", headers: sent }, (incoming) => {
        let text = "";
        incoming.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        incoming.on("end", () => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text }));
      });
      outgoing.on("error", reject).end(body);
    });
  const usual = async (name: string, { token = TOKEN, headers = {}, input = {} }: Sending = {}): Promise<Given> => {
    const init = {
      method: "POST",
      headers: { ...headersOf(name, token), ...headers, host: `127.0.0.1:${port}` },
      body: bodyOf(name, input),
    };
    const response = await server.fetch(new Request(`${url}/mcp`, init));
    return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text() };
  };
  const keys = new Keys(access, systemPorts);
  return { direct, usual, runtime, access, keys, auth, gate, url, server };
}

function bodyOf(name: string, input: object): string {
  const prefix = "io.modelcontextprotocol/";
  const meta = {
    [`${prefix}protocolVersion`]: "2026-07-28",
    [`${prefix}clientInfo`]: { name: "c", version: "1" },
    [`${prefix}clientCapabilities`]: {},
  };
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: input, _meta: meta } });
}

function headersOf(name: string, token: string): Record<string, string> {
  return {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    authorization: `Bearer ${token}`,
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": name,
  };
}

/** Those that a connection adds, and the length, by which the direct way is known here. */
const OF_CONNECTION: ReadonlySet<string> = new Set(["date", "connection", "keep-alive", "transfer-encoding", "content-length"]);

function shown({ status, headers, text }: Given): object {
  return {
    status,
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_CONNECTION.has(name))),
    text: JSON.parse(text.replaceAll(/error_[\w-]+/gu, "error_id")),
  };
}

test.each([[[]], [["https://app.example"]]])(
  "issue 19.7 a plain call on the direct path gets the same response as through server.fetch, headers included (pages: %s)",
  async (corsOrigins) => {
    const { direct, usual } = await open({ corsOrigins });
    for (const [name, input] of [
      ["t__say", { text: "a" }],
      ["t__nothing", {}],
    ] as const) {
      const answered = await direct(name, { input });
      expect([name, answered.status, "content-length" in answered.headers]).toEqual([name, 200, true]);
      expect(shown(answered)).toEqual(shown(await usual(name, { input })));
    }
  },
);

test.each<[string, Sending, number]>([
  ["no known token", { token: "a-token-that-is-not-known" }, 401],
  ["a token that may not call", { token: "a-token-that-only-reads" }, 403],
  ["another host", { headers: { host: "evil.example" } }, 403],
  ["a page of another origin", { headers: { origin: "http://evil.example" } }, 403],
  ["another type of body", { headers: { "content-type": "text/plain" } }, 415],
])("issue 19.5 a call with %s on the direct path is refused, and stored at most once", async (_what, sending, status) => {
  const { direct, runtime, access, auth } = await open();
  const refused = await direct("t__say", sending);
  await auth.settled();
  expect([refused.status, runtime.counters.calls]).toEqual([status, 0]);
  const kept = await access.refusals({ limit: 10 });
  expect(kept.length).toBe(status === 415 ? 0 : 1);
});

test("issue 19.5 a call on the direct path counts towards its principal's limits on requests and bytes", async () => {
  const { direct, server } = await open({ limits: { maxRequestsPerMinute: 3 } });
  const statuses = [];
  for (let sent = 0; sent < 4; sent++) statuses.push((await direct("t__say")).status);
  expect(statuses).toEqual([200, 200, 200, 429]);
  const { headers, text } = await direct("t__say");
  expect([Number(headers["retry-after"]) > 0, text]).toEqual([true, expect.stringContaining("3 requests in a minute")]);
  const metrics = await server.fetch(new Request("http://localhost/metrics", { headers: { authorization: `Bearer ${TOKEN}` } }));
  expect(metrics.status).toBe(429); // it is the same principal

  const { direct: large } = await open({ limits: { maxBytesPerMinute: 5_000 } });
  expect((await large("t__say", { input: { text: "x".repeat(3_000) } })).status).toBe(200);
  expect((await large("t__say")).status).toBe(429);
  const { direct: tooLarge } = await open({ limits: { maxBodyBytes: 1_000 } });
  expect((await tooLarge("t__say", { input: { text: "x".repeat(3_000) } })).status).toBe(413);
});

test("issue 19.5 a call on the direct path beyond its principal's limits is rejected before its body has arrived", async () => {
  const { direct, url } = await open({ limits: { maxRequestsPerMinute: 1 } });
  expect((await direct("t__say")).status).toBe(200);
  const status = await new Promise((resolve, reject) => {
    const headers = { ...headersOf("t__say", TOKEN), "content-length": 100_000 };
    const outgoing = httpRequest(`${url}/mcp`, { method: "POST", headers }, (incoming) => {
      resolve(incoming.statusCode);
      outgoing.destroy();
    });
    outgoing.on("error", reject).write("{");
  });
  expect(status).toBe(429);
});

test("issue 19.6 a call on the direct path gets 503 when its sender cannot be authenticated, as through server.fetch", async () => {
  const { direct, usual } = await open({ authenticate: () => Promise.reject(new ToolError("store_failed", "The database is away.")) });
  const answered = await direct("t__say");
  expect(answered.status).toBe(503);
  expect(shown(answered)).toEqual(shown(await usual("t__say")));
});

test("issue 19.5 a call on the direct path is in the metrics, and a session key is rejected", async () => {
  const { direct, server, keys } = await open();
  await direct("t__say");
  const response = await server.fetch(new Request("http://localhost/metrics", { headers: { authorization: `Bearer ${TOKEN}` } }));
  expect(await response.text()).toMatch(/^haft_http_requests_total\{operation="mcp",status="2xx",node="[^"]*"\} 1$/mu);
  const { key } = await keys.addSessionKey({ name: "page", scopes: ["execute"], sessionId: "travel" });
  expect((await direct("t__say", { token: key })).status).toBe(403);
});

test("issue 19.5 a progress stream on the direct path ends when its key is revoked, and its call is cancelled", async () => {
  const { url, keys, runtime } = await open();
  const { key, stored } = await keys.add({ name: "ci", scopes: ["execute"] });
  const body = bodyOf("t__steps", {}).replace('"_meta":{', '"_meta":{"progressToken":1,');
  const response = await fetch(`${url}/mcp`, { method: "POST", headers: headersOf("t__steps", key), body });
  const { headers } = response;
  expect([headers.get("content-type"), headers.get("x-content-type-options")]).toEqual(["text/event-stream", "nosniff"]);
  await vi.waitFor(() => expect(runtime.running).toHaveLength(1));
  await keys.revoke(stored.id);
  const text = await response.text(); // ends
  expect(text).toContain("notifications/progress");
  expect(text).not.toContain('"result"');
  await vi.waitFor(() => expect(runtime.running).toHaveLength(0));
});
