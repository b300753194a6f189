/** Requests whose store fails after their call was made. */
import { ToolError, createRuntime, defineTool } from "haft";
import { createClient } from "haft/client";
import { createServer, staticToken } from "haft/server";
import { expect, onTestFinished, test } from "vitest";
import { MemoryAccess } from "../../../src/store/memory/memory-access.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { FailingStore } from "../../runtime/session/failing-store.ts";

const TOKEN = "a-token-for-the-tests";
const PAY = { params: { sessionId: "s" }, body: { calls: [{ name: "pay" }] } };

test("I04 a client does not retry a call whose result could not be stored, and retries one that did not start", async () => {
  const store = new FailingStore();
  const full = new ToolError("store_failed", "The disk is full.");
  let paid = 0;
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    effects: { writes: ["money"] },
    execute() {
      store.durableError = paid++ === 0 ? full : undefined;
      return "paid";
    },
  });
  const runtime = createRuntime({ store, tools: [pay] });
  const server = createServer(runtime, { auth: staticToken({ token: TOKEN }) });
  onTestFinished(async () => {
    await server.close();
    await runtime.close();
  });
  const { url } = await server.listen({ port: 0 });
  const asked: (string | null)[] = [];
  const client = createClient({
    url,
    token: TOKEN,
    async fetch(address, init) {
      const answer = await fetch(address, init);
      asked.push(`${answer.status} ${answer.headers.get("x-should-retry")}`);
      if (asked.length > 1) store.durableError = undefined;
      return answer;
    },
  });
  await client.call("createSession", { body: { id: "s" } });
  await expect(client.call("executeInSession", PAY)).rejects.toMatchObject({ status: 503 });
  expect([paid, asked]).toEqual([1, ["201 false", "503 false"]]);
  store.durableError = full;
  await expect(client.call("executeInSession", PAY)).resolves.toMatchObject({ results: [{ status: "ok" }] });
  expect([paid, asked.slice(2)]).toEqual([2, ["503 true", "200 false"]]);
});

test("I11 a keyed request rejected by a full store runs once when it is retried with the same key", async () => {
  const store = new FailingStore();
  const full = new ToolError("store_failed", "The disk is full.");
  let paid = 0;
  const pay = defineTool({ name: "pay", description: "Pays.", effects: { writes: ["money"] }, execute: () => ++paid });
  const runtime = createRuntime({ store, tools: [pay] });
  Object.assign(store, { access: new MemoryAccess() });
  const server = createServer(runtime, { auth: staticToken({ token: TOKEN }) });
  onTestFinished(async () => {
    await server.close();
    await runtime.close();
  });
  const { url } = await server.listen({ port: 0 });
  const send = async (path: string) => {
    const answer = await fetch(`${url}/v1${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json", "idempotency-key": "one" },
      body: JSON.stringify({ calls: [{ name: "pay" }] }),
    });
    return { status: answer.status, shouldRetry: answer.headers.get("x-should-retry"), body: await answer.json() };
  };
  await runtime.session("s").addMessage({ role: "user", content: "buy" });
  for (const path of ["/sessions/s/execute", "/execute"]) {
    paid = 0;
    store.durableError = full;
    for (let time = 0; time < 2; time++) expect(await send(path)).toMatchObject({ status: 503, shouldRetry: "true" });
    expect(paid).toBe(0);
    store.durableError = undefined;
    const done = await send(path);
    expect(done).toMatchObject({ status: 200, body: { results: [{ status: "ok", output: 1 }] } });
    expect(await send(path)).toEqual(done);
    expect(paid).toBe(1);
  }
});

test("F0.12 a session with the id of one that is being removed is created after the removal", async () => {
  const store = memoryStore();
  const look = defineTool({ name: "look", description: "Looks.", execute: () => "seen" });
  const runtime = createRuntime({ store, tools: [look] });
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const remove = store.remove.bind(store);
  Object.assign(store, { remove: async (id: string) => (begun.resolve(), await goOn.promise, remove(id)) });
  const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), mcp: false });
  onTestFinished(async () => void (await runtime.close()));
  const ask = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    return (await server.fetch(new Request(`http://localhost/v1${path}`, { method, headers, ...sent }))).status;
  };
  expect(await ask("POST", "/sessions", { id: "s" })).toBe(201);
  const removed = ask("DELETE", "/sessions/s");
  await begun.promise;
  const [used, created] = [ask("POST", "/sessions/s/execute", { calls: [{ name: "look" }] }), ask("POST", "/sessions", { id: "s" })];
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve)); // both are under way
  goOn.resolve();
  expect([await removed, await created]).toEqual([204, 201]);
  expect([200, 404]).toContain(await used);
  expect(await ask("GET", "/sessions/s")).toBe(200);
});
