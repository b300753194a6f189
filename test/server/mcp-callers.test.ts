import { expect, test, vi } from "vitest";
import type { ToolContext } from "../../src/core/context.ts";
import { pure } from "../../src/core/resources/effects.ts";
import type { Tool } from "../../src/core/tool.ts";
import type { Principal, Scope } from "../../src/server/auth/principal.ts";
import { FakePeer } from "./fake-peer.ts";
import { ERAS, listening, openRuntime, overHttp } from "./mcp-clients.ts";
import { raw, TASKS } from "./mcp-raw.ts";

const ABLE = { capabilities: TASKS };

const principal = (name: string, scopes: readonly Scope[]): Principal => ({ id: `key:${name}`, name, scopes: new Set(scopes) });
const KNOWN: ReadonlyMap<string, Principal> = new Map([
  ["Bearer ann", principal("ann", ["execute"])],
  ["Bearer bob", { ...principal("bob", ["admin"]), tools: { deny: ["wipe"] } }],
  ["Bearer eve", principal("eve", ["read"])],
]);
const authenticator = { authenticate: async ({ headers }: Request) => KNOWN.get(headers.get("authorization") ?? "") };
const as = (name: string): { readonly authorization: string } => ({ authorization: `Bearer ${name}` });

const tool = (name: string, execute: Tool["execute"]): Tool =>
  ({ name, description: name, effects: pure, inputSchema: { type: "object" }, execute }) as Tool; // with a handler

async function serving() {
  const gate = Promise.withResolvers<string>();
  const { runtime } = await openRuntime({
    tools: [
      tool("who", (_input: unknown, { data }: ToolContext) => (JSON.stringify(data).includes("key:ann") ? "ann" : "another")),
      tool("wipe", () => "wiped"),
      tool("through", async (_input: unknown, { execute }: ToolContext) => (await execute({ name: "wipe", input: {} })).status),
      { ...tool("slow", () => gate.promise), mode: "background" },
    ],
  });
  const { url } = await listening(runtime, {
    authenticator,
    toolsFor: ({ name }) => (name === "ann" ? { allow: ["who", "slow", "through"] } : undefined),
  });
  return { url, gate };
}

test("issue 19.7 a request without valid credentials gets 401, and a caller without the scope execute gets 403", async () => {
  const { url } = await serving();
  const ask = async (headers: Readonly<Record<string, string>>): Promise<readonly [number, string | null]> => {
    const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: "{}" });
    return [response.status, response.headers.get("www-authenticate")];
  };
  expect(await ask({})).toEqual([401, "Bearer"]);
  expect(await ask(as("mallory"))).toEqual([401, "Bearer"]);
  expect(await ask(as("eve"))).toEqual([403, 'Bearer error="insufficient_scope", scope="execute"']);
});

test("issue 19.7 rules apply to the credentials of each request of a session (2025-11-25), not to those at its start", async () => {
  const { runtime } = await openRuntime({ tools: [tool("look", () => "seen"), tool("wipe", () => "wiped")] });
  let groups: readonly string[] = ["ops"];
  const { url } = await listening(runtime, {
    authenticator: { authenticate: async () => ({ ...principal("ann", ["execute"]), claims: { groups } }) },
    toolsFor: ({ claims }) => (JSON.stringify(claims).includes("ops") ? undefined : { deny: ["wipe"] }),
  });
  const client = await overHttp(url, { era: "legacy" });
  const names = async (): Promise<readonly string[]> => (await client.listTools()).tools.map(({ name }) => name);
  expect(await names()).toContain("wipe");
  groups = []; // as a renewed token of the same person says
  expect(await names()).not.toContain("wipe");
  await expect(client.callTool({ name: "wipe", arguments: {} })).rejects.toThrow("Unknown tool");
});

test.each(ERAS)(
  "issue 19.7 each caller sees and calls only its own tools, even through handlers, which know the caller (%s)",
  async (era) => {
    const { url } = await serving();
    const names = async (name: string): Promise<readonly string[]> => {
      const client = await overHttp(url, { era, headers: as(name) });
      return (await client.listTools()).tools.map((listed) => listed.name).filter((listed) => !listed.startsWith("haft__"));
    };
    expect(await names("ann")).toEqual(["slow", "through", "who"]);
    expect(await names("bob")).toEqual(["slow", "through", "who"]);
    const client = await overHttp(url, { era, headers: as("ann") });
    expect(await client.callTool({ name: "who", arguments: {} })).toMatchObject({ content: [{ text: "ann" }] });
    await expect(client.callTool({ name: "wipe", arguments: {} })).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringContaining("Unknown tool"),
    });
    expect(await client.callTool({ name: "through", arguments: {} })).toMatchObject({ content: [{ text: "error" }] });
  },
);

test.each(ERAS)("issue 19.7 a caller is notified only of changes to the tools and servers that it sees (%s)", async (era) => {
  const peers = { shown: new FakePeer("shown", []), hidden: new FakePeer("hidden", []) };
  const { runtime } = await openRuntime({ toolsets: [peers.shown.toolset(["look"]), peers.hidden.toolset(["look"])] });
  const { url } = await listening(runtime, {
    authenticator,
    toolsFor: ({ name }) => (name === "ann" ? { allow: ["seen_tool", "shown::*"] } : undefined),
  });
  const told: Record<string, string[]> = { ann: [], bob: [] };
  for (const name of ["ann", "bob"]) {
    const client = await overHttp(url, { era, headers: as(name) });
    client.setNotificationHandler("notifications/tools/list_changed", () => void told[name]?.push("tools"));
    client.setNotificationHandler("notifications/prompts/list_changed", () => void told[name]?.push("prompts"));
    if (era === "modern") await client.listen({ toolsListChanged: true, promptsListChanged: true });
    await client.listTools();
  }
  const change = async (what: () => void, by: Readonly<Record<string, number>>): Promise<void> => {
    what();
    await (await overHttp(url, { era, headers: as("bob") })).listTools(); // what has changed is noticed by then
    await vi.waitFor(() => expect(Object.fromEntries(Object.entries(told).map(([name, all]) => [name, all.length]))).toEqual(by));
  };
  await change(() => runtime.registry.register(tool("unseen", () => 1)), { ann: 0, bob: 1 });
  await change(() => peers.hidden.tell("notifications/prompts/list_changed"), { ann: 0, bob: 2 });
  await change(() => runtime.registry.register(tool("seen_tool", () => 1)), { ann: 1, bob: 3 });
  await change(() => peers.shown.tell("notifications/prompts/list_changed"), { ann: 2, bob: 4 });
  expect(told).toEqual({ ann: ["tools", "prompts"], bob: ["tools", "prompts", "tools", "prompts"] });
});

test("issue 19.7 a task belongs to its caller: for others its id is unknown", async () => {
  const { url, gate } = await serving();
  const { result } = await raw(url, "tools/call", { name: "slow", arguments: {} }, { ...ABLE, headers: as("ann") });
  const taskId = String(result["taskId"]);
  for (const method of ["tasks/get", "tasks/update", "tasks/cancel"])
    expect((await raw(url, method, { taskId, inputResponses: {} }, { ...ABLE, headers: as("bob") })).error).toMatchObject({
      code: -32_602,
    });
  expect((await raw(url, "tasks/get", { taskId }, { ...ABLE, headers: as("ann") })).result).toMatchObject({ status: "working" });
  gate.resolve("done");
});

test("issue 19.7 a session of the older revision belongs to its caller", async () => {
  const { url } = await serving();
  const client = await overHttp(url, { era: "legacy", headers: as("ann") });
  const session = client.transport?.sessionId ?? "";
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream", "mcp-session-id": session, ...as("bob") },
    body: JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/list" }),
  });
  expect(response.status).toBe(404);
});

test("issue 19.7 /health answers everyone, and reveals only that the server runs", async () => {
  const { url } = await serving();
  const response = await fetch(new URL("/health", url));
  expect([response.status, await response.json()]).toEqual([200, { status: "ok" }]);
  expect((await fetch(new URL("/healthy", url))).status).toBe(404);
});
