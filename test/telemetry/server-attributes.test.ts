/** The servers that are asked, and what an agent says of itself, as attributes. */
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { delegateTool } from "../../src/compose/delegate/delegate.ts";
import { createLoop } from "../../src/compose/loop.ts";
import type { Model } from "../../src/core/model.ts";
import { mcpEngine, type McpOptions } from "../../src/engine/mcp.ts";
import { httpModel } from "../../src/model/http-model.ts";
import { meteredModel } from "../../src/model/metered-model.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { textToolsModel } from "../../src/model/text-model.ts";
import { UsageMeter } from "../../src/model/usage-meter.ts";
import { pure } from "../../src/core/resources/effects.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { serverAttributes } from "../../src/telemetry/server-attributes.ts";
import { telemetry } from "../../src/telemetry/telemetry.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import { legacy, loopbackMcp, modern, text, type Answers } from "../engine/mcp/loopback-mcp.ts";
import { withTelemetry } from "./with-telemetry.ts";

test.each([
  ["https://api.openai.com", { "server.address": "api.openai.com", "server.port": 443 }],
  ["http://127.0.0.1", { "server.address": "127.0.0.1", "server.port": 80 }],
  ["http://[::1]:8080", { "server.address": "::1", "server.port": 8080 }],
  ["data:none", {}],
  ["nonsense", {}],
  [undefined, {}],
])("the server attributes of %s", (url, attributes) => {
  expect(serverAttributes(url)).toEqual(attributes);
});

const asked = httpModel({
  format: openAiChat(),
  model: "m",
  baseUrl: "https://models.test:8443/v1?key=none",
  fetch: async () => new Response("{}", { status: 400 }),
});
const MODELS: readonly (readonly [string, Model])[] = [
  ["over HTTP", asked],
  ["that is metered", meteredModel(asked, new UsageMeter())],
  ["with calls in text", textToolsModel(asked, { format: "hermes" })],
];

test.each(MODELS)("a request to a model %s records its server, on the span and in the metrics", async (_of, model) => {
  const { spans, points } = await withTelemetry(async () => {
    const runtime = createRuntime();
    telemetry(runtime);
    await createLoop({ model, session: runtime.session("s") })
      .run("Go")
      .catch(() => {});
    await runtime.close();
  });
  const server = { "server.address": "models.test", "server.port": 8443 };
  expect(spans.find(({ name }) => name.startsWith("chat"))?.attributes).toMatchObject(server);
  expect(points.find(({ metric }) => metric === "gen_ai.client.operation.duration")?.attributes).toMatchObject(server);
});

test("a delegate's description is on its run, and the call around it describes no other agent", async () => {
  const { spans } = await withTelemetry(async () => {
    const model = scriptedModel([{ text: "Done." }, { text: "Done." }]);
    const describe = (name: string): string => `The ${name}, with sk-abcdefghijklmnop1234.`;
    const researcher = delegateTool({ name: "researcher", description: describe("researcher"), model });
    const inner = createRuntime({ agentName: "inner" });
    const around = {
      name: "around",
      description: describe("tool"),
      inputSchema: { type: "object" } as const,
      execute: async () => void (await createLoop({ model, session: inner.session("i") }).run("Go")),
    };
    const runtime = createRuntime({ tools: [researcher, around], approval: { never: ["*"] } });
    telemetry(runtime);
    telemetry(inner);
    for (const call of [
      { name: "researcher", input: { task: "Look." } },
      { name: "around", input: {} },
    ])
      expect((await runtime.execute(call)).status).toBe("ok");
    for (const opened of [runtime, inner]) await opened.close();
  });
  const described = spans.map(({ name, attributes }) => [name, attributes["gen_ai.agent.description"]]);
  expect(Object.fromEntries(described)).toMatchObject({
    "invoke_agent researcher": "The researcher, with [secret].",
    "invoke_agent inner": undefined,
  });
});

async function callOf(options: McpOptions, tool: string): Promise<Readonly<Record<string, unknown>>> {
  const { spans } = await withTelemetry(async () => {
    const runtime = createRuntime({ toolsets: [{ name: "out", engine: mcpEngine(options) }], approval: { never: ["*"] } });
    await runtime.open();
    telemetry(runtime);
    await runtime.execute({ name: `out::${tool}`, input: {} });
    await runtime.close();
  });
  return Object.fromEntries(Object.entries(spans[0]?.attributes ?? {}).filter(([name]) => /^(?:mcp|network|server)\./u.test(name)));
}

test.each<readonly [string, () => Answers]>([
  ["2025-11-25", legacy],
  ["2026-07-28", modern],
])("a call over HTTP of revision %s has MCP's attributes", async (revision, answers) => {
  const { url } = await loopbackMcp({ ...answers(), "tools/call": () => text("hello") });
  expect(await callOf({ url }, "echo")).toEqual({
    "mcp.method.name": "tools/call",
    "mcp.protocol.version": revision,
    "network.transport": "tcp",
    "network.protocol.name": "http",
    "server.address": "127.0.0.1",
    "server.port": Number(new URL(url).port),
  });
});

const STRANGE = fileURLToPath(new URL("../fixtures/strange-server.mjs", import.meta.url));

test("a call over stdio has MCP's attributes without a server", async () => {
  expect(await callOf({ command: process.execPath, args: [STRANGE] }, "echo")).toEqual({
    "mcp.method.name": "tools/call",
    "mcp.protocol.version": expect.stringMatching(/^20\d\d-/u),
    "network.transport": "pipe",
  });
});

test("a call that was not sent has no MCP attributes", async () => {
  const { url } = await loopbackMcp(legacy());
  expect(await callOf({ url }, "missing")).toEqual({});
});

test("each request to an MCP server is measured, with its error if any, and an unsent call is not", async () => {
  let asked = 0;
  const { url } = await loopbackMcp({
    ...legacy(),
    "tools/call": () => (++asked === 1 ? { ...text("It is away."), isError: true } : text("hello")),
  });
  const { points } = await withTelemetry(async () => {
    const engine = mcpEngine({ url });
    const own = defineTool({ name: "own", description: "Has no server.", effects: pure, execute: () => 1 });
    const runtime = createRuntime({ tools: [own], toolsets: [{ name: "out", engine }], approval: { never: ["*"] } });
    await runtime.open();
    telemetry(runtime);
    for (const name of ["out::echo", "out::echo", "out::missing", "own"]) await runtime.execute({ name, input: {} });
    await runtime.close();
  });
  const common = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "out::echo",
    "mcp.method.name": "tools/call",
    "mcp.protocol.version": "2025-11-25",
    "network.transport": "tcp",
    "network.protocol.name": "http",
    "server.address": "127.0.0.1",
    "server.port": Number(new URL(url).port),
  };
  const measured = points.filter(({ metric }) => metric === "mcp.client.operation.duration");
  expect(measured.map(({ attributes, count, unit }) => ({ attributes, count, unit }))).toEqual([
    { attributes: { ...common, "error.type": "tool_error" }, count: 1, unit: "s" },
    { attributes: common, count: 1, unit: "s" },
  ]);
  expect(measured[0]?.bounds).toEqual([0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]);
});

test.each([
  ["that is made to fail before it is sent", { rules: [{ type: "rate_limited", probability: 1, retryable: false }] }],
  ["whose answer is made late", { rules: [{ type: "latency", probability: 1, delayMs: 1 }] }],
])("a call of an MCP server %s is not measured as a request", async (_, faults) => {
  const { url } = await loopbackMcp({ ...legacy(), "tools/call": () => text("hello") });
  const { points } = await withTelemetry(async () => {
    const runtime = createRuntime({ toolsets: [{ name: "out", engine: mcpEngine({ url }) }], approval: { never: ["*"] }, faults });
    await runtime.open();
    telemetry(runtime);
    await runtime.execute({ name: "out::echo", input: {} });
    await runtime.close();
  });
  expect(points.filter(({ metric }) => metric === "mcp.client.operation.duration")).toEqual([]);
});
