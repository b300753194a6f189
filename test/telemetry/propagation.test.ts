import { SpanKind, context, propagation, trace } from "@opentelemetry/api";
import { expect, onTestFinished, test, vi } from "vitest";
import { HttpTemplateEngine, readHttpTemplate } from "../../src/toolsets/templates/http-tools.ts";
import type { Toolset } from "../../src/core/toolset.ts";
import { mcpEngine } from "../../src/engine/mcp.ts";
import { restEngine } from "../../src/engine/rest.ts";
import { createRuntime, type RuntimeOptions } from "../../src/runtime/runtime.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { telemetry } from "../../src/telemetry/telemetry.ts";
import { legacy, loopbackMcp, modern, text } from "../engine/mcp/loopback-mcp.ts";
import { ONE_GET } from "../engine/rest/open-engine.ts";
import { ERAS, listening, overHttp, overStdio } from "../server/mcp-clients.ts";
import { headerServer } from "./header-server.ts";
import { tree, withTelemetry } from "./with-telemetry.ts";

const TRACEPARENT = /^00-[\da-f]{32}-[\da-f]{16}-01$/u;
const SENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

const echo = defineTool({
  name: "echo",
  description: "Says it again.",
  inputSchema: { type: "object" },
  effects: { reads: [] },
  execute: () => "hello",
});

function httpTemplates(baseUrl: string): Toolset {
  const template = readHttpTemplate({ url: "/look" }, { type: "object" });
  const tool = { name: "look", description: "Looks.", inputSchema: { type: "object" } } as const;
  return { name: "out", tools: [tool], engine: new HttpTemplateEngine({ baseUrl, headers: {} }, new Map([["look", template]])) };
}

/** Makes one call of the first tool, traced where `isTraced`; returns the spans. */
async function callOnce(options: RuntimeOptions, isTraced = true): Promise<Awaited<ReturnType<typeof withTelemetry>>> {
  return await withTelemetry(async () => {
    const runtime = createRuntime({ ...options, approval: { never: ["*"] } });
    await runtime.open();
    if (isTraced) telemetry(runtime);
    const [tool] = runtime.registry.list().filter(({ toolset }) => toolset.name === "out");
    const result = await runtime.execute({ name: tool?.qualifiedName ?? "", input: {} });
    expect(result.status).toBe("ok");
    await runtime.close();
  });
}

test("issue 19.8 requests of REST and OpenAPI toolsets continue the trace of their call", async () => {
  const { url, headers } = await headerServer();
  const receiver = await callOnce({ toolsets: [{ name: "out", engine: restEngine({ document: ONE_GET, baseUrl: url }) }] });
  const [span] = receiver.spans;
  expect(headers[0]?.["traceparent"]).toBe(`00-${span?.traceId}-${span?.spanId}-01`);
});

test("issue 19.8 requests of HTTP templates continue the trace of their call", async () => {
  const { url, headers } = await headerServer();
  const receiver = await callOnce({ toolsets: [httpTemplates(url)] });
  const [span] = receiver.spans;
  expect(headers[0]?.["traceparent"]).toBe(`00-${span?.traceId}-${span?.spanId}-01`);
});

test("issue 19.8 without telemetry no header is sent", async () => {
  const { url, headers } = await headerServer();
  await callOnce({ toolsets: [{ name: "out", engine: restEngine({ document: ONE_GET, baseUrl: url }) }] }, false);
  expect(Object.keys(headers[0] ?? {})).not.toContain("traceparent");
});

test.each(["legacy", "modern"] as const)("issue 19.8 calls to %s MCP servers carry the trace in _meta", async (era) => {
  const answers = era === "legacy" ? legacy() : modern();
  const server = await loopbackMcp({ ...answers, "tools/call": () => text("hello") });
  const receiver = await callOnce({ toolsets: [{ name: "out", engine: mcpEngine({ url: server.url }) }] });
  const [span] = receiver.spans;
  const call = server.asked.find(({ method }) => method === "tools/call");
  expect(call?.params["_meta"]).toMatchObject({ traceparent: `00-${span?.traceId}-${span?.spanId}-01` });
  expect(span?.name).toBe("execute_tool out::echo");
});

test.each(ERAS)("issue 19.8 a call over MCP (%s) continues the trace in its _meta, or else that of its HTTP request", async (era) => {
  const receiver = await withTelemetry(async () => {
    const runtime = createRuntime({ tools: [echo] });
    telemetry(runtime);
    const { url } = await listening(runtime);
    const client = await overHttp(url, { era, headers: { traceparent: SENT.replace("b7ad", "0000") } });
    await client.callTool({ name: "echo", arguments: {}, _meta: { traceparent: SENT } });
    await client.callTool({ name: "echo", arguments: {} });
    const local = await overStdio(runtime, { era });
    await local.client.callTool({ name: "echo", arguments: {}, _meta: { traceparent: SENT } });
    await local.client.callTool({ name: "echo", arguments: {}, _meta: { traceparent: "nonsense" } });
    await runtime.close();
  });
  const parents = receiver.spans.map(({ traceId, parentSpanId }) => [traceId.slice(0, 8), parentSpanId]);
  expect(parents).toEqual([
    ["0af76519", "b7ad6b7169203331"],
    ["0af76519", "00006b7169203331"],
    ["0af76519", "b7ad6b7169203331"],
    [expect.any(String), undefined],
  ]);
});

test("issue 19.8 a trace passes through a gateway: client, call, upstream server, its call", async () => {
  const receiver = await withTelemetry(async () => {
    const upstream = createRuntime({ tools: [echo] });
    const gateway = createRuntime();
    telemetry(upstream);
    const { url } = await listening(upstream);
    const front = createRuntime({ toolsets: [{ name: "up", engine: mcpEngine({ url }) }] });
    await front.open();
    telemetry(front);
    await trace.getTracer("client").startActiveSpan("client", async (span) => {
      await front.execute({ name: "up::echo", input: {} });
      span.end();
    });
    for (const runtime of [front, upstream, gateway]) await runtime.close();
  });
  expect(tree(receiver.spans)).toEqual(["client", "  execute_tool up::echo", "    execute_tool echo"]);
});

test.for([
  { of: "its own trace", traceparent: SENT, expected: ["POST", "  execute_tool echo"] },
  { of: "its own trace, of an SDK that tells no kind", traceparent: SENT, kind: undefined, expected: ["POST", "  execute_tool echo"] },
  {
    of: "its own trace, where the span is an internal one",
    traceparent: SENT,
    kind: SpanKind.INTERNAL,
    expected: ["POST", "  execute_tool echo"],
  },
  {
    of: "its own trace, where the span is that of another request",
    traceparent: SENT,
    kind: SpanKind.CLIENT,
    expected: ["POST", "execute_tool echo"],
  },
  { of: "another trace", traceparent: SENT.replace("0af7", "1111"), expected: ["POST", "execute_tool echo"] },
])("a call in a request with an instrumented server's span, with the fields of $of", async ({ traceparent, expected, ...given }) => {
  const receiver = await withTelemetry(async () => {
    const runtime = createRuntime({ tools: [echo] });
    telemetry(runtime);
    const parent = propagation.extract(context.active(), { traceparent: SENT });
    await trace.getTracer("http").startActiveSpan("POST", { kind: SpanKind.SERVER }, parent, async (span) => {
      if ("kind" in given) Object.defineProperty(span, "kind", { value: given.kind });
      const read = (name: string): string | undefined => (name === "traceparent" ? traceparent : undefined);
      await runtime.tracing?.continueTrace(read, () => runtime.execute({ name: "echo", input: {} }));
      span.end();
    });
    await runtime.close();
  });
  expect(tree(receiver.spans)).toEqual(expected);
});

/** A span of the program, below the one that is active or `parent`. */
async function within<T>(name: string, kind: SpanKind, work: () => Promise<T>, parent = context.active()): Promise<T> {
  return await trace.getTracer("program").startActiveSpan(name, { kind }, parent, async (span) => await work().finally(() => span.end()));
}

test("a call is the child of a web framework's span inside that of the request", async () => {
  const receiver = await withTelemetry(async () => {
    const runtime = createRuntime({ tools: [echo] });
    telemetry(runtime);
    const read = (name: string): string | undefined => (name === "traceparent" ? SENT : undefined);
    const execute = async (): Promise<unknown> =>
      await runtime.tracing?.continueTrace(read, () => runtime.execute({ name: "echo", input: {} }));
    const handle = (): Promise<unknown> => within("request handler", SpanKind.INTERNAL, execute);
    await within("GET /x", SpanKind.SERVER, handle, propagation.extract(context.active(), { traceparent: SENT }));
    await runtime.close();
  });
  expect(tree(receiver.spans)).toEqual(["GET /x", "  request handler", "    execute_tool echo"]);
});

test("a call is the child of its client's span if client and server share a span of the program", async () => {
  const receiver = await withTelemetry(async () => {
    const runtime = createRuntime({ tools: [echo] });
    telemetry(runtime);
    const carrier: Record<string, string> = {};
    await within("program", SpanKind.INTERNAL, async () => {
      await within("client", SpanKind.CLIENT, async () => propagation.inject(context.active(), carrier));
      await runtime.tracing?.continueTrace(
        (name) => carrier[name],
        () => runtime.execute({ name: "echo", input: {} }),
      );
    });
    await runtime.close();
  });
  expect(tree(receiver.spans)).toEqual(["program", "  client", "    execute_tool echo"]);
});

test("the trace of a call is injected while it is active, because some propagators only inject the active one", async () => {
  const active: boolean[] = [];
  const receiver = await withTelemetry(async () => {
    const inject = vi.spyOn(propagation, "inject").mockImplementation((given) => void active.push(given === context.active()));
    onTestFinished(() => inject.mockRestore());
    const runtime = createRuntime({ tools: [echo] });
    telemetry(runtime);
    runtime.subscribe((event) => void (event.type === "call-attempt" && runtime.tracing?.headersOf(event.callId)));
    await runtime.execute({ name: "echo", input: {} });
    await runtime.close();
  });
  expect(receiver.spans).toHaveLength(1);
  expect(new Set(active)).toEqual(new Set([true]));
});

test("issue 19.8 a handler can read the trace headers for its own requests", async () => {
  let headers: Readonly<Record<string, string>> | undefined;
  await withTelemetry(async () => {
    const tool = defineTool({
      name: "fetch",
      description: "Asks a service.",
      inputSchema: { type: "object" },
      execute: (_input, { traceHeaders }) => {
        headers = traceHeaders;
        return 1;
      },
    });
    const runtime = createRuntime({ tools: [tool] });
    telemetry(runtime);
    await runtime.execute({ name: "fetch", input: {} });
    await runtime.close();
  });
  expect(headers).toEqual({ traceparent: expect.stringMatching(TRACEPARENT) });
});
