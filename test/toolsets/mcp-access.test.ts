import { expect, test } from "vitest";
import { pure } from "../../src/core/resources/effects.ts";
import { resultText } from "../../src/core/result.ts";
import type { JsonObject } from "../../src/core/base/json.ts";
import { mcpToolset } from "../../src/engine/mcp.ts";
import type { McpProvider } from "../../src/server/mcp.ts";
import { mcpAccessToolset } from "../../src/toolsets/mcp-access.ts";
import type { Runtime, RuntimeOptions } from "../../src/runtime/runtime.ts";
import { listening, openRuntime } from "../server/mcp-clients.ts";

const PAGE = "PGgxPkhlbGxvPC9oMT4=";
const FILES = [
  { uri: "file://image", mimeType: "image/png", blob: "iVBORw0KGgo=" },
  { uri: "file://page as image", mimeType: "image/png", blob: PAGE },
  { uri: "file://empty image", mimeType: "image/png", blob: "" },
  { uri: "file://large image", mimeType: "image/png", blob: `iVBORw0KGgo${"A".repeat(4_800_001)}` },
  { uri: "file://drawing", mimeType: "image/svg+xml", blob: "PHN2Zy8+" },
  { uri: "file://document", mimeType: "application/pdf", blob: "JVBERi0x" },
  { uri: "file://page as document", mimeType: "application/pdf", blob: PAGE },
];

const provider: McpProvider = {
  listResources: async () => ({ resources: [{ uri: "note://a", name: "a" }] }),
  readResource: async ({ uri }) => ({
    contents: [FILES.find((file) => file.uri === uri) ?? { uri: String(uri), mimeType: "text/plain", text: "The note." }],
  }),
  listPrompts: async () => ({ prompts: [{ name: "greet" }] }),
  getPrompt: async ({ name, arguments: args }) => ({
    messages: [{ role: "user", content: { type: "text", text: `${String(name)} ${JSON.stringify(args)}` } }],
  }),
};

async function connected(options: RuntimeOptions = {}): Promise<Runtime> {
  const { runtime: far } = await openRuntime({
    tools: [
      {
        name: "say",
        description: "Says it.",
        effects: pure,
        inputSchema: { type: "object", properties: { text: { type: "string" } } },
        execute: ({ text }: JsonObject) => `said ${String(text)}`,
      },
      {
        name: "break",
        description: "Fails.",
        effects: pure,
        inputSchema: { type: "object" },
        execute: () => {
          throw new Error("No disk.");
        },
      },
    ],
  });
  const { url } = await listening(far, { providers: [provider] });
  const { runtime } = await openRuntime({
    toolsets: [mcpToolset("far", { url, include: ["say", "break"] }), mcpAccessToolset({ runtime: () => runtime })],
    ...options,
  });
  return runtime;
}

async function call(runtime: Runtime, name: string, input: JsonObject = {}) {
  return runtime.execute({ name: `mcp::${name}`, input });
}

test("an MCP server that is down does not keep a model from the others", async () => {
  const near = await connected();
  const { runtime: far } = await openRuntime({ tools: [] });
  const other = await listening(far, { providers: [provider] });
  const { runtime } = await openRuntime({
    toolsets: [
      mcpToolset("broken", { url: "http://127.0.0.1:9/" }),
      mcpToolset("other", { url: other.url }),
      mcpAccessToolset({ runtime: () => near }),
    ],
    maxAttempts: 1,
  });
  const ask = async (server: string) => [
    (await call(runtime, "mcp_read_resource", { server, uri: "note://a" })).status,
    (await call(runtime, "mcp_get_prompt", { server, prompt: "greet" })).status,
  ];
  for (let n = 0; n < 8; n++) expect(await ask("broken")).toEqual(["error", "error"]);
  expect(await ask("other")).toEqual(["ok", "ok"]);
  expect((await call(runtime, "mcp_list", { server: "broken" })).output).toMatchObject({
    tools: [],
    problems: ["It is not connected: its tools, resources and prompts are not known."],
  });
});

test("F1.71 a model can list servers and their contents, call tools, and read resources and prompts", async () => {
  const runtime = await connected();
  expect((await call(runtime, "mcp_list")).output).toEqual([{ server: "far", state: "connected", tools: "2 tools" }]);
  expect((await call(runtime, "mcp_list", { server: "far" })).output).toMatchObject({
    server: "far",
    tools: [{ name: "break" }, { name: "say", description: "Says it.", inputSchema: { properties: { text: { type: "string" } } } }],
    resources: [{ uri: "note://a" }],
    prompts: [{ name: "greet" }],
  });
  expect(await call(runtime, "mcp_call", { server: "far", tool: "say", input: { text: "yes" } })).toMatchObject({
    status: "ok",
    content: [{ text: "said yes" }],
  });
  expect(await call(runtime, "mcp_read_resource", { server: "far", uri: "note://a" })).toMatchObject({
    content: [{ type: "text", text: "The note." }],
  });
  expect((await call(runtime, "mcp_get_prompt", { server: "far", prompt: "greet", arguments: { who: "Ann" } })).output).toMatchObject({
    messages: [{ content: { text: 'greet {"who":"Ann"}' } }],
  });
});

test.each(FILES)("F1.71 the resource $uri is returned as content that providers accept", async ({ uri, mimeType, blob }) => {
  const runtime = await connected();
  const { content } = await call(runtime, "mcp_read_resource", { server: "far", uri });
  const mediaType = uri === "file://page as document" ? "application/octet-stream" : mimeType;
  const file = { type: "file", mediaType, uri: `data:${mediaType};base64,${blob}`, name: uri };
  expect(content).toEqual([uri === "file://image" ? { type: "image", mediaType, data: blob } : file]);
});

test("F1.71 an answer with isError is an error result, and an unknown server name lists the known servers", async () => {
  const runtime = await connected();
  const failed = await call(runtime, "mcp_call", { server: "far", tool: "break" });
  expect(failed).toMatchObject({ status: "error", error: { code: "execution_failed" } });
  expect(resultText(failed)).toContain("No disk.");
  expect(await call(runtime, "mcp_call", { server: "fra", tool: "say" })).toMatchObject({
    status: "error",
    error: { code: "not_found", hint: expect.stringContaining("far") },
  });
  expect(await call(runtime, "mcp_call", { server: "far", tool: "sya" })).toMatchObject({ status: "error", error: { code: "not_found" } });
  expect(await call(runtime, "mcp_read_resource", { server: "far", uri: "note://b" })).toMatchObject({ status: "ok" });
});

test("F1.71 a denied tool is not listed and not called, and a server with all tools denied is not visible", async () => {
  const some = await connected({ permission: { deny: ["far::break"] } });
  expect((await call(some, "mcp_list")).output).toEqual([{ server: "far", state: "connected", tools: "1 tool" }]);
  expect(await call(some, "mcp_call", { server: "far", tool: "break" })).toMatchObject({
    status: "error",
    error: { code: "permission_denied" },
  });
  const none = await connected({ permission: { deny: ["far::*"] } });
  expect((await call(none, "mcp_list")).output).toEqual([]);
  expect(await call(none, "mcp_read_resource", { server: "far", uri: "note://a" })).toMatchObject({ error: { code: "not_found" } });
});

test("F1.71 a server without tools is hidden from callers whose rules would permit none of it, with its resources and prompts", async () => {
  const { runtime: far } = await openRuntime({ tools: [] });
  const { url } = await listening(far, { providers: [provider], tools: { validate: false } });
  const { runtime } = await openRuntime({ toolsets: [mcpToolset("far", { url }), mcpAccessToolset()] });
  const options = { allow: { allow: ["mcp::*"] } };
  const read = { name: "mcp::mcp_read_resource", input: { server: "far", uri: "note://a" } };
  const prompt = { name: "mcp::mcp_get_prompt", input: { server: "far", prompt: "greet" } };
  expect((await runtime.execute({ name: "mcp::mcp_list" }, options)).output).toEqual([]);
  for (const one of [read, prompt]) expect((await runtime.execute(one, options)).error?.code).toBe("not_found");
  expect((await runtime.execute(read, { allow: { allow: ["mcp::*", "far::*"] } })).status).toBe("ok");
  expect((await runtime.execute(read)).status).toBe("ok");
});

test("F1.71 a tool that needs approval also needs it when called through mcp_call", async () => {
  const asked: string[] = [];
  const runtime = await connected({
    approval: {
      always: ["far::say"],
      approve: ({ toolName }) => {
        asked.push(toolName);
        return "deny";
      },
    },
  });
  expect(await call(runtime, "mcp_call", { server: "far", tool: "say", input: { text: "x" } })).toMatchObject({
    error: { code: "approval_denied" },
  });
  expect(asked).toContain("far::say");
});

test("F1.71 a server can be disconnected and connected again by name", async () => {
  const runtime = await connected();
  expect((await call(runtime, "mcp_disconnect", { server: "far" })).output).toEqual({ server: "far", state: "not connected" });
  expect((await call(runtime, "mcp_list", { server: "far" })).output).toMatchObject({
    tools: [{ name: "break" }, { name: "say" }],
    resources: [],
    prompts: [],
    problems: ["It is not connected: its resources and prompts are not known."],
  });
  expect(await call(runtime, "mcp_call", { server: "far", tool: "say" })).toMatchObject({ status: "error" });
  expect((await call(runtime, "mcp_connect", { server: "far" })).output).toMatchObject({
    server: "far",
    state: "connected",
    tools: "2 tools",
  });
});
