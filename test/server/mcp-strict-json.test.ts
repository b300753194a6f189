/** Everything that leaves a server of MCP can be read by clients that refuse half a surrogate pair, and wait for ever for the answer that they could not read. */
import { PassThrough } from "node:stream";
import { expect, onTestFinished, test, vi } from "vitest";
import type { JsonObject } from "../../src/core/base/json.ts";
import { pure } from "../../src/core/resources/effects.ts";
import { ToolError } from "../../src/core/error.ts";
import { ToolOutput } from "../../src/index.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import { listenMcp, serveMcpStdio } from "../../src/server/mcp.ts";
import { MemoryLog } from "../../src/testing/fake-ports.ts";
import { openRuntime } from "./mcp-clients.ts";
import { rawSession } from "./mcp-raw-session.ts";
import { rawResponse, TASKS, type RawOptions } from "./mcp-raw.ts";

const HALF = "half \ud800";
const SEEN = String.raw`half \ufffd`;
/** An escape of half a pair, whose backslash is no escaped one: that is JSON within a text. */
const LEFT = /(?<!\\)(?:\\\\)*\\ud[89a-f]/u;

async function opened(): Promise<Runtime> {
  const shared = { description: HALF, effects: pure, title: HALF };
  const tools = [
    defineTool({
      ...shared,
      name: "tells",
      execute: (_, context) => {
        context.progress({ done: 1, total: 2, message: HALF });
        context.log(HALF, { [HALF]: HALF });
        return new ToolOutput({ content: [{ type: "text", text: HALF }], output: { [HALF]: HALF }, metadata: { [HALF]: HALF } });
      },
    }),
    defineTool({ ...shared, name: "fails", execute: () => Promise.reject(new ToolError("execution_failed", HALF, { details: [HALF] })) }),
    defineTool({
      ...shared,
      name: "asks",
      mode: "background",
      execute: async (_, context) => (await context.ask({ message: HALF, schema: { type: "object", properties: {} } })).action,
    }),
  ];
  return (await openRuntime({ tools })).runtime;
}

const META = { progressToken: HALF };
const REQUESTS: readonly (readonly [method: string, params: JsonObject])[] = [
  ["tools/list", {}],
  ["tools/call", { name: "tells", arguments: {}, _meta: META }],
  ["tools/call", { name: "fails", arguments: {}, _meta: META }],
  ["tools/call", { name: HALF, arguments: {}, _meta: META }],
  ["resources/read", { uri: `a:${HALF}` }],
  ["prompts/get", { name: HALF }],
  ["completion/complete", { ref: { type: "ref/prompt", name: HALF }, argument: { name: "a", value: "" } }],
  [HALF, {}],
];

test.each(["2025-06-18", "2025-11-25"])("no message over stdio (revision %s) has a lone surrogate", async (protocolVersion) => {
  const runtime = await opened();
  const [input, output] = [new PassThrough(), new PassThrough()];
  const server = await serveMcpStdio(runtime, { ports: { log: new MemoryLog() }, input, output });
  onTestFinished(() => server.close());
  let got = "";
  output.on("data", (chunk: Buffer) => void (got += chunk.toString()));
  const send = (message: object): void => void input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const params = { protocolVersion, capabilities: { elicitation: {} }, clientInfo: { name: HALF, version: "1" } };
  send({ id: HALF, method: "initialize", params });
  send({ method: "notifications/initialized" });
  send({ id: "level", method: "logging/setLevel", params: { level: "debug" } });
  for (const [at, [method, params]] of REQUESTS.entries()) send({ id: `${HALF} ${at}`, method, params });
  await vi.waitFor(() => expect(got.split("\n").filter((line) => line.includes('"id"'))).toHaveLength(REQUESTS.length + 2), {
    timeout: 10_000,
  });
  send({ id: "asks", method: "tools/call", params: { name: "asks", arguments: {} } });
  await vi.waitFor(() => expect(got).toContain("elicitation/create"), { timeout: 10_000 });
  expect(got).not.toMatch(LEFT);
  for (const method of ["notifications/progress", "elicitation/create"]) expect(lineOf(got, method)).toContain(SEEN);
});

function lineOf(text: string, part: string): string | undefined {
  return text.split("\n").find((line) => line.includes(part));
}

test("no message over HTTP (revision 2026-07-28) has a lone surrogate", async () => {
  const listener = await listenMcp(await opened(), { port: 0, tasks: {} });
  onTestFinished(() => listener.close());
  const ask = async (method: string, params: JsonObject, options: RawOptions = {}): Promise<string> =>
    (await rawResponse(listener.url, method, params, options)).text();
  const texts = [await ask("tools/list", {})];
  for (const name of ["tells", "fails"])
    for (const headers of [{}, { accept: "application/json" }])
      texts.push(await ask("tools/call", { name, arguments: {} }, { progressToken: HALF, headers }));
  const able = { capabilities: { elicitation: {} } };
  texts.push(await ask("tools/call", { name: "asks", arguments: {} }, able));
  const withTasks = { capabilities: { ...TASKS, elicitation: {} } };
  const task = await ask("tools/call", { name: "asks", arguments: {} }, withTasks);
  const taskId = String(/"taskId":"([^"]+)"/u.exec(task)?.[1]);
  await vi.waitFor(async () => expect(await ask("tasks/get", { taskId }, withTasks)).toContain("inputRequests"), { timeout: 10_000 });
  texts.push(await ask("tasks/get", { taskId }, withTasks));
  for (const text of texts) expect(text).not.toMatch(LEFT);
  expect(texts.filter((text) => !text.includes("ufffd"))).toEqual([]);
});

test("no message over HTTP (revision 2025-11-25) has a lone surrogate", async () => {
  const listener = await listenMcp(await opened(), { port: 0 });
  onTestFinished(() => listener.close());
  const session = await rawSession(listener.url, "2025-11-25", { elicitation: {} });
  for (const [at, [method, params]] of REQUESTS.entries()) {
    const text = await (await session.post({ jsonrpc: "2.0", id: `${HALF} ${at}`, method, params })).text();
    expect(text).not.toMatch(LEFT);
    expect(text).toContain(SEEN);
  }
});
