/** Issue 19.5: keys of the store over HTTP and MCP: what they see, when they end, and what is kept of refusals. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Keys, openServerAccess } from "haft/server";
import { expect, test } from "vitest";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { startApi } from "./api-server.ts";
import { testInCI } from "../../test-in-ci.ts";

async function keyedApi() {
  const { access } = memoryStore();
  const keys = new Keys(access, systemPorts);
  const api = await startApi({ auth: await openServerAccess({ access, rules: [{ deny: ["notes::erase"] }] }, systemPorts) });
  return { api, access, keys };
}

const LIST = { jsonrpc: "2.0", id: 1, method: "tools/list" };

test("issue 19.5 a key with patterns sees and calls only matching tools, over HTTP and over MCP", async () => {
  const { api, keys } = await keyedApi();
  const { key } = await keys.add({ name: "reader", scopes: ["read", "execute"], allow: ["notes::list", "notes::erase"] });
  const { json } = await api.ask("GET", "/v1/tools", { token: key });
  expect(json.tools).toEqual([expect.objectContaining({ name: "notes::list", effect: "reads" })]);
  const calls = [{ name: "notes::list" }, { name: "notes::add", input: { text: "Buy milk" } }];
  const { json: ran } = await api.ask("POST", "/v1/execute", { token: key, body: { calls, allow: ["notes::*"] } });
  expect(ran.results.map(({ status }: { readonly status: string }) => status)).toEqual(["ok", "error"]);
  const { json: narrowed } = await api.ask("POST", "/v1/execute", { token: key, body: { calls, allow: ["notes::add"] } });
  expect(narrowed.results.map(({ status }: { readonly status: string }) => status)).toEqual(["error", "error"]);

  const client = new Client({ name: "test", version: "1" });
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${api.url}/mcp`), { requestInit }));
  expect((await client.listTools()).tools.map(({ name }) => name).filter((name) => name.startsWith("notes"))).toEqual(["notes__list"]);
  await expect(client.callTool({ name: "notes__add", arguments: { text: "Buy milk" } })).rejects.toThrow("Unknown tool");
  await client.close();
  expect(api.added).toEqual([]);
});

test("issue 19.5 a revoked key is rejected, over HTTP and over MCP", async () => {
  const { access } = memoryStore();
  const keys = new Keys(access, systemPorts);
  const api = await startApi({ auth: keys });
  const { key, stored } = await keys.add({ name: "CI", scopes: ["read", "execute"] });
  expect((await api.ask("GET", "/v1/tools", { token: key })).status).toBe(200);
  await keys.revoke(stored.id);
  expect((await api.ask("GET", "/v1/tools", { token: key })).status).toBe(401);
  expect((await api.ask("POST", "/mcp", { token: key, body: LIST })).status).toBe(401);
});

test("issue 19.5 a wrong token gets invalid_token, a missing scope is named, and both are stored as refused requests", async () => {
  const { api, access, keys } = await keyedApi();
  const { key } = await keys.add({ name: "reader", scopes: ["read"] });
  const invalid = 'Bearer realm="haft", error="invalid_token"';
  const lacking = 'Bearer realm="haft", error="insufficient_scope", scope="execute"';
  for (const path of ["/v1/execute", "/mcp"]) {
    const unknown = await api.ask("POST", path, { token: "wrong", body: LIST });
    expect([unknown.status, unknown.headers.get("www-authenticate")]).toEqual([401, invalid]);
    const denied = await api.ask("POST", path, { token: key, body: LIST });
    expect([denied.status, denied.headers.get("www-authenticate")]).toEqual([403, lacking]);
    expect(denied.headers.get("x-content-type-options")).toBe("nosniff");
  }
  await api.ask("GET", "/v1/tools", { token: key, headers: { origin: "http://evil.example" } });
  await api.server.close();
  const kept = await access.refusals({ limit: 10 });
  expect(kept.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([401, 401, 403, 403, 403]);
});

test("issue 19.8 an approval over HTTP records who gave it, and may cover more than the one call", async () => {
  const { access } = memoryStore();
  const keys = new Keys(access, systemPorts);
  const api = await startApi({ auth: keys });
  const { key, stored } = await keys.add({ name: "ann", scopes: ["admin"] });
  const body = { calls: [{ name: "notes::erase" }] };
  const running = api.ask("POST", "/v1/sessions/desk/execute", { token: key, body });
  const pending = async () => (await api.ask("GET", "/v1/approvals", { token: key })).json.approvals;
  await expect.poll(async () => (await pending()).length, { timeout: 240_000 }).toBe(1);
  const [{ id, callId, digest }] = await pending();
  const page = await keys.addSessionKey({ name: "page", scopes: ["approve"], sessionId: "desk" });
  const answer = { answer: "allow", digest };
  const asRule = await api.ask("POST", `/v1/approvals/${callId}`, { token: page.key, body: { ...answer, scope: "rule" } });
  expect(asRule.status).toBe(403);
  expect((await api.ask("POST", `/v1/approvals/${callId}`, { token: key, body: { ...answer, scope: "tool" } })).json).toEqual({
    decided: true,
  });
  expect((await running).json.results[0].status).toBe("ok");
  expect(await api.runtime.approvals.get(id)).toMatchObject({ answeredBy: `key:${stored.id}`, scope: "tool" });
  expect((await api.ask("POST", "/v1/sessions/desk/execute", { token: key, body })).json.results[0].status).toBe("ok");
});

test("issue 19.5 a session key is rejected at /mcp, which is outside its session", async () => {
  const { api, keys } = await keyedApi();
  const { key } = await keys.addSessionKey({ name: "page", scopes: ["read", "execute"], sessionId: "desk" });
  expect((await api.ask("POST", "/mcp", { token: key, body: LIST })).status).toBe(403);
});

test("issue 19.5 a key with only the scope execute can fetch the results of its own calls, and not those of another key", async () => {
  const { api, keys } = await keyedApi();
  const [own, other] = [await keys.add({ name: "own", scopes: ["execute"] }), await keys.add({ name: "other", scopes: ["read"] })];
  const body = { calls: [{ name: "notes::wait", input: {} }], waitMs: 0 };
  const { status, headers } = await api.ask("POST", "/v1/sessions/desk/execute", { token: own.key, body });
  const location = headers.get("location") ?? "";
  expect(status).toBe(202);
  expect((await api.ask("GET", location, { token: own.key })).status).toBe(202);
  expect((await api.ask("GET", location, { token: other.key })).status).toBe(404);
  expect((await api.ask("GET", location, { token: null })).status).toBe(401);
});

testInCI("issue 19.5 a waiting request gets no result once its key is revoked", async () => {
  const { api, keys } = await keyedApi();
  const { key, stored } = await keys.add({ name: "own", scopes: ["execute"] });
  const body = { calls: [{ name: "notes::wait", input: {} }], waitMs: 0 };
  const { headers } = await api.ask("POST", "/v1/sessions/desk/execute", { token: key, body });
  const waiting = api.ask("GET", `${headers.get("location") ?? ""}&waitMs=20000`, { token: key });
  await new Promise((resolve) => setTimeout(resolve, 200)); // it has been let in
  await keys.revoke(stored.id);
  setTimeout(() => api.gate.open(), 1_500);
  expect((await waiting).status).toBe(401);
});

test("issue 19.5 a session key cannot read the server's metrics, and sees only its own tools counted", async () => {
  const { api, keys } = await keyedApi();
  const { key } = await keys.addSessionKey({ name: "page", scopes: ["read"], sessionId: "desk", allow: ["notes::add"] });
  expect((await api.ask("GET", "/metrics", { token: key })).status).toBe(403);
  expect((await api.ask("GET", "/v1/info", { token: key })).json.tools).toBe(1);
});
