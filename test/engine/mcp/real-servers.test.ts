import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { isJsonObject } from "../../../src/core/base/json.ts";
import { resultText } from "../../../src/core/result.ts";
import { mcpEngine } from "../../../src/engine/mcp.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { MemoryLog } from "../../../src/testing/fake-ports.ts";
import { gone, openReference, rejection } from "../mcp-engine.ts";
import { request, toolContext } from "../engine-contexts.ts";
import { openHttp } from "./loopback-mcp.ts";
import { IN_CI, inCI } from "../../ci.ts";
import { testInCI } from "../../test-in-ci.ts";

const script = (server: string): string =>
  fileURLToPath(new URL(`../../../node_modules/@modelcontextprotocol/server-${server}/dist/index.js`, import.meta.url));
const STRANGE = fileURLToPath(new URL("../../fixtures/strange-server.mjs", import.meta.url));
const LOOPBACK = fileURLToPath(new URL("../../conformance/loopback-only.mjs", import.meta.url));

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** The everything server over HTTP, once it listens. */
async function everythingOver(transport: "sse" | "streamableHttp"): Promise<{ readonly origin: string; kill(): void }> {
  const port = await freePort();
  const child = spawn(process.execPath, ["--import", LOOPBACK, script("everything"), transport], {
    env: { PATH: process.env["PATH"], PORT: String(port) },
    stdio: "ignore",
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const origin = `http://127.0.0.1:${port}`;
  await vi.waitFor(async () => expect((await fetch(origin)).status).toBeGreaterThan(0), { timeout: 60_000, interval: 50 });
  return { origin, kill: () => void child.kill("SIGKILL") };
}

test.each([
  ["streamableHttp", "/mcp", "http"],
  ["sse", "/sse", "sse"],
] as const)("F0.18 F4.34 F4.15 the everything server over %s is opened, called and closed", async (transport, path, kind) => {
  const { origin } = await everythingOver(transport);

  const { engine, tools } = await openHttp({ url: origin + path });
  const answer = await engine.call(request("get-sum", { a: 2, b: 3 }), toolContext());
  await engine.close?.();

  expect(tools.find((tool) => tool.name === "get-sum")?.metadata?.["server"]).toMatchObject({ transport: kind, url: origin + path });
  expect(JSON.stringify(answer)).toContain("The sum of 2 and 3 is 5.");
});

const USUAL_PATHS = [
  ["streamableHttp", "auto", "/mcp", "http"],
  ["streamableHttp", "http", "/mcp", "http"],
  ["sse", "auto", "/sse", "sse"],
  ["sse", "sse", "/sse", "sse"],
] as const;

test.skipIf(!inCI).each(USUAL_PATHS.filter(([, transport]) => inCI || transport === "auto"))(
  `F0.18 F0.56 the everything server over %s is found at its usual path from a URL without a path, transport %s ${IN_CI}`,
  async (kindOfServer, transport, path, kind) => {
    const { origin } = await everythingOver(kindOfServer);

    const { engine, tools } = await openHttp({ url: origin, transport });
    const answer = await engine.call(request("get-sum", { a: 2, b: 3 }), toolContext());

    expect(tools[0]?.metadata?.["server"]).toMatchObject({ transport: kind, url: origin + path });
    expect(JSON.stringify(answer)).toContain("The sum of 2 and 3 is 5.");
  },
);

testInCI("for a URL with a path, a server of the older transport is not searched at other paths", async () => {
  const { origin } = await everythingOver("sse");

  expect(await rejection(openHttp({ url: `${origin}/wrong` }))).toMatchObject({
    message: `MCP server "far" could not be opened: there is no MCP server at ${origin}/wrong (HTTP 404).`,
    operatorHint: "Look at the path of the url: many servers are at /mcp, or at /sse with the older transport.",
  });
});

testInCI("a URL without a path and without a server is reported with the paths that were tried", async () => {
  const { origin } = await everythingOver("sse");

  expect(await rejection(openHttp({ url: origin, transport: "http" }))).toMatchObject({
    message: `MCP server "far" could not be opened: there is no MCP server at ${origin}/ (HTTP 404).`,
    operatorHint: "The url has no path, and there is no server at /, /mcp; write the path of the server.",
  });
});

test.skipIf(!inCI).each([
  ["streamableHttp", "/mcp"],
  ["sse", "/sse"],
] as const)(`F4.27 a server that is killed during a call over %s gives an error that names it ${IN_CI}`, async (transport, path) => {
  const { origin, kill } = await everythingOver(transport);
  const { engine } = await openHttp({ url: origin + path });
  const context = toolContext({ progress: () => kill() });

  const call = engine.call(request("trigger-long-running-operation", { duration: 60, steps: 1_000 }), context);

  await expect(call).rejects.toMatchObject({
    code: "network_error",
    outcome: "unknown",
    message: expect.stringContaining('MCP server "far"'),
  });
});

test("F4.33 the memory server's structured answers are its output", async () => {
  const { engine, tools } = await openReference("memory", { env: { MEMORY_FILE_PATH: "/dev/null" } });

  const answer = await engine.call(request("search_nodes", { query: "nothing" }), toolContext());

  expect(tools).toHaveLength(9);
  expect(answer).toMatchObject({ output: { entities: [], relations: [] } });
});

test("F0.48 F4.27 F4.33 killing one of two servers during a batch fails only its call, by name and in order, and leaves no process", async () => {
  const strange = (): ReturnType<typeof mcpEngine> => mcpEngine({ command: process.execPath, args: [STRANGE, "tree"] });
  const runtime = createRuntime({
    toolsets: [
      { name: "doomed", engine: strange() },
      { name: "well", engine: strange() },
    ],
    ports: { log: new MemoryLog() },
  });
  onTestFinished(async () => void (await runtime.close()));
  await runtime.open();
  const trees = await runtime.execute(["doomed::tree", "well::tree"].map((name) => ({ name, input: {} })));
  const pids = trees.flatMap(({ output }) => (isJsonObject(output) ? [Number(output["server"]), Number(output["grandchild"])] : []));
  const [pid = Number.NaN] = pids;

  const batch = runtime.execute([
    { name: "doomed::hang", input: {} },
    { name: "well::echo", input: { still: "here" } },
    { name: "nowhere::tool", input: {} },
    { name: "well::structured", input: {} },
  ]);
  setImmediate(() => process.kill(pid, "SIGKILL"));
  const results = await batch;

  expect(results.map(({ name, status }) => [name, status])).toEqual([
    ["doomed::hang", "error"],
    ["well::echo", "ok"],
    ["nowhere::tool", "error"],
    ["well::structured", "ok"],
  ]);
  expect(results[0]?.error).toMatchObject({ code: "network_error", outcome: "unknown" });
  expect(resultText(results[0] ?? ({} as never))).toContain('MCP server "doomed"');
  expect(results[3]?.output).toEqual({ sum: 3 });
  await runtime.close();
  expect(pids.filter(Number.isInteger)).toHaveLength(4);
  for (const one of pids) await gone(one);
});

testInCI("F4.35 one server that cannot be closed in time does not prevent others from being closed", async () => {
  const engine = mcpEngine({ command: process.execPath, args: [STRANGE, "tree"] });
  const broken = mcpEngine({ command: process.execPath, args: [STRANGE] });
  broken.close = () => Promise.reject(new Error("it does not let go"));
  const log = new MemoryLog();
  const runtime = createRuntime({
    toolsets: [
      { name: "broken", engine: broken },
      { name: "tree", engine },
    ],
    ports: { log },
  });
  await runtime.open();
  const [answer] = await runtime.execute([{ name: "tree::tree", input: {} }]);

  const problems = await runtime.close();

  const processes = isJsonObject(answer?.output) ? answer.output : {};
  await gone(Number(processes["server"]));
  await gone(Number(processes["grandchild"]));
  expect(problems.map(({ message }) => message)).toEqual([expect.stringContaining("it does not let go")]);
});

test("D16 an answer without the structured content that its schema requires is partial, with invalid_output", async () => {
  const runtime = createRuntime({
    toolsets: [{ name: "strange", engine: mcpEngine({ command: process.execPath, args: [STRANGE, "promises"] }) }],
  });
  onTestFinished(async () => void (await runtime.close()));
  await runtime.open();

  const [result] = await runtime.execute([{ name: "strange::echo", input: { a: 1 } }]);

  expect(result).toMatchObject({ status: "partial", content: [{ type: "text", text: '{"a":1}' }], error: { code: "invalid_output" } });
});
