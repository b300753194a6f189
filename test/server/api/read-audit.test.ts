/** DESIGN 14: the audit over HTTP, whole for those with the scope admin and their own for the others, in pages that fit one another. */
import { DatabaseSync } from "node:sqlite";
import { createClient, type QueryInput } from "haft/client";
import { createRuntime } from "haft";
import { createServer, Keys, openServerAccess, staticToken } from "haft/server";
import { sqliteStore } from "haft/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { tool } from "../../runtime/bench-runtime.ts";
import { temporaryFile } from "../../store/temporary-file.ts";
import { TOKEN, startApi } from "./api-server.ts";

const SOON = { timeout: 30_000 };

/** A server with calls of its operator and of a key, in a session and without one, and with a request that was refused. */
async function auditedServer() {
  const path = temporaryFile();
  const store = sqliteStore({ path, synchronous: "normal" });
  const runtime = createRuntime({
    store,
    toolsets: [
      { name: "notes", tools: [tool("list", () => 1), tool("add", () => 2), tool("fail", () => Promise.reject(new Error("no")))] },
    ],
  });
  const auth = await openServerAccess({ access: store.access, others: [staticToken({ token: TOKEN, id: "boss" })] }, systemPorts);
  const server = createServer(runtime, { auth, limits: { graceMs: 50 } });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    await server.close();
    await runtime.close();
  });
  const { key, stored } = await new Keys(store.access, systemPorts).add({ name: "ci", scopes: ["read", "execute"] });
  const [boss, ci, stranger] = [TOKEN, key, "unknown"].map((token) => createClient({ url, token, maxAttempts: 1 }));
  if (boss === undefined || ci === undefined || stranger === undefined) throw new Error("There are three.");
  const call = (name: string) => ({ calls: [{ name: `notes::${name}`, input: {} }] });
  await boss.call("createSession", { body: { id: "desk" } });
  const params = { sessionId: "desk" };
  await boss.call("executeInSession", { params, body: call("add") });
  const { results } = await ci.call("executeInSession", { params, body: call("fail") });
  await ci.call("execute", { body: call("list") });
  await boss.call("execute", { body: call("list") });
  await expect(stranger.call("listTools")).rejects.toMatchObject({ status: 401 });
  const entries = async (client: typeof boss, query: QueryInput<"listAudit"> = {}) => (await client.call("listAudit", { query })).entries;
  await expect.poll(async () => (await entries(boss)).length, SOON).toBe(6); // the rows are written every 200 ms
  return { store, path, url, boss, ci, principal: `key:${stored.id}`, entries, failed: results[0]?.callId };
}

function words(entries: readonly object[]): readonly string[] {
  return entries.map((entry) => {
    const { type, principal = "-", toolName, outcome, status } = entry as Record<string, unknown>;
    return [principal, type, toolName, outcome ?? status].filter((word) => word !== undefined).join(" ");
  });
}

test("a principal with the scope admin sees all entries: calls with and without a session, keys and refused requests", async () => {
  const { boss, principal, entries, failed } = await auditedServer();
  expect(words(await entries(boss)).toSorted()).toEqual([
    "- key-add",
    "- refusal 401",
    "boss call notes::add ok",
    "boss call notes::list ok",
    `${principal} call notes::fail error`,
    `${principal} call notes::list ok`,
  ]);
  expect(await entries(boss, { outcome: "execution_failed" })).toEqual([
    {
      type: "call",
      at: expect.any(Number),
      principal,
      sessionId: "desk",
      callId: failed,
      toolName: "notes::fail",
      outcome: "error",
      errorCode: "execution_failed",
      durationMs: expect.any(Number),
    },
  ]);
});

test("a principal without the scope admin sees only its own entries, whatever the query", async () => {
  const { ci, principal, entries } = await auditedServer();
  const own = [`${principal} call notes::list ok`, `${principal} call notes::fail error`];
  expect(words(await entries(ci)).toSorted()).toEqual(own.toSorted());
  expect(words(await entries(ci, { principal: "*" })).toSorted()).toEqual(own.toSorted());
  expect(await entries(ci, { principal: "boss" })).toEqual([]);
  expect(words(await entries(ci, { tool: "notes::list" }))).toEqual([own[0]]);
});

test("a session key sees only its own calls in its session", async () => {
  const { ci, url, entries } = await auditedServer();
  const params = { sessionId: "desk" };
  const made = await ci.call("createSessionKey", { params, body: { name: "page", scopes: ["read", "execute"] } });
  const page = createClient({ url, token: made.key });
  expect(await entries(page)).toEqual([]);
  await page.call("executeInSession", { params, body: { calls: [{ name: "notes::add", input: {} }] } });
  expect(words(await entries(page))).toEqual([`session:${made.id} call notes::add ok`]);
});

test("the audit takes the same filters as haft audit, and rejects invalid ones", async () => {
  const { boss, principal, entries } = await auditedServer();
  const all = await entries(boss);
  const [newest] = all;
  const at = newest?.at ?? 0;
  expect(words(await entries(boss, { principal: "key:*" })).toSorted()).toEqual([
    `${principal} call notes::fail error`,
    `${principal} call notes::list ok`,
  ]);
  expect(await entries(boss, { since: at + 1 })).toEqual([]);
  expect(await entries(boss, { until: at })).toEqual(all.filter((entry) => entry.at < at));
  for (const query of [{ outcome: "fine" }, { since: 2, until: 1 }, { cursor: "1" }, { limit: 0 }])
    await expect(boss.call("listAudit", { query })).rejects.toMatchObject({ status: 400 });
});

test("pages have each entry once, in one order, even with equal times and while entries are added", async () => {
  const { store, boss, entries } = await auditedServer();
  const at = Date.UTC(2026, 0, 2);
  const calls = Array.from(
    { length: 5 },
    (_, index) => ({ at, callId: `c${index}`, toolName: "old::one", via: "api", outcome: "ok" }) as const,
  );
  await store.access.addCalls({ calls, keep: 1_000 });
  const whole = await entries(boss);
  expect(whole).toHaveLength(11);
  const found: object[] = [];
  let cursor: string | undefined;
  do {
    const page: Awaited<ReturnType<typeof boss.call<"listAudit">>> = await boss.call("listAudit", {
      query: { limit: 2, ...(cursor === undefined ? {} : { cursor }) },
    });
    found.push(...page.entries);
    cursor = page.next;
    await store.access.addCalls({ calls: [{ at: Date.now() + 1_000, toolName: "new::one", via: "mcp", outcome: "ok" }], keep: 1_000 });
  } while (cursor !== undefined);
  expect(found).toEqual(whole);
});

test("a log that was altered is listed as damaged beside the entries", async () => {
  const { boss, path } = await auditedServer();
  expect((await boss.call("listAudit")).damaged).toEqual([]);
  const file = new DatabaseSync(path, { timeout: 10_000 });
  file.exec(`update haft_event set body = replace(body, 'notes::fail', 'notes::fine') where type = 'call-end'`);
  file.close();
  const { entries, damaged } = await boss.call("listAudit");
  expect(damaged).toEqual([{ sessionId: "desk", reason: expect.any(String) }]);
  expect(words(entries)).toContain("boss call notes::list ok");
});

test("a principal without the scope admin cannot infer entries of others from missing or damaged ones", async () => {
  const { store, path, boss, ci, principal, entries } = await auditedServer();
  const body = { calls: [{ name: "notes::list", input: {} }] };
  await boss.call("execute", { body, idempotencyKey: "of-the-boss" });
  const at = Date.now();
  await store.access.addCalls({ calls: [{ at, toolName: "old::one", via: "api", outcome: "ok", principal, missed: 7 }], keep: 1_000 });
  const refused = { status: 429, reason: "too many", method: "POST", path: "/v1/execute" };
  await store.access.addRefusals([{ ...refused, at, principal, missed: 8 }]);
  const missed = async (client: typeof boss): Promise<ReadonlySet<unknown>> =>
    new Set((await entries(client, { since: at, principal })).map((entry) => ("missed" in entry ? entry.missed : undefined)));
  expect([await missed(ci), await missed(boss)]).toEqual([new Set([undefined]), new Set([7, 8])]);
  const file = new DatabaseSync(path, { timeout: 10_000 });
  file.exec(`update haft_event set body = replace(body, 'notes::', 'other::') where type = 'call-end'`);
  file.close();
  const damaged = async (client: typeof boss) => (await client.call("listAudit")).damaged.map(({ sessionId }) => sessionId).toSorted();
  expect([await damaged(ci), await damaged(boss)]).toEqual([["desk"], ["desk", expect.stringMatching(/^haft-request-/u)]]);
});

test("a server without a store has an empty audit", async () => {
  const { ask } = await startApi({ store: "none" });
  const { status, json } = await ask("GET", "/v1/audit");
  expect([status, json]).toEqual([200, { entries: [], damaged: [] }]);
});
