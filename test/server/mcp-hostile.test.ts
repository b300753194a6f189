/** Clients, tools and connected servers that do what they should not. */
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import type { Transport } from "@modelcontextprotocol/server";
import { expect, test, vi } from "vitest";
import { pure } from "../../src/core/resources/effects.ts";
import type { JsonObject } from "../../src/core/base/json.ts";
import type { Tool } from "../../src/core/tool.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { mcpHandler, type McpHandler } from "../../src/server/mcp.ts";
import { ObservedTransport } from "../../src/server/mcp/observed-transport.ts";
import { ListenRequests } from "../../src/server/mcp/listen-requests.ts";
import { FakeClock, MemoryLog, settle } from "../../src/testing/fake-ports.ts";
import { listening, openRuntime, overStdio } from "./mcp-clients.ts";
import { rawSession } from "./mcp-raw-session.ts";

const HEADERS = { host: "localhost", "content-type": "application/json", accept: "application/json, text/event-stream" };
const HELLO = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } },
};

function post(handle: McpHandler, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return handle(new Request("http://localhost/mcp", { method: "POST", headers: { ...HEADERS, ...headers }, body: JSON.stringify(body) }));
}

/** A session of the older revision: the header that its requests bear. */
async function begin(handle: McpHandler): Promise<{ readonly "mcp-session-id": string }> {
  const response = await post(handle, HELLO);
  await response.text();
  return { "mcp-session-id": response.headers.get("mcp-session-id") ?? "" };
}

const call = (id: number, name: string): JsonObject => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name } });

function waiting(): { readonly tool: Tool; readonly end: (text: string) => void } {
  const { promise, resolve } = Promise.withResolvers<string>();
  return { tool: defineTool({ name: "wait", description: "", effects: pure, timeoutMs: 0, execute: () => promise }), end: resolve };
}

test("C07 a session id reveals nothing about other session ids, and neither do error ids", async () => {
  const { runtime } = await openRuntime({});
  const handle = mcpHandler(runtime, {
    providers: [{ listPrompts: async () => ({ prompts: [{ name: "bad" }] }), getPrompt: () => Promise.reject(new Error("no")) }],
    ports: { log: new MemoryLog() },
  });
  const sessions = [await begin(handle), await begin(handle)];
  const ids = sessions.map((session) => session["mcp-session-id"]);
  for (const id of ids) expect(id).toMatch(/^[\w-]{43}$/u);
  const answer = await post(handle, { jsonrpc: "2.0", id: 2, method: "prompts/get", params: { name: "bad" } }, sessions[0]);
  const told = /error_([\w-]+)\)/u.exec(await answer.text())?.[1] ?? "";
  const pieces = (text: string): readonly string[] => Array.from({ length: text.length - 7 }, (_, at) => text.slice(at, at + 8));
  expect(pieces(told).length).toBeGreaterThan(8);
  expect(pieces(ids[0] ?? "").filter((piece) => ids[1]?.includes(piece))).toEqual([]);
  expect(pieces(told).filter((piece) => ids.join().includes(piece))).toEqual([]);
  await handle.close();
});

test("C07 an attacker who knows every id of a server still cannot forge a requestState", async () => {
  const ask = defineTool({
    name: "ask",
    description: "",
    effects: pure,
    timeoutMs: 0,
    execute: async (_input, context) => (await context.ask({ message: "?" })).action,
  });
  const { runtime } = await openRuntime({ tools: [ask] });
  const ids = { next: (prefix: string) => `${prefix}_1` };
  const [one, other] = [mcpHandler(runtime, { ports: { ids } }), mcpHandler(runtime, { ports: { ids } })];
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": { elicitation: {} },
  };
  const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "ask" };
  const send = async (handle: McpHandler, more: Readonly<Record<string, unknown>>): Promise<unknown> => {
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "ask", arguments: {}, ...more, _meta: meta } };
    return (await post(handle, body, headers)).json();
  };
  const states = [await send(one, {}), await send(other, {})].map((answer) =>
    Reflect.get(Object(Reflect.get(Object(answer), "result")), "requestState"),
  );
  const inputResponses = { question_1: { action: "decline" } };
  expect(await send(other, { requestState: states[0], inputResponses })).toMatchObject({ error: { code: -32_602 } });
  expect(await send(other, { requestState: states[1], inputResponses })).toMatchObject({ result: { content: [{ text: "decline" }] } });
  await Promise.all([one.close(), other.close()]);
});

test("L20 the id of a request in progress cannot be reused, and no answer is lost", async () => {
  const { tool, end } = waiting();
  const { runtime } = await openRuntime({ tools: [tool] });
  const handle = mcpHandler(runtime);
  const session = await begin(handle);
  const first = post(handle, call(5, "wait"), session);
  await vi.waitFor(() => expect(runtime.running).toHaveLength(1));
  for (const body of [call(5, "wait"), [call(6, "wait"), call(6, "wait")]]) {
    const refused = await post(handle, body, session);
    expect([refused.status, await refused.json()]).toMatchObject([400, { error: { code: -32_600 } }]);
  }
  expect(runtime.running).toHaveLength(1);
  end("done");
  expect(await (await first).text()).toContain('"text":"done"');
  expect(await (await post(handle, call(5, "wait"), session)).text()).toContain('"text":"done"');
  await handle.close();
});

test("E15 a session with a running call is neither idle nor evicted by other sessions", async () => {
  const { tool, end } = waiting();
  const { runtime } = await openRuntime({ tools: [tool] });
  const clock = new FakeClock();
  const handle = mcpHandler(runtime, { maxSessions: 2, sessionIdleMs: 1_000, ports: { clock } });
  const session = await begin(handle);
  const running = post(handle, call(2, "wait"), session);
  await vi.waitFor(() => expect(runtime.running).toHaveLength(1));
  for (let count = 0; count < 3; count++) await begin(handle);
  await clock.advance(5_000);
  end("still here");
  expect(await (await running).text()).toContain("still here");
  await clock.advance(1_000);
  expect((await post(handle, call(3, "wait"), session)).status).toBe(404);
  await handle.close();
});

test("E15 a session with an open stream is neither idle nor evicted by other sessions, until the stream ends", async () => {
  const { runtime } = await openRuntime({ tools: [] });
  const clock = new FakeClock();
  const handle = mcpHandler(runtime, { maxSessions: 2, sessionIdleMs: 1_000, ports: { clock } });
  const session = await begin(handle);
  const headers = { accept: "text/event-stream", host: "localhost", ...session };
  const stream = await handle(new Request("http://localhost/mcp", { headers }));
  expect(stream.status).toBe(200);
  for (let count = 0; count < 3; count++) await begin(handle);
  await clock.advance(5_000);
  const reader = stream.body?.getReader();
  runtime.registry.register(defineTool({ name: "later", description: "", execute: () => 1 }));
  await post(handle, { jsonrpc: "2.0", id: 9, method: "tools/list" }, session);
  expect(new TextDecoder().decode((await reader?.read())?.value)).toContain("notifications/tools/list_changed");
  await reader?.cancel();
  await clock.advance(999);
  expect((await post(handle, { jsonrpc: "2.0", id: 10, method: "ping" }, session)).status).toBe(200);
  await clock.advance(1_000);
  expect((await post(handle, { jsonrpc: "2.0", id: 11, method: "ping" }, session)).status).toBe(404);
  await handle.close();
});

test("E15 over a port, a session with an open stream stays, and one whose client has disconnected expires", async () => {
  const { runtime } = await openRuntime({ tools: [] });
  const clock = new FakeClock();
  const { url } = await listening(runtime, { sessionIdleMs: 1_000, ports: { clock } });
  const { post: ask, get } = await rawSession(url, "2025-11-25");
  const ping = async (id: number): Promise<number> => (await ask({ jsonrpc: "2.0", id, method: "ping" })).status;
  const stream = await get();
  await clock.advance(5_000);
  expect(await ping(1)).toBe(200);
  await stream.body?.cancel();
  await vi.waitFor(async () => {
    await clock.advance(1_000);
    expect(await ping(2)).toBe(404);
  });
});

/** Resources of one server, listed as slowly as the test wants. */
function listing(): {
  readonly provider: { listResources(): Promise<JsonObject>; readResource(): Promise<JsonObject> };
  readonly lists: ((uris: readonly string[]) => void)[];
} {
  const lists: ((uris: readonly string[]) => void)[] = [];
  const listResources = (): Promise<JsonObject> =>
    new Promise((resolve) => lists.push((uris) => resolve({ resources: uris.map((uri) => ({ uri, name: uri })) })));
  return { lists, provider: { listResources, readResource: async () => ({ contents: [] }) } };
}

test("D13 E08 a thousand reads of unlisted resources list each server once, not a thousand times", async () => {
  const { provider, lists } = listing();
  const { runtime } = await openRuntime({});
  const { client } = await overStdio(runtime, { era: "legacy", providers: [provider] });
  const reads = Array.from({ length: 1_000 }, (_, index) => client.readResource({ uri: `none:${index}` }));
  await vi.waitFor(() => expect(lists).toHaveLength(1));
  await client.ping();
  expect(lists).toHaveLength(1);
  lists[0]?.([]);
  expect(await Promise.all(reads)).toHaveLength(1_000);
});

test("D13 a request that stops waiting for a list does not affect the others, and a server that does not answer is left out", async () => {
  const { provider, lists } = listing();
  const clock = new FakeClock();
  const log = new MemoryLog();
  const { runtime } = await openRuntime({});
  const { client } = await overStdio(runtime, { era: "legacy", providers: [provider], ports: { clock, log } });
  const stop = new AbortController();
  const first = client.listResources(undefined, { signal: stop.signal });
  const second = client.listResources();
  await vi.waitFor(() => expect(lists).toHaveLength(1));
  stop.abort();
  await expect(first).rejects.toThrow();
  await client.ping();
  lists[0]?.(["a:1"]);
  expect((await second).resources.map(({ uri }) => uri)).toEqual(["a:1"]);
  const third = client.listResources();
  await vi.waitFor(() => expect(lists).toHaveLength(2));
  await clock.advance(10_000);
  expect((await third).resources).toEqual([]);
  expect(log.lines.map(({ message }) => message)).toContain("The resources of the program could not be listed: no answer within 10 s");
});

test("D13 a list that changes while it is being fetched is fetched again", async () => {
  const { provider, lists } = listing();
  const { runtime } = await openRuntime({});
  const { client } = await overStdio(runtime, { era: "legacy", providers: [provider] });
  const old = client.listResources();
  await vi.waitFor(() => expect(lists).toHaveLength(1));
  runtime.registry.register(defineTool({ name: "later", description: "", execute: () => 1 }));
  await client.listTools();
  const current = client.listResources();
  await vi.waitFor(() => expect(lists).toHaveLength(2));
  lists[1]?.(["new:1"]);
  expect((await current).resources.map(({ uri }) => uri)).toEqual(["new:1"]);
  lists[0]?.(["old:1"]);
  await old;
  await client.readResource({ uri: "new:1" });
  expect(lists).toHaveLength(2);
});

test("E09 progress of a tool is forwarded for a hundred reports, then once every 100 ms", async () => {
  const clock = new FakeClock();
  const pass = defineTool({
    name: "pass",
    description: "",
    effects: pure,
    execute: async (_input, { progress }) => {
      for (let done = 0; done < 10_000; done++) {
        progress({ done });
        if (done % 1_000 === 0) await clock.advance(50);
      }
      return "done";
    },
  });
  const { runtime } = await openRuntime({ tools: [pass] });
  const { client } = await overStdio(runtime, { era: "modern", ports: { clock, log: new MemoryLog() } });
  const heard: number[] = [];
  await client.callTool({ name: "pass" }, { onprogress: ({ progress }) => void heard.push(progress) });
  expect(heard).toEqual([...Array.from({ length: 100 }, (_, done) => done), 2_001, 4_001, 6_001, 8_001]);
});

test("E09 notifications that a stdio client does not read are dropped beyond a hundred; responses are not", async () => {
  const inner: Transport = { start: async () => {}, close: async () => {}, send: async () => {} };
  const output = new PassThrough({ highWaterMark: 1 });
  const transport = new ObservedTransport(inner, output, {
    onMessage: () => {},
    onRepeatedId: () => {},
    transformOutgoing: (message) => message,
    onCongestion: () => {},
    onClose: () => {},
  });
  await transport.start();
  expect(output.getMaxListeners()).toBe(0);
  const progress = { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 1, progress: 1 } } as const;
  const all = Array.from({ length: 200 }, () => transport.send(progress));
  all.push(transport.send({ jsonrpc: "2.0", id: 1, result: {} }));
  const sent: unknown[] = [];
  createInterface({ input: output }).on("line", (line) => void sent.push(JSON.parse(line)));
  await Promise.all(all);
  await vi.waitFor(() => expect([sent.length, sent.at(-1)]).toEqual([101, { jsonrpc: "2.0", id: 1, result: {} }]));
  await transport.send(progress);
  await vi.waitFor(() => expect(sent).toHaveLength(102));
  inner.onclose?.();
  expect(output.getMaxListeners()).toBeGreaterThan(0);
});

test("E08 listen requests follow at most a thousand resources, and cancelled ones make room", async () => {
  const watched = new Map<string, number>();
  const listened = new ListenRequests((uri) => {
    watched.set(uri, (watched.get(uri) ?? 0) + 1);
    return () => void watched.delete(uri);
  });
  const listen = (id: unknown, uris: readonly unknown[]): void =>
    listened.handleMessage({ id, method: "subscriptions/listen", params: { notifications: { resourceSubscriptions: uris } } });
  const cancel = (id: number): void => listened.handleMessage({ method: "notifications/cancelled", params: { requestId: id } });
  for (let id = 0; id < 10_000; id++) listen(id, [`a:${id}`]);
  expect([watched.size, watched.has("a:999")]).toEqual([1_000, true]);
  for (let id = 0; id < 10_000; id++) cancel(id);
  expect(watched.size).toBe(0);
  for (let id = 0; id < 10_000; id++) {
    listen(id, [`b:${id}`, 7]);
    cancel(id);
    cancel(id);
  }
  listen(1, ["c:1"]);
  listen(1, ["c:2"]);
  expect([...watched]).toEqual([["c:2", 1]]);
  for (const message of [null, 7, {}, { method: "subscriptions/listen" }, { method: "notifications/cancelled" }])
    listened.handleMessage(message);
  listened.close();
  await settle();
  expect(watched.size).toBe(0);
});

test("F2.29 colliding names are listed once: a tool with a reserved name gives way, and two tools of one name are distinguished", async () => {
  const named = (name: string): Tool => defineTool({ name, description: "", effects: pure, execute: () => name });
  const { runtime } = await openRuntime({
    tools: [named("haft_validate_input")],
    toolsets: [
      { name: "a", tools: [named("b__c")] },
      { name: "a__b", tools: [named("c")] },
    ],
  });
  const { client } = await overStdio(runtime, { era: "modern", session: "none", tools: { validate: true } });
  const names = (await client.listTools()).tools.map(({ name }) => name);
  expect(names).toEqual(["haft_validate_input", "a__b__c", expect.stringMatching(/^a__b__c__[0-9a-f]{16}$/u)]);
  const answers = await Promise.all(names.slice(1).map((name) => client.callTool({ name })));
  expect(new Set(answers.map(({ content }) => String(Reflect.get(Object(content[0]), "text"))))).toEqual(new Set(["b__c", "c"]));
});
