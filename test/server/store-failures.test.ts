/** What clients and the log are told while the store of a server cannot be used. */
import { mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineTool, readOnly, type ToolResult } from "haft";
import { createServer, staticToken } from "haft/server";
import { sqliteStore } from "haft/sqlite";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import { eventWithoutStorePlace, withoutStorePlace } from "../../src/server/store-failures.ts";
import { EventStream } from "../../src/server/events/event-stream.ts";
import { MemoryAccess } from "../../src/store/memory/memory-access.ts";
import { MemoryLog } from "../../src/testing/fake-ports.ts";
import { FailingStore } from "../runtime/session/failing-store.ts";
import { raw, TASKS } from "./mcp-raw.ts";

const HEADERS = { authorization: "Bearer a-token-of-the-tests" };
const AS_TASKS = { capabilities: TASKS, headers: HEADERS };
const NOT_STARTED = { "haft/call": { outcome: "not_started", retryable: true } };

/** A server whose store loses its file. */
async function serverWithoutStore() {
  const folder = await mkdtemp(join(tmpdir(), "haft-secret-place-"));
  const log = new MemoryLog();
  const path = join(folder, "haft.db");
  const runtime = createRuntime({
    store: sqliteStore({ path, synchronous: "normal" }),
    ports: { log },
    tools: [
      { name: "read", description: "Reads.", inputSchema: {}, effects: readOnly("disk"), cache: "persistent", execute: () => "read" },
      { name: "write", description: "Writes.", inputSchema: {}, effects: { writes: "disk" }, execute: () => "written" },
      { name: "work", description: "Works.", inputSchema: {}, effects: readOnly("disk"), mode: "background", execute: () => "done" },
    ],
  });
  await runtime.open();
  const server = createServer(runtime, { auth: staticToken({ token: "a-token-of-the-tests" }), mcp: {}, ports: { log } });
  const listener = await server.listen({ port: 0 });
  await runtime.session("live").execute({ name: "read", input: {} });
  onTestFinished(async () => {
    await server.close();
    await runtime.close().catch(() => {});
    await rm(folder, { recursive: true, force: true });
  });
  await rename(path, join(folder, "moved.db"));
  const post = async (address: string, body: unknown): Promise<string> => {
    const init = { method: "POST", headers: { ...HEADERS, "content-type": "application/json" }, body: JSON.stringify(body) };
    return (await fetch(`${listener.url}${address}`, init)).text();
  };
  return { mcp: `${listener.url}/mcp`, post, log, runtime };
}

/** The names by which a text refers to the log. */
const referencesIn = (text: string): readonly string[] => text.match(/(?:error|call)_[\w-]+/gu) ?? [];

describe("a store that fails shows clients neither its path nor its address", () => {
  test("a task over MCP that could not begin may be sent again, and names the entry of the log", async () => {
    const store = Object.assign(new FailingStore(), { access: new MemoryAccess() });
    const log = new MemoryLog();
    let ran = 0;
    const work = defineTool({ name: "work", description: "Works.", effects: { writes: "x" }, mode: "background", execute: () => ++ran });
    const runtime = createRuntime({ store, tools: [work], ports: { log } });
    const server = createServer(runtime, { auth: staticToken({ token: "a-token-of-the-tests" }), ports: { log } });
    const { url } = await server.listen({ port: 0 });
    onTestFinished(async () => {
      await server.close();
      await runtime.close();
    });
    store.durableError = new ToolError("store_failed", "The store postgres://haft@10.0.0.7/haft-secret-place could not be written.");
    const { error } = await raw(`${url}/mcp`, "tools/call", { name: "work", arguments: {} }, AS_TASKS);
    expect(ran).toBe(0);
    store.durableError = undefined;
    expect(error).toEqual({
      code: -32_603,
      message: expect.stringMatching(/^The store cannot be used now\. The server's log has it as error_[\w-]+\.$/u),
      data: NOT_STARTED,
    });
    const [name = "none"] = referencesIn(String(error?.["message"]));
    expect(log.lines.map(({ message }) => message)).toContainEqual(expect.stringMatching(new RegExp(`${name}.*haft-secret-place`, "u")));
  });

  test.each([
    ["outside a session", {}],
    ["in a session", AS_TASKS],
  ] as const)("a call (%s) over MCP whose end could not be stored is not offered to be sent again", async (place, options) => {
    const store = Object.assign(new FailingStore(), { access: new MemoryAccess() });
    const log = new MemoryLog();
    let paid = 0;
    const execute = (): string => {
      paid++;
      store.durableError = new ToolError("store_failed", "The store postgres://haft@10.0.0.7/haft-secret-place could not be written.");
      return "paid";
    };
    const pay = defineTool({ name: "pay", description: "Pays.", effects: { writes: "money" }, mode: "direct", execute });
    const runtime = createRuntime({ store, tools: [pay], ports: { log } });
    const server = createServer(runtime, { auth: staticToken({ token: "a-token-of-the-tests" }), ports: { log } });
    const { url } = await server.listen({ port: 0 });
    onTestFinished(async () => {
      store.durableError = undefined;
      await server.close();
      await runtime.close();
    });
    const answer = await raw(`${url}/mcp`, "tools/call", { name: "pay", arguments: {} }, { headers: HEADERS, ...options });
    expect(paid).toBe(1);
    expect(JSON.stringify(answer)).not.toContain("secret-place");
    if (place === "outside a session") return expect(answer.result).toMatchObject({ content: [{ text: "paid" }] });
    expect(answer.error).toMatchObject({ code: -32_603, data: { "haft/call": { outcome: "unknown" } } });
  });

  test("results over MCP and HTTP name the call, whose entry in the log says why", async () => {
    const { mcp, post, log } = await serverWithoutStore();
    const overMcp = JSON.stringify(await raw(mcp, "tools/call", { name: "write", arguments: {} }, { headers: HEADERS }));
    const overHttp = await post("/v1/execute", { calls: [{ name: "write", input: {} }] });
    for (const text of [overMcp, overHttp]) {
      expect(text).not.toContain("haft-secret-place");
      expect(text).toMatch(/write was not started: the store cannot be used now\. The server's log has it as call_/u);
      const name = referencesIn(text.slice(text.indexOf("has it as")))[0] ?? "none";
      await vi.waitFor(() =>
        expect(log.lines.map(({ message }) => message)).toContainEqual(
          expect.stringMatching(new RegExp(`${name}.*haft-secret-place-`, "u")),
        ),
      );
    }
  });

  test("events and streams do not name it either", async () => {
    const error = {
      code: "store_failed",
      message: "x was not started: The store /var/a.db is full.",
      retryable: true,
      outcome: "not_started",
    };
    const result = { callId: "call_1", name: "x", status: "error", error } as unknown as ToolResult;
    expect(JSON.stringify(eventWithoutStorePlace({ type: "call-end", result } as never))).not.toContain("/var/a.db");
    const hinted = { ...result, error: { ...error, code: "unavailable", message: "x", operatorHint: "The store /var/a.db is gone." } };
    expect(JSON.stringify(withoutStorePlace(hinted as unknown as ToolResult))).not.toContain("/var/a.db");

    const feed = { read: () => Promise.reject(new ToolError("store_failed", "The store /var/a.db is gone.")), close: () => {} };
    const stream = new EventStream({ feed: feed as never, sessionId: undefined, retryMs: 1, onEnd: () => {} });
    const text = await new Response(new ReadableStream(stream)).text();
    expect(text).toContain('event: gap\ndata: {"code":"store_failed","message":"The events cannot be read now.","retryable":true}');
  });

  test("the output of a call, its job, its retries and the events of toolsets do not name it either", async () => {
    const failing = () => {
      throw new ToolError("store_failed", "The store /var/a.db is full.", { retryable: true, outcome: "not_started" });
    };
    const runtime = createRuntime({
      ports: { log: new MemoryLog() },
      tools: [
        { name: "job", description: "x", inputSchema: {}, mode: "background", maxAttempts: 1, execute: failing },
        { name: "call", description: "x", inputSchema: {}, maxAttempts: 1, execute: failing },
      ],
    });
    const server = createServer(runtime, { auth: staticToken({ token: "a-token-of-the-tests" }), ports: { log: new MemoryLog() } });
    onTestFinished(async () => {
      await server.close();
      await runtime.close();
    });
    const read = async (path: string): Promise<string> =>
      (await server.fetch(new Request(`http://localhost/v1${path}`, { headers: HEADERS }))).text();
    const session = runtime.session("s");
    const { callId: jobId } = await session.execute({ name: "job", input: {} });
    const { callId } = await session.execute({ name: "call", input: {} });
    const ids = [jobId, callId];
    await runtime.jobs.wait(jobId);
    const shown = await Promise.all([
      ...ids.map((id) => read(`/calls/${id}/output?sessionId=s`)),
      ...["/jobs", `/jobs/${jobId}`, `/jobs/${jobId}/wait?timeoutMs=0`].map(read),
    ]);
    for (const text of shown) expect([text.includes("/var/a.db"), text.includes("the store cannot be used now")]).toEqual([false, true]);

    const error = { code: "store_failed", message: "The store /var/a.db is full.", retryable: true, outcome: "not_started" };
    for (const event of [
      { type: "call-retry", toolName: "x", callId: "call_1", error },
      { type: "toolset-fail", toolset: "shared", error },
    ])
      expect(eventWithoutStorePlace(event as never)).toMatchObject({
        error: { code: "store_failed", message: expect.stringMatching(/^(?:x|shared) was not started: the store cannot be used now/u) },
      });
  });

  test("errors of tools are shown as they are", () => {
    const error = { code: "execution_failed", message: "The file /work/a.txt is empty.", retryable: false, outcome: "failed" };
    const result = { callId: "call_1", name: "x", status: "error", error } as unknown as ToolResult;
    expect(withoutStorePlace(result)).toBe(result);
    const shop = { ...error, code: "unavailable", message: "The store https://shop.example/ is closed on Sundays." };
    expect(withoutStorePlace({ ...result, error: shop } as unknown as ToolResult).error).toBe(shop);
  });
});

test("while the store is away, the log of a server stays readable: failures of requests are 20 lines a minute, over HTTP and over MCP", async () => {
  const { mcp, post, log } = await serverWithoutStore();
  const before = log.lines.length;
  await Promise.all(
    Array.from({ length: 40 }, async () => {
      await raw(mcp, "tools/call", { name: "work", arguments: {} }, AS_TASKS);
      await post("/v1/sessions", {});
    }),
  );
  const failures = log.lines.slice(before).filter(({ message }) => /failed|could not be removed/u.test(message));
  expect(failures).toHaveLength(2 * 20);
});
