/** The durations of requests and sessions of MCP clients that a runtime serves. */
import { expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import { PeerError } from "../../src/engine/mcp/peer.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import { telemetry } from "../../src/telemetry/telemetry.ts";
import { ERAS, listening, overHttp, overStdio } from "../server/mcp-clients.ts";
import type { ReceivedPoint } from "./otlp-receiver.ts";
import { withTelemetry } from "./with-telemetry.ts";

const OBJECT = { type: "object" } as const;
const VERSIONS = { legacy: "2025-11-25", modern: "2026-07-28" } as const;
const HTTP = { "network.transport": "tcp", "network.protocol.name": "http" };
const PIPE = { "network.transport": "pipe" };
const CALL = { "mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool" };

const echo = defineTool({ name: "echo", description: "Answers.", inputSchema: OBJECT, effects: { reads: [] }, execute: () => "hello" });
const away = defineTool({
  name: "away",
  description: "Fails.",
  inputSchema: OBJECT,
  effects: { reads: [] },
  execute: () => {
    throw new ToolError("unavailable", "It is away.", { retryable: false });
  },
});

async function measuredIn(metric: string, work: (runtime: Runtime) => Promise<void>): Promise<readonly ReceivedPoint[]> {
  const { points } = await withTelemetry(async () => {
    const runtime = createRuntime({ tools: [echo, away] });
    telemetry(runtime);
    await work(runtime);
    await runtime.close();
  });
  return points.filter((point) => point.metric === metric);
}

function shown({ attributes, count, unit }: ReceivedPoint): unknown {
  return { attributes, count, unit };
}

const WAYS = ERAS.flatMap((era) => [
  { era, transport: "http", network: HTTP },
  { era, transport: "stdio", network: PIPE },
]);

test.each(WAYS)(
  "requests of a client of the $era era over $transport are measured, each with its error",
  async ({ era, transport, network }) => {
    const points = await measuredIn("mcp.server.operation.duration", async (runtime) => {
      const client =
        transport === "http" ? await overHttp((await listening(runtime)).url, { era }) : (await overStdio(runtime, { era })).client;
      await client.listTools();
      for (const name of ["echo", "echo", "away"]) await client.callTool({ name, arguments: {} });
      for (const name of ["nonsense one", "nonsense two"]) await client.callTool({ name, arguments: {} }).catch(() => {});
      await client.close();
    });
    const common = { "mcp.protocol.version": VERSIONS[era], ...network };
    const refused = { "error.type": "-32602", "rpc.response.status_code": "-32602" };
    expect(points.map(shown)).toEqual([
      { attributes: { "mcp.method.name": "tools/list", ...common }, count: 1, unit: "s" },
      { attributes: { ...CALL, "gen_ai.tool.name": "echo", ...common }, count: 2, unit: "s" },
      { attributes: { ...CALL, "gen_ai.tool.name": "away", "error.type": "tool_error", ...common }, count: 1, unit: "s" },
      { attributes: { ...CALL, "gen_ai.tool.name": "_OTHER", ...refused, ...common }, count: 2, unit: "s" },
    ]);
    expect(points[0]?.bounds).toEqual([0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]);
  },
);

test.each(WAYS)(
  "calls that are refused before they reach their tool are measured ($era, $transport)",
  async ({ era, transport, network }) => {
    const points = await measuredIn("mcp.server.operation.duration", async (runtime) => {
      const client =
        transport === "http" ? await overHttp((await listening(runtime)).url, { era }) : (await overStdio(runtime, { era })).client;
      for (const wrong of [{ arguments: {}, requestState: "forged" }, { arguments: {}, requestState: 5 }, { arguments: 5 }])
        await client.callTool({ name: "echo", ...wrong } as never).catch(() => {});
      await client.close();
    });
    const refused = { "error.type": "-32602", "rpc.response.status_code": "-32602" };
    const common = { "mcp.protocol.version": VERSIONS[era], ...network };
    expect(points.map(shown)).toEqual([
      { attributes: { ...CALL, "gen_ai.tool.name": "echo", ...refused, ...common }, count: 3, unit: "s" },
    ]);
  },
);

test("a request for a prompt has its name, unless there is no such prompt", async () => {
  const provider = {
    listPrompts: async () => ({ prompts: [{ name: "greet" }] }),
    getPrompt: async () => ({ messages: [] }),
  };
  const points = await measuredIn("mcp.server.operation.duration", async (runtime) => {
    const { client } = await overStdio(runtime, { era: "legacy", providers: [provider] });
    await client.getPrompt({ name: "greet" });
    await client.getPrompt({ name: "nonsense" }).catch(() => {});
    await client.close();
  });
  const prompts = points.filter(({ attributes }) => attributes["mcp.method.name"] === "prompts/get");
  expect(prompts.map(({ attributes }) => [attributes["gen_ai.prompt.name"], attributes["error.type"]])).toEqual([
    ["greet", undefined],
    [undefined, "-32602"],
  ]);
});

test("error codes that a server chooses create a limited number of time series", async () => {
  let rpcCode = 0;
  const provider = {
    listPrompts: async () => ({ prompts: [{ name: "greet" }] }),
    getPrompt: () => Promise.reject(new PeerError("execution_failed", "No.", { rpcCode: ++rpcCode, rpcMessage: "No." })),
  };
  const points = await measuredIn("mcp.server.operation.duration", async (runtime) => {
    const { client } = await overStdio(runtime, { era: "legacy", providers: [provider] });
    for (let request = 0; request < 150; request++) await client.getPrompt({ name: "greet" }).catch(() => {});
    await client.close();
  });
  const refused = points.filter(({ attributes }) => attributes["mcp.method.name"] === "prompts/get");
  const shownCodes = refused.map(({ attributes, count }) => [attributes["error.type"], attributes["rpc.response.status_code"], count]);
  expect(shownCodes).toEqual([...Array.from({ length: 100 }, (_, at) => [String(at + 1), String(at + 1), 1]), ["_OTHER", "_OTHER", 50]]);
});

test("a request that its client cancels has not failed", async () => {
  const points = await measuredIn("mcp.server.operation.duration", async (runtime) => {
    const { promise: begun, resolve } = Promise.withResolvers<void>();
    const slow = defineTool({
      name: "slow",
      description: "Waits.",
      inputSchema: OBJECT,
      effects: { reads: [] },
      execute: (_input, { signal }) => {
        resolve();
        return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
      },
    });
    runtime.registry.register(slow);
    const { client } = await overStdio(runtime, { era: "legacy" });
    const cancel = new AbortController();
    const call = client.callTool({ name: "slow", arguments: {} }, { signal: cancel.signal }).catch(() => {});
    await begun;
    cancel.abort();
    await call;
    await client.close();
  });
  expect(points.map(({ attributes }) => [attributes["gen_ai.tool.name"], attributes["error.type"]])).toEqual([["slow", undefined]]);
});

test.each(WAYS)("a session of the $era era over $transport is measured at its end", async ({ era, transport, network }) => {
  const points = await measuredIn("mcp.server.session.duration", async (runtime) => {
    if (transport === "http") {
      const listener = await listening(runtime);
      const client = await overHttp(listener.url, { era });
      await client.listTools();
      await listener.close();
    } else {
      const { client, server } = await overStdio(runtime, { era });
      await client.listTools();
      await client.close();
      await server.closed;
    }
  });
  const isSession = era === "legacy" || transport === "stdio"; // requests of the newer revision over HTTP have no session
  const attributes = { "mcp.protocol.version": VERSIONS[era], ...network };
  expect(points.map(shown)).toEqual(isSession ? [{ attributes, count: 1, unit: "s" }] : []);
});

test("instruments that throw cost no request and no session", async () => {
  let recorded = 0;
  const record = (): never => {
    recorded++;
    throw new Error("It throws.");
  };
  const meter = { createHistogram: () => ({ record }), createCounter: () => ({ add: record }) };
  const runtime = createRuntime({ tools: [echo] });
  telemetry(runtime, { meterProvider: { getMeter: () => meter as never } });
  const { client, server } = await overStdio(runtime, { era: "legacy" });
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain("echo");
  await client.close();
  expect(await server.closed).toBeUndefined();
  expect(recorded).toBe(2);
  await runtime.close();
});

test("a client that never initialized had no session", async () => {
  const points = await measuredIn("mcp.server.session.duration", async (runtime) => {
    const { url } = await listening(runtime);
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    await fetch(url, { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: {} }) });
  });
  expect(points).toEqual([]);
});
