/** Calls that take long and say nothing: a proxy in front closes a connection on which nothing comes, and the call would be cancelled with it. */
import { expect, onTestFinished, test, vi } from "vitest";
import { pure } from "../../src/core/resources/effects.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { staticToken } from "../../src/server/auth/static-token.ts";
import { createServer } from "../../src/server/create-server.ts";
import { mcpHandler } from "../../src/server/mcp.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import { FakeClock, MemoryLog } from "../../src/testing/fake-ports.ts";
import { listening, openRuntime } from "./mcp-clients.ts";
import { eventsOf } from "./mcp-raw.ts";

const PREFIX = "io.modelcontextprotocol/";
const TOKEN = "0123456789abcdef";
const META = {
  [`${PREFIX}protocolVersion`]: "2026-07-28",
  [`${PREFIX}clientInfo`]: { name: "c", version: "1" },
  [`${PREFIX}clientCapabilities`]: {},
};

type Send = (init: RequestInit) => Promise<Response>;

/** The ways to a server, each of which answers calls by itself. */
const WAYS: Readonly<Record<string, (runtime: Runtime, clock: FakeClock) => Promise<Send>>> = {
  async "the port of listenMcp"(runtime, clock) {
    const { url } = await listening(runtime, { ports: { clock, log: new MemoryLog() } });
    return (init) => fetch(url, init);
  },
  async "the port of a server of the API"(runtime, clock) {
    const ports = { clock, log: new MemoryLog() };
    const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), limits: { graceMs: 0 }, mcp: { ports }, ports });
    onTestFinished(() => server.close());
    const { url } = await server.listen({ port: 0 });
    return (init) => fetch(`${url}/mcp`, init);
  },
  async "the handler of another server"(runtime, clock) {
    const handler = mcpHandler(runtime, { graceMs: 0, ports: { clock, log: new MemoryLog() } });
    onTestFinished(() => handler.close());
    return (init) => handler(new Request("http://127.0.0.1/mcp", init));
  },
};

async function callThatWaits(way: string, headers: Readonly<Record<string, string>>, meta: object = {}) {
  const gate = Promise.withResolvers<string>();
  onTestFinished(() => gate.resolve("left"));
  const waits = defineTool({ name: "waits", description: "Waits.", effects: pure, execute: (_input: object) => gate.promise });
  const { runtime } = await openRuntime({ tools: [waits] });
  const clock = new FakeClock();
  const send = await WAYS[way]?.(runtime, clock);
  const answer = send?.({
    method: "POST",
    headers: {
      host: "127.0.0.1",
      authorization: `Bearer ${TOKEN}`,
      "content-type": "application/json",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "waits",
      ...headers,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 7,
      method: "tools/call",
      params: { name: "waits", arguments: {}, _meta: { ...META, ...meta } },
    }),
  });
  await vi.waitFor(() => expect(runtime.running).toHaveLength(1));
  return { runtime, clock, gate, answer };
}

const RESULT = { jsonrpc: "2.0", id: 7, result: { content: [{ type: "text", text: "done" }] } };
const BOTH = { accept: "application/json, text/event-stream" };

test.each(
  Object.keys(WAYS).flatMap((way) => [
    { way, call: "a plain call", meta: {} },
    { way, call: "a call that asks for log messages", meta: { [`${PREFIX}logLevel`]: "debug" } },
  ]),
)("$call over $way without progress is answered with a stream that is kept alive until its result", async ({ way, meta }) => {
  const { clock, gate, answer } = await callThatWaits(way, BOTH, meta);
  await clock.advance(15_000);
  const response = await answer;
  expect([response?.status, response?.headers.get("content-type"), response?.headers.get("x-accel-buffering")]).toEqual([
    200,
    "text/event-stream",
    "no",
  ]);
  await clock.advance(45_000);
  gate.resolve("done");
  const text = (await response?.text()) ?? "";
  expect(text.match(/^: keepalive$/gmu)?.length).toBeGreaterThanOrEqual(1);
  expect(eventsOf(text)).toMatchObject([RESULT]);
});

test.each(Object.keys(WAYS))(
  "a call over %s is answered with JSON if it ends early, or if the client does not accept streams",
  async (way) => {
    for (const [accept, ms] of [
      [BOTH.accept, 14_000],
      ["application/json", 60_000],
    ] as const) {
      const { clock, gate, answer } = await callThatWaits(way, { accept });
      await clock.advance(ms);
      gate.resolve("done");
      const response = await answer;
      expect(response?.headers.get("content-type")).toBe("application/json");
      expect(await response?.json()).toMatchObject(RESULT);
    }
  },
);

test.each([
  ["a plain call", {}],
  ["a call that asks for log messages", { [`${PREFIX}logLevel`]: "debug" }],
])("%s over the handler of another server is cancelled when its client closes the stream of its late result", async (_call, meta) => {
  for (const keptAliveMs of [0, 45_000]) {
    const { runtime, clock, gate, answer } = await callThatWaits("the handler of another server", BOTH, meta);
    onTestFinished(() => gate.resolve("left")); // before the handler is closed
    await clock.advance(15_000);
    const reader = (await answer)?.body?.getReader();
    await reader?.read();
    const next = keptAliveMs === 0 ? undefined : reader?.read();
    await clock.advance(keptAliveMs);
    await next;
    void reader?.cancel();
    await vi.waitFor(() => expect(runtime.running).toEqual([]));
  }
});
