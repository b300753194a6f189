/** Plain calls are answered without the SDK's server: what a client gets must be what that would have answered. */
import { request as httpRequest } from "node:http";
import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/core/base/json.ts";
import type { ToolContext } from "../../src/core/context.ts";
import { pure } from "../../src/core/resources/effects.ts";
import { ToolError } from "../../src/core/error.ts";
import { ToolOutput } from "../../src/core/content.ts";
import type { Tool } from "../../src/core/tool.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { staticToken } from "../../src/server/auth/static-token.ts";
import { mcpClientOf, mcpHandler, type McpHttpOptions } from "../../src/server/mcp.ts";
import { MemoryLog } from "../../src/testing/fake-ports.ts";
import { inCI } from "../ci.ts";
import { listening, openRuntime } from "./mcp-clients.ts";
import { eventsOf } from "./mcp-raw.ts";

const PREFIX = "io.modelcontextprotocol/";
const ANY = { type: "object" } as const;
const tool = (name: string, execute: (input: JsonObject, context: ToolContext) => unknown, more: Partial<Tool> = {}): Tool => ({
  ...defineTool({ name, description: name, inputSchema: ANY, effects: pure, execute }),
  ...more,
});

const TOOLS = [
  tool("say", (input) => input),
  tool("text", () => "plain\u2028text"),
  tool("parts", () => new ToolOutput({ content: [{ type: "text", text: "a" }], metadata: { note: 1 } })),
  tool("list", () => [1, 2], { outputSchema: { type: "array" } }),
  tool("fail", () => {
    throw new ToolError("execution_failed", "it broke");
  }),
  tool("steps", (_input, { progress }) => {
    for (const done of [1, 2]) progress({ done, total: 2, message: `step ${done}` });
    return "done";
  }),
  tool("roots", async (_input, context) => (await mcpClientOf(context)?.listRoots()) ?? null),
  tool("ask", async (_input, { ask }) => (await ask({ message: "Which?", schema: ANY })).action),
  defineTool({
    name: "header",
    description: "Repeats an argument in a header.",
    inputSchema: { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } },
    effects: pure,
    execute: ({ region }) => ({ region: String(region) }),
  }),
  tool("slow", () => "a job", { mode: "background" }),
];

interface Sent {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Received {
  readonly status: number;
  readonly type: string;
  readonly messages: readonly unknown[];
}

const NAMES = [...TOOLS.map(({ name }) => name), "nothing", "haft__read_result", "größe"];
const args = fc.oneof(
  fc.constant(undefined),
  fc.dictionary(fc.constantFrom("text", "region", "n"), fc.oneof(fc.string(), fc.integer(), fc.constant(null))),
  fc.constantFrom<JsonValue>(null, [], "x"),
);
const capabilities = fc.constantFrom<JsonValue>(
  {},
  {},
  { elicitation: {} },
  { elicitation: { form: {} }, roots: {} },
  { extensions: { [`${PREFIX}tasks`]: {} } },
  { elicitation: 1 },
  "none",
);
const metaExtras = fc.constantFrom<JsonObject>(
  {},
  {},
  {},
  { progressToken: "p" },
  { progressToken: 7 },
  { progressToken: 1.5 },
  { progressToken: null },
  { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" },
  { traceparent: 4 },
  { other: true },
  { [`${PREFIX}logLevel`]: "debug" },
  { [`${PREFIX}logLevel`]: "loud" },
);

const requests = fc
  .record({
    id: fc.oneof(fc.integer(), fc.string(), fc.constantFrom<JsonValue>(null, 1.5, true)),
    name: fc.constantFrom(...NAMES),
    args,
    capabilities,
    info: fc.constantFrom<JsonValue | undefined>({ name: "c", version: "1" }, { name: "c", version: "1" }, undefined, {}, { name: 3 }),
    version: fc.constantFrom<JsonValue>("2026-07-28", "2026-07-28", "2026-07-28", "2025-11-25", "2027-01-01", 4),
    metaExtras,
    params: fc.constantFrom<JsonObject>({}, {}, {}, {}, { task: {} }, { requestState: "forged" }, { inputResponses: {} }, { more: 1 }),
    message: fc.constantFrom<JsonObject>({}, {}, {}, {}, { extra: 1 }, { jsonrpc: "1.0" }, { method: "ping" }, { method: "tools/list" }),
    header: fc.constantFrom<Readonly<Record<string, string>>>(
      {},
      {},
      {},
      { "mcp-name": "other" },
      { "mcp-name": "=?base64?c2F5?=" },
      { "mcp-name": "" },
      { "mcp-method": "tools/list" },
      { "mcp-method": "" },
      { "mcp-protocol-version": "2025-11-25" },
      { "mcp-protocol-version": "" },
      { "mcp-param-region": "north" },
    ),
  })
  .map((made): Sent => {
    const meta = {
      [`${PREFIX}protocolVersion`]: made.version,
      ...(made.info === undefined ? {} : { [`${PREFIX}clientInfo`]: made.info }),
      [`${PREFIX}clientCapabilities`]: made.capabilities,
      ...made.metaExtras,
    };
    const params = { name: made.name, ...(made.args === undefined ? {} : { arguments: made.args }), ...made.params, _meta: meta };
    const message = { jsonrpc: "2.0", id: made.id, method: "tools/call", params, ...made.message };
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": made.name === "größe" ? "=?base64?Z3LDtsOfZQ==?=" : made.name,
      ...made.header,
    };
    return { body: JSON.stringify(message), headers: Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== "")) };
  });

/** What is made new for each request is made the same. */
function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value === "string") return value.replaceAll(/\((error|call)[\w-]*\)/gu, "(id)");
  if (!isJsonObject(value)) return value;
  const fresh = new Set(["requestState", "taskId", "createdAt", "lastUpdatedAt"]);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fresh.has(key) ? typeof each : masked(each)]));
}

function received(status: number, type: string, text: string): Received {
  const messages = type.startsWith("text/event-stream") ? eventsOf(text) : text === "" ? [] : [JSON.parse(text)];
  return { status, type, messages: messages.map(masked) };
}

function overPort(port: number, { headers, body }: Sent): Promise<Received> {
  return new Promise((resolve, reject) => {
    const all = { ...headers, "content-length": Buffer.byteLength(body) };
    const outgoing = httpRequest({ host: "127.0.0.1", port, method: "POST", path: "/mcp", headers: all }, (incoming) => {
      let text = "";
      incoming.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      incoming.on("end", () => resolve(received(incoming.statusCode ?? 0, incoming.headers["content-type"] ?? "", text)));
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

async function bothWays(options: McpHttpOptions = {}) {
  const { runtime } = await openRuntime({ tools: TOOLS, circuit: false }); // an open circuit says how long it is still open
  const { port } = await listening(runtime, options);
  const handler = mcpHandler(runtime, { graceMs: 0, ports: { log: new MemoryLog() }, ...options });
  onTestFinished(() => handler.close());
  const bySdk = async ({ headers, body }: Sent): Promise<Received> => {
    const request = new Request("http://127.0.0.1/mcp", { method: "POST", headers: { ...headers, host: "127.0.0.1" }, body });
    const response = await handler(request);
    return received(response.status, response.headers.get("content-type") ?? "", await response.text());
  };
  return { port, bySdk, direct: (sent: Sent) => overPort(port, sent) };
}

test(
  "issue 19.7 a call over a port gets the same response as from the SDK's server, whatever the request",
  { timeout: 120_000 },
  async () => {
    const { bySdk, direct } = await bothWays();
    const property = fc.asyncProperty(requests, async (sent) => {
      expect(await direct(sent)).toEqual(await bySdk(sent));
    });
    await fc.assert(property, { numRuns: inCI ? 600 : 60 });
  },
);

const META = {
  [`${PREFIX}protocolVersion`]: "2026-07-28",
  [`${PREFIX}clientInfo`]: { name: "c", version: "1" },
  [`${PREFIX}clientCapabilities`]: {},
};

function plain(name: string, more: { readonly headers?: Readonly<Record<string, string>>; readonly meta?: JsonObject } = {}): Sent {
  const params = { name, arguments: {}, _meta: { ...META, ...more.meta } };
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": name,
    ...more.headers,
  };
  return { headers, body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }) };
}

/** The status of a request whose body never comes. */
function statusBeforeBody(port: number, headers: Readonly<Record<string, string>>): Promise<unknown> {
  const all = { ...headers, "content-length": 1_000_000 };
  const outgoing = httpRequest({ host: "127.0.0.1", port, method: "POST", path: "/mcp", headers: all });
  onTestFinished(() => void outgoing.destroy());
  outgoing.on("error", () => undefined);
  const status = new Promise((resolve) => outgoing.once("response", ({ statusCode }) => resolve(statusCode)));
  outgoing.flushHeaders();
  return status;
}

test("issue 19.7 a call without its token gets 401, and with it a result", async () => {
  const { port, direct } = await bothWays({ token: "correct-horse-battery" });
  expect(await statusBeforeBody(port, plain("say").headers)).toBe(401);
  expect((await direct(plain("say"))).status).toBe(401);
  const headers = { authorization: "Bearer correct-horse-battery" };
  expect((await direct(plain("say", { headers }))).status).toBe(200);
  expect((await direct(plain("say", { headers: { ...headers, origin: "http://evil.example" } }))).status).toBe(403);
});

test("issue 19.7 a call that is too large gets 413", async () => {
  const { direct } = await bothWays({ maxBodyBytes: 100 });
  expect((await direct(plain("say"))).status).toBe(413);
});

test("issue 19.7 a client that disconnects cancels its call, and a stopping server cancels and answers running calls", async () => {
  const cancelled = vi.fn();
  const waits = tool("waits", (_input, { signal }) => {
    const { promise, reject } = Promise.withResolvers<string>();
    signal.addEventListener("abort", () => (cancelled(), reject(signal.reason)));
    return promise;
  });
  const { runtime } = await openRuntime({ tools: [waits] });
  const listener = await listening(runtime);
  const { headers, body } = plain("waits");
  const outgoing = httpRequest({ host: "127.0.0.1", port: listener.port, method: "POST", path: "/mcp", headers });
  outgoing.on("error", () => undefined);
  outgoing.setHeader("content-length", Buffer.byteLength(body));
  outgoing.end(body);
  await vi.waitFor(() => expect(runtime.running).toHaveLength(1));
  outgoing.destroy();
  await vi.waitFor(() => expect(cancelled).toHaveBeenCalledTimes(1));
  const left = overPort(listener.port, plain("waits")).catch(() => undefined);
  await vi.waitFor(() => expect(runtime.running).toHaveLength(1));
  await listener.close();
  expect(cancelled).toHaveBeenCalledTimes(2);
  expect(await left).toMatchObject({ status: 200, messages: [{ result: { isError: true } }] });
});

test("issue 19.7 E06 an unauthenticated caller gets 401 before the body of the call has arrived", async () => {
  const { runtime } = await openRuntime({ tools: TOOLS });
  const listener = await listening(runtime, { authenticator: staticToken({ token: "0123456789abcdef" }) });
  expect(await statusBeforeBody(listener.port, { ...plain("say").headers, authorization: "Bearer somebody-elses" })).toBe(401);
});
