/** `error.type` of calls: the code of Haft, or the one that a server answered with. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { Toolset } from "../../src/core/toolset.ts";
import { ToolError } from "../../src/core/error.ts";
import { mcpEngine } from "../../src/engine/mcp.ts";
import { restEngine } from "../../src/engine/rest.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { telemetry } from "../../src/telemetry/telemetry.ts";
import { HttpTemplateEngine, readHttpTemplate } from "../../src/toolsets/templates/http-tools.ts";
import { legacy, loopbackMcp, reply, text, type Asked } from "../engine/mcp/loopback-mcp.ts";
import { ONE_GET } from "../engine/rest/open-engine.ts";
import { untraced } from "./untraced.ts";
import { withTelemetry } from "./with-telemetry.ts";

type Attributes = Readonly<Record<string, unknown>>;

const FAILURE = /^(?:error\.type|haft\.error\.code|\w+\.response\.status_code)$/u;
const DURATIONS = ["gen_ai.execute_tool.duration", "mcp.client.operation.duration"];

function failureOf(attributes: Attributes = {}): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => FAILURE.test(name)));
}

/** The failure of one call of the first tool, on its span, in its events and in its durations. */
async function failed(toolset: Toolset): Promise<{ readonly span: Attributes; readonly retries: unknown; readonly durations: unknown }> {
  const { spans, points } = await withTelemetry(async () => {
    const runtime = createRuntime({ toolsets: [toolset], approval: { never: ["*"] }, retry: { delayMs: 1 }, maxAttempts: 2 });
    await runtime.open();
    telemetry(runtime);
    const [tool] = runtime.registry.list().filter((each) => each.toolset.name === toolset.name);
    expect((await runtime.execute({ name: tool?.qualifiedName ?? "", input: {} })).status).toBe("error");
    await runtime.close();
  });
  const durations = points.filter(({ metric }) => DURATIONS.includes(metric));
  const retries = points.filter(({ metric }) => metric === "haft.call.retries").map(({ attributes }) => attributes["error.type"]);
  const ofEvents = spans[0]?.events.filter(({ name }) => name === "haft.retry").map(({ attributes }) => attributes["error.type"]);
  expect(ofEvents).toEqual(retries);
  return {
    span: failureOf(spans[0]?.attributes),
    retries,
    durations: Object.fromEntries(durations.map(({ metric, attributes }) => [metric, failureOf(attributes)])),
  };
}

async function mcpToolset(answer: (asked: Asked) => ReturnType<typeof text> | undefined): Promise<Toolset> {
  const { url } = await loopbackMcp({ ...legacy(), "tools/call": answer });
  return { name: "out", engine: mcpEngine({ url }) };
}

test("a tool of an MCP server that reports a failure is a tool_error", async () => {
  expect(await failed(await mcpToolset(() => ({ ...text("It is away."), isError: true })))).toEqual({
    span: { "error.type": "tool_error", "haft.error.code": "execution_failed" },
    retries: [],
    durations: {
      "gen_ai.execute_tool.duration": { "error.type": "tool_error" },
      "mcp.client.operation.duration": { "error.type": "tool_error" },
    },
  });
});

test.each([
  ["invalid_input", -32_602],
  ["execution_failed", 4_711],
])("a JSON-RPC error that Haft calls %s has its code", async (code, rpcCode) => {
  const refused = await mcpToolset(({ id, response }) => {
    reply(response, { id: id as number, error: { code: rpcCode, message: "No." } });
    return undefined;
  });
  const failure = { "error.type": String(rpcCode), "rpc.response.status_code": String(rpcCode) };
  expect(await failed(refused)).toEqual({
    span: { ...failure, "haft.error.code": code },
    retries: [],
    durations: {
      "gen_ai.execute_tool.duration": { "error.type": String(rpcCode) },
      "mcp.client.operation.duration": failure,
    },
  });
});

test("JSON-RPC errors with ever new codes create a limited number of time series", async () => {
  let code = 0;
  const toolset = await mcpToolset(({ id, response }) => {
    reply(response, { id: id as number, error: { code: ++code, message: "No." } });
    return undefined;
  });
  const { points } = await withTelemetry(async () => {
    const runtime = createRuntime({ toolsets: [toolset], approval: { never: ["*"] }, maxAttempts: 1, circuit: false });
    await runtime.open();
    telemetry(runtime);
    for (let call = 0; call < 120; call++) await runtime.execute({ name: "out::echo", input: {} });
    await runtime.close();
  });
  for (const duration of DURATIONS) {
    const types = points.filter(({ metric }) => metric === duration).map(({ attributes, count }) => [attributes["error.type"], count]);
    expect(types).toEqual([...Array.from({ length: 100 }, (_, at) => [String(at + 1), 1]), ["_OTHER", 20]]);
  }
});

test("an MCP server that answers an HTTP error has its status", async () => {
  const { span, durations } = await failed(await mcpToolset(({ response }) => void response.writeHead(502).end("Bad gateway")));
  expect(span).toEqual({ "error.type": "502", "http.response.status_code": 502, "haft.error.code": "network_error" });
  expect(durations).toMatchObject({ "mcp.client.operation.duration": { "error.type": "502" } });
});

test("an answer of an MCP server that cannot be read has the code of Haft", async () => {
  const { span } = await failed(
    await mcpToolset(({ response }) => void response.writeHead(200, { "content-type": "application/json" }).end("{")),
  );
  expect(span).toEqual({ "error.type": "invalid_output", "haft.error.code": "invalid_output" });
});

/** A server that answers every request with a status. */
async function refusing(status: number): Promise<string> {
  const server = createServer((_request, response) => void response.writeHead(status).end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const WAYS: readonly (readonly [string, (baseUrl: string) => Toolset])[] = [
  ["REST toolset", (baseUrl) => ({ name: "out", engine: restEngine({ document: ONE_GET, baseUrl }) })],
  [
    "HTTP template",
    (baseUrl) => {
      const tool = { name: "look", description: "Looks.", inputSchema: { type: "object" }, effects: { reads: [] } } as const;
      const template = readHttpTemplate({ url: "/look" }, { type: "object" });
      return { name: "out", tools: [tool], engine: new HttpTemplateEngine({ baseUrl, headers: {} }, new Map([["look", template]])) };
    },
  ],
];

test.each(WAYS)("a refused request of a %s has its status, also where it is sent again", async (_title, toolset) => {
  expect(await failed(toolset(await refusing(503)))).toEqual({
    span: { "error.type": "503", "http.response.status_code": 503, "haft.error.code": "network_error" },
    retries: ["503"],
    durations: { "gen_ai.execute_tool.duration": { "error.type": "503" } },
  });
});

const CAUSES: readonly (readonly [string, unknown])[] = [
  ["no cause", undefined],
  ["another error", new Error("It is away.")],
  ["a status that is none", { status: 12 }],
  ["nothing", null],
  [
    "an object that throws",
    new Proxy(
      {},
      {
        get: () => {
          throw new Error("It throws.");
        },
      },
    ),
  ],
];

test.each(CAUSES)("an error of a handler whose cause is %s has its code", async (_title, cause) => {
  const away = defineTool({
    name: "away",
    description: "Fails.",
    inputSchema: { type: "object" },
    execute: () => {
      throw new ToolError("unavailable", "It is away.", { cause, retryable: false });
    },
  });
  expect((await failed({ name: "own", tools: [away] })).span).toEqual({ "error.type": "unavailable", "haft.error.code": "unavailable" });
});

test("a call that ends otherwise than its last attempt has the code of its end", async () => {
  const closed = new ToolError("unavailable", "The hook says so.");
  const { spans } = await withTelemetry(async () => {
    const runtime = createRuntime({
      toolsets: [await mcpToolset(() => ({ ...text("It is away."), isError: true }))],
      approval: { never: ["*"] },
      hooks: [{ name: "close", afterCall: (result) => ({ ...result, status: "error", error: closed.toJSON() }) }],
    });
    await runtime.open();
    telemetry(runtime);
    await runtime.execute({ name: "out::echo", input: {} });
    await runtime.close();
  });
  expect(failureOf(spans[0]?.attributes)).toEqual({ "error.type": "unavailable", "haft.error.code": "unavailable" });
});

test("errors of simulated calls, whose ends are not reported, are not kept", async () => {
  const away = defineTool({
    name: "away",
    description: "Fails.",
    inputSchema: { type: "object" },
    effects: { reads: ["disk"] },
    execute: () => {
      throw new ToolError("unavailable", "It is away.", { retryable: false });
    },
  });
  const runtime = createRuntime({ tools: [away] });
  const [failures, ends]: [string[], string[]] = [[], []];
  runtime.subscribe((event) => void (event.type === "call-end" && ends.push(event.callId)));
  runtime.trace({ ...untraced, failAttempt: (callId) => void failures.push(callId) });
  const session = runtime.session();
  const { results } = await session.simulate([{ name: "away", input: {} }]);
  expect(results.map(({ attempts, status }) => [attempts, status])).toEqual([[1, "error"]]);
  expect(failures).toEqual([]);
  await session.execute({ name: "away", input: {} });
  expect(failures).toEqual(ends);
});
