import { spawn } from "node:child_process";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test, vi } from "vitest";
import { pure } from "../../src/core/resources/effects.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { serveMcpStdio, type McpStdioServer } from "../../src/server/mcp.ts";
import { MemoryLog } from "../../src/testing/fake-ports.ts";
import { openRuntime } from "./mcp-clients.ts";
import { testInCI } from "../test-in-ci.ts";

const HELLO = {
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};

interface Wired {
  readonly input: PassThrough;
  readonly output: PassThrough;
  readonly server: McpStdioServer;
  readonly log: MemoryLog;
  readonly runs: () => number;
  send(message: object): void;
}

async function wired(): Promise<Wired> {
  let runs = 0;
  const page = defineTool({
    name: "page",
    description: "",
    effects: pure,
    execute: () => {
      runs++;
      return "x".repeat(50_000);
    },
  });
  const { runtime } = await openRuntime({ tools: [page] });
  const [input, output, log] = [new PassThrough(), new PassThrough(), new MemoryLog()];
  const server = await serveMcpStdio(runtime, { graceMs: 0, session: "none", ports: { log }, input, output });
  onTestFinished(() => server.close());
  const send = (message: object): void => void input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  send(HELLO);
  send({ method: "notifications/initialized" });
  return { input, output, server, log, runs: () => runs, send };
}

/** The ids of what is answered from now on. */
function answered(output: PassThrough): { readonly ids: unknown[]; readonly errors: unknown[] } {
  const heard = { ids: [] as unknown[], errors: [] as unknown[] };
  createInterface({ input: output }).on("line", (line) => {
    const { id, error }: { id?: unknown; error?: unknown } = JSON.parse(line);
    heard.ids.push(id);
    if (error !== undefined) heard.errors.push(error);
  });
  return heard;
}

testInCI(
  "for a client that reads nothing, at most about a thousand calls start, and all run once it reads",
  async () => {
    const { output, send, runs } = await wired();
    for (let id = 1; id <= 3_000; id++) send({ id, method: "tools/call", params: { name: "page", arguments: {} } });
    await vi.waitFor(() => expect(runs()).toBeGreaterThanOrEqual(128), { timeout: 20_000 });
    for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => void setImmediate(resolve));
    expect(runs()).toBeLessThan(1_050); // some first answers lie in the buffers of the streams
    const { ids } = answered(output);
    await vi.waitFor(() => expect(ids).toHaveLength(3_001), { timeout: 240_000 });
    expect(new Set(ids).size).toBe(3_001);
    expect(runs()).toBe(3_000);
  },
  30_000,
);

test("a line that is too long is rejected with its id and logged, and the next request is answered", async () => {
  const { output, log, send } = await wired();
  const { ids, errors } = answered(output);
  send({ id: "big", method: "tools/call", params: { name: "page", arguments: { text: "x".repeat(9_000_000) } } });
  send({ id: 2, method: "ping" });
  await vi.waitFor(() => expect(ids).toContain(2), { timeout: 10_000 });
  expect(new Set(ids)).toEqual(new Set([0, "big", 2]));
  expect(errors).toEqual([{ code: -32_600, message: "The request has more than 8388608 bytes and was not read." }]);
  expect(log.lines.filter(({ level }) => level === "warn").map(({ message }) => message)).toEqual([
    "MCP over stdio: The request has more than 8388608 bytes and was not read.",
  ]);
});

test("endless input that is not a message closes the connection with an error, which is logged", async () => {
  const { input, server, log } = await wired();
  const noise = "x".repeat(1024 * 1024);
  for (let megabytes = 0; megabytes < 9; megabytes++) input.write(noise);
  expect(await server.closed).toMatchObject({ code: "too_large", message: expect.stringContaining("that is not a message") });
  expect(log.lines.filter(({ level }) => level === "warn").map(({ message }) => message)).toEqual([
    expect.stringContaining("that is not a message: the connection is closed."),
  ]);
});

test("an unreadable input closes the connection with an error, and an input that ends closes it without one", async () => {
  const [broken, whole] = await Promise.all([wired(), wired()]);
  broken.input.destroy(new Error("EIO"));
  whole.input.end();
  expect(await broken.server.closed).toMatchObject({ code: "network_error", message: expect.stringContaining("EIO") });
  expect(await whole.server.closed).toBeUndefined();
});

test("a client that has closed its input gets every answer, even to a last line without a newline, and its questions get cancel", async () => {
  const gates = Array.from({ length: 3 }, () => Promise.withResolvers<string>());
  const ask = defineTool({
    name: "ask",
    description: "",
    effects: pure,
    execute: async (_input, context) => {
      await gates[0]?.promise;
      return (await context.ask({ message: "Who?", schema: { type: "object", properties: {} } })).action;
    },
  });
  const slow = gates.map(({ promise }, at) => defineTool({ name: `slow_${at}`, description: "", effects: pure, execute: () => promise }));
  const { runtime } = await openRuntime({ tools: [ask, ...slow] });
  const [input, output] = [new PassThrough(), new PassThrough()];
  const server = await serveMcpStdio(runtime, { ports: { log: new MemoryLog() }, input, output });
  onTestFinished(() => server.close());
  const { ids } = answered(output);
  const calls = ["ask", "slow_0", "slow_1", "slow_2"].map((name, at) => ({
    id: at + 1,
    method: "tools/call",
    params: { name, arguments: {} },
  }));
  const hello = { ...HELLO, params: { ...HELLO.params, capabilities: { elicitation: {} } } };
  const lines = [hello, { method: "notifications/initialized" }, ...calls].map((message) => JSON.stringify({ jsonrpc: "2.0", ...message }));
  input.end(lines.join("\n"));
  await vi.waitFor(() => expect(runtime.running).toHaveLength(4));
  const answers = (): readonly unknown[] => ids.filter((id) => typeof id === "number" && id > 1); // not the question to the client
  for (const [at, { resolve }] of gates.entries()) {
    await vi.waitFor(() => expect(answers()).toHaveLength(at), { timeout: 5_000 });
    resolve("done");
  }
  expect(await server.closed).toBeUndefined();
  expect(answers()).toEqual([2, 3, 4]);
  expect(ids).toContain(1);
});

test("close() does not wait for the calls of a client that has closed its input", async () => {
  const hang = defineTool({ name: "hang", description: "", effects: pure, execute: () => new Promise(() => {}) });
  const { runtime } = await openRuntime({ tools: [hang] });
  const [input, output] = [new PassThrough(), new PassThrough()];
  const server = await serveMcpStdio(runtime, { graceMs: 600_000, ports: { log: new MemoryLog() }, input, output });
  const { ids } = answered(output);
  for (const message of [HELLO, { id: 1, method: "tools/call", params: { name: "hang", arguments: {} } }])
    input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  await vi.waitFor(() => expect(runtime.running).toHaveLength(1));
  input.end();
  await once(input, "end");
  await server.close();
  expect([runtime.running, ids]).toEqual([[], [0, 1]]);
});

test("the calls of a killed client end, even if nothing was being sent to it", async () => {
  const hang = defineTool({ name: "hang", description: "", effects: pure, execute: () => new Promise(() => {}) });
  const { runtime } = await openRuntime({ tools: [hang] });
  const client = spawn(process.execPath, ["-e", "process.stdin.pipe(process.stdout)"], { stdio: ["pipe", "pipe", "inherit"] });
  let got = "";
  client.stdout.on("data", (chunk: Buffer) => void (got += chunk.toString()));
  const input = new PassThrough();
  const server = await serveMcpStdio(runtime, { ports: { log: new MemoryLog() }, input, output: client.stdin });
  for (const message of [HELLO, { id: 1, method: "tools/call", params: { name: "hang", arguments: {} } }])
    input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  await vi.waitFor(() => expect(runtime.running).toHaveLength(1));
  input.end(); // it has closed its end, and reads on
  await vi.waitFor(() => expect(got).toMatch(/\n {2}$/u), { timeout: 10_000 });
  expect(runtime.running).toHaveLength(1);
  client.kill("SIGKILL");
  expect(await server.closed).toBeUndefined();
  expect(runtime.running).toEqual([]);
});

test("a cancellation is handled before waiting requests, and ends a running or a waiting one", async () => {
  const hang = defineTool({ name: "hang", description: "", effects: pure, execute: () => new Promise(() => {}) });
  const { runtime } = await openRuntime({ tools: [hang] });
  const [input, output] = [new PassThrough(), new PassThrough()];
  const server = await serveMcpStdio(runtime, { graceMs: 0, session: "none", ports: { log: new MemoryLog() }, input, output });
  onTestFinished(() => server.close());
  answered(output);
  const send = (message: object): void => void input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const cancel = (requestId: number): void => send({ method: "notifications/cancelled", params: { requestId } });
  send(HELLO);
  send({ method: "notifications/initialized" });
  for (let id = 1; id <= 2_000; id++) send({ id, method: "tools/call", params: { name: "hang", arguments: {} } });
  await vi.waitFor(() => expect(runtime.running).toHaveLength(1_024), { timeout: 20_000 });
  for (let id = 1; id <= 2_000; id++) if (id % 2 === 0) cancel(id);
  await vi.waitFor(() => expect(runtime.running).toHaveLength(1_000), { timeout: 20_000 });
  for (let id = 1; id <= 2_000; id++) if (id % 2 === 1) cancel(id);
  await vi.waitFor(() => expect(runtime.running).toEqual([]), { timeout: 20_000 });
});
