/** DESIGN 14, audit by principal: calls that come in outside of a session are in it as well, whatever becomes of them. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Keys, openServerAccess, staticToken } from "haft/server";
import { expect, onTestFinished, test } from "vitest";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { readAudit, type AuditEntry, type AuditOptions } from "../../../src/server/auth/audit.ts";
import { removeExpiredSessions } from "../../../src/server/remove-expired-sessions.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { TASKS, raw, rawResponse } from "../mcp-raw.ts";
import { TOKEN, startApi, type ApiServer } from "./api-server.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SECRET = "Buy milk";

async function keyedApi(limits: Parameters<typeof startApi>[0] = {}) {
  const { access } = memoryStore();
  const auth = await openServerAccess({ access, others: [staticToken({ token: TOKEN, id: "boss" })] }, systemPorts);
  const { key, stored } = await new Keys(access, systemPorts).add({
    name: "ci",
    scopes: ["execute", "simulate"],
    allow: ["notes::*"],
    deny: ["notes::fail"],
  });
  const api = await startApi({ auth, ...limits });
  return { api, access, key, principal: `key:${stored.id}` };
}

/** Once the server has written them. */
async function audited({ runtime, server }: ApiServer, options: AuditOptions = {}): Promise<readonly AuditEntry[]> {
  await server.close();
  return runtime.store === undefined ? [] : readAudit(runtime.store, options, () => {});
}

function shown(entries: readonly AuditEntry[]): readonly string[] {
  return entries.flatMap((entry) =>
    entry.type === "call"
      ? [[entry.principal, entry.via, entry.toolName, entry.outcome, entry.errorCode].filter((word) => word !== undefined).join(" ")]
      : [],
  );
}

async function mcpClient({ url }: ApiServer, key: string): Promise<Client> {
  const client = new Client({ name: "test", version: "1.0.0" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers: { authorization: `Bearer ${key}` } } }),
  );
  onTestFinished(() => client.close());
  return client;
}

test("each call of POST /v1/execute is in the audit with its principal, outcome and trace, and without its input", async () => {
  const { api, key, principal } = await keyedApi();
  const calls = [
    { name: "notes::add", input: { text: SECRET } },
    { name: "notes::lost", input: { SECRET } },
    { name: "notes::fail" },
    { name: "notes::list", input: [] },
  ];
  const headers = { traceparent: `00-${TRACE}-b7ad6b7169203331-01` };
  const { json } = await api.ask("POST", "/v1/execute", { token: key, body: { calls }, headers });
  await api.ask("POST", "/v1/execute", { body: { calls: [{ name: "notes::fail" }] } });
  const entries = await audited(api);
  expect(shown(entries).toSorted()).toEqual([
    "boss api notes::fail error execution_failed",
    `${principal} api notes::add ok`,
    `${principal} api notes::fail error permission_denied`,
    `${principal} api notes::list error ${json.results[3].error.code}`,
    `${principal} api notes::lost error not_found`,
  ]);
  expect(entries.find((entry) => entry.type === "call" && entry.outcome === "ok")).toEqual({
    type: "call",
    at: expect.any(Number),
    callId: json.results[0].callId,
    toolName: "notes::add",
    via: "api",
    outcome: "ok",
    durationMs: expect.any(Number),
    principal,
    traceId: TRACE,
  });
  expect(JSON.stringify(entries)).not.toContain(SECRET);
});

test("the audit shows who approved a call without a session, and that a denied call was denied", async () => {
  const { api } = await keyedApi();
  for (const answer of ["allow-once", "deny"]) {
    const running = api.ask("POST", "/v1/execute", { body: { calls: [{ name: "notes::erase" }] } });
    const open = async (): Promise<{ readonly id: string; readonly digest: string } | undefined> =>
      (await api.runtime.approvals.pending())[0];
    await expect.poll(open, { timeout: 10_000 }).toBeDefined();
    const { id, digest } = (await open()) ?? { id: "", digest: "" };
    await api.runtime.approvals.answer({ id, digest, answer: answer as "deny", by: "key:bob" });
    await running;
  }
  const entries = await audited(api, { tool: "notes::erase" });
  expect(entries.map((entry) => (entry.type === "call" ? [entry.errorCode, entry.approvedBy] : []))).toEqual([
    ["approval_denied", undefined],
    [undefined, "key:bob"],
  ]);
});

test("simulated calls are in the audit, with and without a session", async () => {
  const { api, key, principal } = await keyedApi();
  const body = { calls: [{ name: "notes::list" }] };
  await api.ask("POST", "/v1/simulate", { token: key, body });
  await api.ask("POST", "/v1/sessions/desk/simulate", { token: key, body });
  const entries = await audited(api);
  const call = { type: "call", principal, via: "api", toolName: "notes::list", outcome: "ok", simulated: true };
  expect(entries).toMatchObject([{ ...call, sessionId: "desk" }, call]);
});

test("a request refused for its limits is in the audit once, as a refused request", async () => {
  const { api, access, key, principal } = await keyedApi({ limits: { maxConcurrentCalls: 1 } });
  const waiting = api.ask("POST", "/v1/execute", { token: key, body: { calls: [{ name: "notes::wait" }] } });
  await api.gate.entered.promise;
  expect((await api.ask("POST", "/v1/execute", { token: key, body: { calls: [{ name: "notes::list" }] } })).status).toBe(429);
  api.gate.open();
  await waiting;
  expect(shown(await audited(api))).toEqual([`${principal} api notes::wait ok`]);
  expect(await access.refusals()).toMatchObject([{ status: 429, principal, path: "/v1/execute", toolNames: ["notes::list"] }]);
});

test("a request refused for its limits lists its tools once each, with only the names that its sender may know", async () => {
  const { api, access, key } = await keyedApi({ limits: { maxConcurrentCalls: 3 } });
  const waiting = api.ask("POST", "/v1/execute", {
    token: key,
    body: { calls: Array.from({ length: 3 }, () => ({ name: "notes::wait" })) },
  });
  await api.gate.entered.promise;
  const body = { calls: [{ name: "list" }, { name: "fail" }, { name: "list" }] };
  await api.ask("POST", "/v1/sessions/desk/execute", { token: key, body });
  const message = { role: "assistant", tool_calls: [{ id: "1", type: "function", function: { name: "notes__add", arguments: "{}" } }] };
  await api.ask("POST", "/v1/execute", { token: key, body: { message, format: "openai-chat" } });
  for (const name of ["notes__list", "fail", "lost"])
    await rawResponse(`${api.url}/mcp`, "tools/call", { name, arguments: {} }, { headers: { authorization: `Bearer ${key}` } });
  api.gate.open();
  await waiting;
  await api.server.close();
  expect((await access.refusals()).map(({ path, toolNames }) => [path, toolNames])).toEqual([
    ["/mcp", ["lost"]],
    ["/mcp", ["fail"]],
    ["/mcp", ["notes::list"]],
    ["/v1/execute", ["notes::add"]],
    ["/v1/sessions/desk/execute", ["notes::list", "fail"]],
  ]);
});

test("a request refused before its body is read lists the tool named in a header, or none", async () => {
  const { api, access, key, principal } = await keyedApi({ limits: { maxRequestsPerMinute: 1 } });
  await api.ask("POST", "/v1/execute", { token: key, body: { calls: [{ name: "notes::list" }] } });
  await api.ask("POST", "/v1/execute", { token: key, body: { calls: [{ name: "notes::list" }] } });
  const call = (headers: Readonly<Record<string, string>>): Promise<Response> =>
    rawResponse(
      `${api.url}/mcp`,
      "tools/call",
      { name: "notes__list", arguments: {} },
      { headers: { authorization: `Bearer ${key}`, ...headers } },
    );
  await call({});
  await call({ "mcp-name": `=?base64?${Buffer.from("notes__add").toString("base64")}?=` });
  await api.server.close();
  expect((await access.refusals()).map((refusal) => [refusal.principal, refusal.path, refusal.toolNames])).toEqual([
    [principal, "/mcp", ["notes::add"]],
    [principal, "/mcp", ["notes::list"]],
    [principal, "/v1/execute", undefined],
  ]);
});

test("each call of an MCP client of 2026-07-28 is in the audit, even to unknown tools and tools that it may not see", async () => {
  const { api, key, principal } = await keyedApi();
  const client = await mcpClient(api, key);
  const call = (name: string, input: object = {}): Promise<unknown> => client.callTool({ name, arguments: { ...input } });
  await call("notes__add", { text: SECRET });
  await call("notes__add", {});
  await expect(call("notes__fail")).rejects.toThrow("Unknown tool");
  await expect(call("lost")).rejects.toThrow("Unknown tool");
  const entries = await audited(api);
  expect(shown(entries).toSorted()).toEqual([
    `${principal} mcp lost error not_found`,
    `${principal} mcp notes::add error invalid_input`,
    `${principal} mcp notes::add ok`,
    `${principal} mcp notes::fail error permission_denied`,
  ]);
  expect(JSON.stringify(entries)).not.toContain(SECRET);
});

test("concurrent tools/call messages are each in the audit", async () => {
  const { api, key } = await keyedApi();
  const params = { name: "notes__add", arguments: { text: SECRET } };
  const answers = Array.from({ length: 50 }, () =>
    raw(`${api.url}/mcp`, "tools/call", params, { headers: { authorization: `Bearer ${key}` } }),
  );
  await Promise.all(answers);
  expect(await audited(api, { tool: "notes::add" })).toHaveLength(50);
});

test("a call of a client with tasks is in the audit after its session was removed", async () => {
  const { api, key, principal } = await keyedApi();
  const { store } = api.runtime;
  const params = { name: "notes__add", arguments: { text: SECRET } };
  await rawResponse(`${api.url}/mcp`, "tools/call", params, { headers: { authorization: `Bearer ${key}` }, capabilities: TASKS });
  const tasks = async (): Promise<number> =>
    ((await store?.list()) ?? []).filter(({ sessionId }) => sessionId.startsWith("mcp-task-")).length;
  await expect.poll(tasks, { timeout: 10_000 }).toBe(0);
  const entries = await audited(api);
  expect(entries).toMatchObject([{ type: "call", via: "mcp", principal, toolName: "notes::add", outcome: "ok" }]);
});

test("a call with an Idempotency-Key is in the audit once, even after the session of its key was removed", async () => {
  const { api, key, principal } = await keyedApi();
  const body = { calls: [{ name: "notes::add", input: { text: SECRET } }] };
  for (let times = 0; times < 2; times++)
    await api.ask("POST", "/v1/execute", { token: key, body, headers: { "idempotency-key": "once" } });
  const before = await audited(api);
  expect(before).toMatchObject([{ type: "call", principal, toolName: "notes::add", outcome: "ok" }]);
  await removeExpiredSessions(api.runtime, { prefix: "haft-request-", via: "api", before: Infinity, shouldStop: () => false });
  expect(await api.runtime.store?.list()).toEqual([expect.objectContaining({ sessionId: "desk" })]);
  expect(await audited(api)).toEqual(before.map((entry) => ({ ...entry, via: "api" })));
});

test("calls that are running when the server stops are in the audit, each as cancelled", async () => {
  const { api, key, principal } = await keyedApi();
  const body = { calls: [{ name: "notes::wait" }, { name: "notes::wait" }] };
  const client = await mcpClient(api, key);
  const answers = Promise.allSettled([
    api.ask("POST", "/v1/execute", { token: key, body }),
    api.ask("POST", "/v1/execute", { body: { ...body, waitMs: 0 } }),
    client.callTool({ name: "notes__wait", arguments: {} }),
  ]);
  await expect.poll(() => api.runtime.running.length, { timeout: 10_000 }).toBe(5);
  const entries = await audited(api);
  expect(shown(entries).toSorted()).toEqual([
    ...Array<string>(2).fill("boss api notes::wait cancelled cancelled"),
    ...Array<string>(2).fill(`${principal} api notes::wait cancelled cancelled`),
    `${principal} mcp notes::wait cancelled cancelled`,
  ]);
  await answers;
});
