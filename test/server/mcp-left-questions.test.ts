/** MCP servers that stop while calls wait: a plain call that was not begun may be made again, and a task goes on in the next server. */
import { createServer } from "node:http";
import { once } from "node:events";
import { expect, onTestFinished, test, vi } from "vitest";
import { mcpToolset } from "../../src/engine/mcp.ts";
import { createRuntime, defineTool, type Tool } from "../../src/index.ts";
import { listenMcp } from "../../src/server/mcp.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { temporaryFile } from "../store/temporary-file.ts";
import { raw, TASKS } from "./mcp-raw.ts";

const ABLE = { capabilities: { ...TASKS } };
const WAIT = { timeout: 30_000, interval: 20 };

const NOT_STARTED = { "haft/call": { outcome: "not_started", retryable: true } };

test("a call that waits for a lock after the grace period is reported as not started, and one that ran with the outcome unknown", async () => {
  const begun = Promise.withResolvers<void>();
  const hold = defineTool({
    name: "hold",
    description: "Holds the disk.",
    effects: { writes: ["disk"] },
    execute: (_input, { signal }) => {
      begun.resolve();
      return new Promise<never>((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    },
  });
  let writes = 0;
  const write = defineTool({ name: "write", description: "Writes.", effects: { writes: ["disk"] }, execute: () => ++writes });
  const runtime = createRuntime({ tools: [hold, write] });
  onTestFinished(async () => void (await runtime.close()));
  const listener = await listenMcp(runtime, { port: 0, graceMs: 50 });
  const held = raw(listener.url, "tools/call", { name: "hold", arguments: {} });
  await begun.promise;
  const waiting = raw(listener.url, "tools/call", { name: "write", arguments: {} });
  await vi.waitFor(() => expect(runtime.running).toHaveLength(2), WAIT);
  await listener.close();
  expect((await held).result).toMatchObject({
    isError: true,
    content: [{ type: "text", text: "Error (cancelled): hold was cancelled: the server is stopping" }],
    _meta: { "haft/call": { outcome: "unknown" } },
  });
  expect((await waiting).error).toEqual({
    code: -32_603,
    message: "The server is stopping: default::write was not started, and may be called again.",
    data: NOT_STARTED,
  });
  expect(writes).toBe(0);
});

interface StoppingServer {
  readonly stops: number;
  readonly reports?: boolean;
}

/** A toolset of one server, which says of so many calls that it has not started them. */
async function payAt({ stops, reports = false }: StoppingServer) {
  let calls = 0;
  const answer = (method: string): object => {
    if (method === "initialize")
      return { result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } } };
    if (method === "tools/list") return { result: { tools: [{ name: "pay", inputSchema: { type: "object" } }] } };
    if (method !== "tools/call") return { error: { code: -32_601, message: "none" } };
    if (++calls <= stops) return { error: { code: -32_603, message: "The server is stopping.", data: NOT_STARTED } };
    return { result: { content: [{ type: "text", text: "paid" }] } };
  };
  const event = (message: object): string => `data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;
  const server = createServer((request, response) => {
    void (async () => {
      let text = "";
      for await (const chunk of request) text += String(chunk);
      const { id, method, params } = text === "" ? {} : JSON.parse(text);
      if (id === undefined) return response.writeHead(request.method === "GET" ? 405 : 202).end();
      const message = { id, ...answer(method) };
      if (method !== "tools/call" || !reports)
        return response.setHeader("content-type", "application/json").end(JSON.stringify({ jsonrpc: "2.0", ...message }));
      const { progressToken } = params["_meta"];
      response.setHeader("content-type", "text/event-stream");
      return response.end(event({ method: "notifications/progress", params: { progressToken, progress: 1 } }) + event(message));
    })();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as { readonly port: number };
  const runtime = createRuntime({
    toolsets: [mcpToolset("far", { url: `http://127.0.0.1:${port}/`, protocol: "legacy" })],
    approval: { never: ["*"] },
    retry: { delayMs: 1 },
  });
  onTestFinished(async () => {
    await runtime.close();
    server.close();
  });
  await runtime.open();
  const { status, error } = await runtime.execute({ name: "far::pay" });
  return { status, outcome: error?.outcome, calls };
}

test.each([
  ["makes a call again that a server has not started", { stops: 1 }, { status: "ok", outcome: undefined, calls: 2 }],
  ["gives up a call that a server never starts", { stops: Infinity }, { status: "error", outcome: "not_started", calls: 4 }],
  [
    "does not believe that a call was not started which has reported progress",
    { stops: 1, reports: true },
    { status: "error", outcome: "unknown", calls: 1 },
  ],
] as const)("a client of Haft %s", async (_claim, server, end) => {
  expect(await payAt(server)).toEqual(end);
});

test("a task that waits for approval when its server stops keeps waiting in the next server, and runs once", async () => {
  const path = temporaryFile();
  let removed = 0;
  const serve = async () => {
    const remove = defineTool({
      name: "remove",
      description: "Removes.",
      effects: { writes: ["files"], destructive: true },
      execute: () => `removed ${++removed}`,
    });
    const clean: Tool = {
      name: "clean",
      description: "Removes.",
      inputSchema: { type: "object" },
      mode: "background",
      composite: true,
      execute: async (_input, context) => (await context.execute({ name: "remove" })).status,
    };
    const runtime = createRuntime({ tools: [remove, clean], store: sqliteStore({ path }), approval: { approve: "inbox" } });
    await runtime.open();
    const listener = await listenMcp(runtime, { port: 0, tasks: { taskAfterMs: 20 }, graceMs: 50 });
    const close = async (): Promise<void> => {
      await listener.close();
      await runtime.close();
    };
    onTestFinished(close);
    const get = async (taskId: string) => (await raw(listener.url, "tasks/get", { taskId }, ABLE)).result;
    return { url: listener.url, runtime, close, get };
  };
  const first = await serve();
  const { result } = await raw(first.url, "tools/call", { name: "clean", arguments: {} }, ABLE);
  const taskId = String(result["taskId"]);
  await vi.waitFor(async () => expect(await first.runtime.approvals.pending()).toHaveLength(1), WAIT);
  await first.close();
  const second = await serve();
  const [open] = await second.runtime.approvals.pending();
  expect(open).toMatchObject({ status: "open" });
  if (open !== undefined) await second.runtime.approvals.answer({ id: open.id, digest: open.digest, answer: "allow-once" });
  await vi.waitFor(async () => expect((await second.get(taskId))["status"]).toBe("completed"), WAIT);
  expect(removed).toBe(1);
});

test("a task that runs when its server stops may end within the grace period, or is continued by the next server", async () => {
  const path = temporaryFile();
  const begun: string[] = [];
  const done = Promise.withResolvers<void>();
  const serve = async (name: string) => {
    const work = defineTool({
      name: "work",
      description: "Works.",
      inputSchema: { type: "object", properties: { until: { type: "string" } } },
      mode: "background",
      effects: { reads: [] },
      async execute({ until }) {
        begun.push(`${until} ${name}`);
        if (until === "stop") await done.promise;
        else if (name === "first") await new Promise(() => {});
        return "worked";
      },
    });
    const store = Object.assign(sqliteStore({ path }), { queue: {} }); // as of a store that several machines share
    const runtime = createRuntime({ tools: [work], store });
    await runtime.open();
    const listener = await listenMcp(runtime, { port: 0, graceMs: 500 });
    const close = async (): Promise<void> => {
      await listener.close();
      await runtime.close();
    };
    onTestFinished(close);
    const get = async (taskId: string) => (await raw(listener.url, "tasks/get", { taskId }, ABLE)).result;
    return { url: listener.url, close, get };
  };
  const first = await serve("first");
  const [ending, running] = await Promise.all(
    ["stop", "restart"].map(async (until) =>
      String((await raw(first.url, "tools/call", { name: "work", arguments: { until } }, ABLE)).result["taskId"]),
    ),
  );
  await vi.waitFor(() => expect(begun).toHaveLength(2), WAIT);
  const closed = first.close();
  done.resolve();
  await closed;
  const second = await serve("second");
  for (const taskId of [ending, running])
    await vi.waitFor(async () => expect((await second.get(String(taskId)))["status"]).toBe("completed"), WAIT);
  expect(begun.toSorted()).toEqual(["restart first", "restart second", "stop first"]);
});

test.each([
  { graceMs: 20_000, runs: 1, when: "ends while its server stops" },
  { graceMs: 20, runs: 2, when: "lasts longer, and is run again by the next server" },
])("L36 a task in a store in a file is not cancelled by an orderly stop: it $when", async ({ graceMs, runs }) => {
  const path = temporaryFile();
  let begun = 0;
  const stopping = Promise.withResolvers<void>();
  const build = defineTool({
    name: "build",
    description: "Builds.",
    effects: { writes: "out", idempotent: true },
    mode: "background",
    async execute() {
      begun++;
      await stopping.promise;
      if (begun < runs) await new Promise<never>(() => {});
      return "built";
    },
  });
  const serve = async () => {
    const runtime = createRuntime({ tools: [build], store: sqliteStore({ path }), ports: { log: { debug() {}, warn() {} } } });
    await runtime.open();
    const listener = await listenMcp(runtime, { port: 0, graceMs });
    const stop = async (): Promise<void> => {
      await listener.close();
      await runtime.close();
    };
    onTestFinished(stop);
    return { url: listener.url, stop };
  };
  const first = await serve();
  const { taskId } = (await raw(first.url, "tools/call", { name: "build", arguments: {} }, ABLE)).result;
  await vi.waitFor(() => expect(begun).toBe(1), WAIT);
  const stopped = first.stop();
  await new Promise((resolve) => setTimeout(resolve, 300)); // a server that waits for nothing has handed its tasks over by then
  stopping.resolve();
  await stopped;
  const next = await serve();
  await vi.waitFor(async () => {
    const { result } = await raw(next.url, "tasks/get", { taskId: taskId ?? null }, ABLE);
    expect(result).toMatchObject({ status: "completed", result: { content: [{ type: "text", text: "built" }] } });
  }, WAIT);
  expect(begun).toBe(runs);
});
