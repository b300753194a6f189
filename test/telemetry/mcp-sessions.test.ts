/** How long sessions with MCP servers last, and how they end. */
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { mcpEngine, type McpOptions } from "../../src/engine/mcp.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import { telemetry } from "../../src/telemetry/telemetry.ts";
import { legacy, loopbackMcp, modern, text } from "../engine/mcp/loopback-mcp.ts";
import { withTelemetry } from "./with-telemetry.ts";

const STRANGE = fileURLToPath(new URL("../fixtures/strange-server.mjs", import.meta.url));
const PIPE = { "network.transport": "pipe", "mcp.protocol.version": expect.stringMatching(/^20\d\d-/u) };

/** The sessions that were measured while a runtime had an MCP server. */
async function sessionsOf(options: McpOptions, work: (runtime: Runtime) => Promise<unknown>): Promise<readonly unknown[]> {
  const { points } = await withTelemetry(async () => {
    const runtime = createRuntime({ toolsets: [{ name: "out", engine: mcpEngine(options) }], approval: { never: ["*"] }, maxAttempts: 1 });
    telemetry(runtime);
    await runtime.open();
    await work(runtime);
    await runtime.close();
  });
  const sessions = points.filter(({ metric }) => metric === "mcp.client.session.duration");
  for (const { unit, bounds } of sessions) expect([unit, bounds?.length]).toEqual(["s", 14]);
  return sessions.map(({ attributes, count }) => ({ ...attributes, count }));
}

function http(url: string, protocolVersion: string): object {
  const server = { "server.address": "127.0.0.1", "server.port": Number(new URL(url).port) };
  return { "mcp.protocol.version": protocolVersion, "network.transport": "tcp", "network.protocol.name": "http", ...server };
}

test("a session over HTTP is measured when its toolset is closed", async () => {
  const { url } = await loopbackMcp({ ...legacy(), "tools/call": () => text("hello") });
  const sessions = await sessionsOf({ url }, (runtime) => runtime.execute({ name: "out::echo", input: {} }));
  expect(sessions).toEqual([{ ...http(url, "2025-11-25"), count: 1 }]);
});

test("a session that the server forgets ends with an error, and the next one does not", async () => {
  let calls = 0;
  const { url } = await loopbackMcp({
    ...legacy(),
    "tools/call": ({ response }) => (++calls === 1 ? void response.writeHead(404).end() : text("hello")),
  });
  const sessions = await sessionsOf({ url }, async (runtime) => {
    expect((await runtime.execute({ name: "out::echo", input: {} })).status).toBe("ok");
  });
  expect(sessions).toEqual([
    { ...http(url, "2025-11-25"), "error.type": "network_error", count: 1 },
    { ...http(url, "2025-11-25"), count: 1 },
  ]);
});

test("requests of the newer revision over HTTP have no session", async () => {
  const { url } = await loopbackMcp({ ...modern(), "tools/call": () => text("hello") });
  expect(await sessionsOf({ url }, (runtime) => runtime.execute({ name: "out::echo", input: {} }))).toEqual([]);
});

test("a session over stdio is measured when its process is ended", async () => {
  const sessions = await sessionsOf({ command: process.execPath, args: [STRANGE] }, (runtime) => runtime.execute({ name: "out::echo" }));
  expect(sessions).toEqual([{ ...PIPE, count: 1 }]);
});

test("a process that ends by itself ends its session with an error, once", async () => {
  const server = { command: process.execPath, args: [STRANGE, "crash", "1"] };
  const sessions = await sessionsOf(server, (runtime) => runtime.execute({ name: "out::echo", input: {} }));
  expect(sessions).toEqual([{ ...PIPE, "error.type": "network_error", count: 1 }]);
});

test("listeners of a runtime get the end of a session, with its reason", async () => {
  const { url } = await loopbackMcp({ ...legacy(), "tools/call": ({ response }) => void response.writeHead(404).end() });
  const events: unknown[] = [];
  const runtime = createRuntime({ toolsets: [{ name: "out", engine: mcpEngine({ url }) }], approval: { never: ["*"] }, maxAttempts: 1 });
  runtime.subscribe((event) => void (event.type === "toolset-disconnect" && events.push(event)));
  await runtime.open();
  await runtime.execute({ name: "out::echo", input: {} });
  await runtime.close();
  const common = { type: "toolset-disconnect", at: expect.any(Number), toolset: "out", engine: "mcp", durationMs: expect.any(Number) };
  const server = expect.objectContaining({ transport: "http", url, protocolVersion: "2025-11-25" });
  const lost = { code: "network_error", message: 'The connection to MCP server "out" was lost: its session is over.' };
  const ofLost = { ...common, server, error: expect.objectContaining(lost) };
  expect(events).toEqual([ofLost, ofLost]);
});

test("the end of a process is reported when it ends, not when its toolset is closed", async () => {
  const engine = mcpEngine({ command: process.execPath, args: [STRANGE, "crash", "1"] });
  const runtime = createRuntime({ toolsets: [{ name: "out", engine }], approval: { never: ["*"] }, maxAttempts: 1 });
  const ended = Promise.withResolvers<unknown>();
  runtime.subscribe((event) => void (event.type === "toolset-disconnect" && ended.resolve(event.error?.message)));
  await runtime.open();
  await runtime.execute({ name: "out::echo", input: {} });
  expect(await ended.promise).toMatch(/^The connection to MCP server "out" was lost: /u);
  await runtime.close();
});
