/** Issue 19.5 and 19.6: limits of bytes, and whether a server is ready. */
import { createRuntime, defineTool } from "haft";
import { createServer, staticToken } from "haft/server";
import { sqliteStore } from "haft/sqlite";
import { FakeClock } from "haft/testing";
import type { Store } from "haft/store";
import { expect, onTestFinished, test } from "vitest";
import { localStore } from "../../store/local-store.ts";
import { temporaryFile } from "../../store/temporary-file.ts";
import { TOKEN, startApi } from "./api-server.ts";
import { testInCI } from "../../test-in-ci.ts";

const OTHER = "another-token-for-tests";

interface Asked {
  readonly token?: string;
  readonly body?: unknown;
  /** Sent without its length. */
  readonly isStreamed?: boolean;
}

function openServer({ limits = {}, store }: { readonly limits?: object; readonly store?: Store } = {}) {
  const clock = new FakeClock();
  const gate = Promise.withResolvers<void>();
  const echo = defineTool({
    name: "echo",
    description: "Gives back what it got.",
    inputSchema: { type: "object" },
    effects: { reads: [] },
    execute: (input: object) => input,
  });
  const wait = defineTool({
    name: "wait",
    description: "Waits.",
    mode: "background",
    inputSchema: { type: "object" },
    effects: { reads: [] },
    execute: () => gate.promise,
  });
  const runtime = createRuntime({
    jobs: { maxRunning: 1, maxQueued: 1, maxPerPrincipal: 2 },
    ...(store === undefined ? {} : { store }),
    toolsets: [{ name: "t", tools: [echo, wait] }],
  });
  const [one, other] = [staticToken({ token: TOKEN, id: "one" }), staticToken({ token: OTHER, id: "other" })];
  const auth = { authenticate: async (request: Request) => (await one.authenticate(request)) ?? other.authenticate(request) };
  const server = createServer(runtime, { auth, limits, ports: { clock }, mcp: {} });
  onTestFinished(async () => {
    gate.resolve();
    await runtime.close();
  });
  const ask = async (method: string, path: string, { token = TOKEN, body, isStreamed = false }: Asked = {}) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers: Record<string, string> = { authorization: `Bearer ${token}`, accept: "application/json, text/event-stream" };
    if (text !== undefined) headers["content-type"] = "application/json";
    if (text !== undefined && !isStreamed) headers["content-length"] = String(Buffer.byteLength(text));
    const init = text === undefined ? {} : { body: new Blob([text]).stream(), duplex: "half" as const };
    const response = await server.fetch(new Request(`http://localhost${path}`, { method, headers, ...init }));
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  return { ask, clock, gate };
}

const callWith = (text: string): object => ({ calls: [{ name: "t::echo", input: { text } }] });

test.each([false, true])(
  "issue 19.5 a principal beyond maxBytesPerMinute gets 429 until it has waited, and others do not (length left out: %s)",
  async (isStreamed) => {
    const { ask, clock } = openServer({ limits: { maxBytesPerMinute: 60_000 } });
    const large = await ask("POST", "/v1/tools/t::echo/check", { body: { input: { text: "x".repeat(70_000) } }, isStreamed });
    expect(large.status).toBe(200);
    const refused = await ask("GET", "/v1/info");
    expect([refused.status, refused.headers.get("content-type")]).toEqual([429, "application/problem+json"]);
    expect(JSON.parse(refused.text)).toMatchObject({
      code: "rate_limited",
      detail: "One principal is limited to 60000 bytes of requests and answers in a minute.",
    });
    const waitSeconds = Number(refused.headers.get("retry-after"));
    expect(JSON.parse(refused.text)).toMatchObject({ hint: `Send fewer, or send this again in ${waitSeconds} seconds.` });
    expect(waitSeconds).toBeGreaterThanOrEqual(10);
    expect((await ask("POST", "/mcp", { body: { jsonrpc: "2.0", id: 1, method: "tools/list" } })).status).toBe(429);
    expect((await ask("GET", "/v1/info", { token: OTHER })).status).toBe(200);
    await clock.advance(waitSeconds * 1_000);
    expect((await ask("GET", "/v1/info")).status).toBe(200);
  },
);

test("issue 19.5 the bytes of responses count towards the limit", async () => {
  const { ask } = openServer({ limits: { maxBytesPerMinute: 30_000 } });
  await ask("POST", "/v1/sessions", { body: { id: "desk" } });
  await ask("POST", "/v1/sessions/desk/execute", { body: callWith("x".repeat(6_000)) });
  const statuses: number[] = [];
  for (let index = 0; index < 5; index++) statuses.push((await ask("GET", "/v1/sessions/desk/recording")).status);
  expect([statuses[0], statuses.at(-1)]).toEqual([200, 429]);
});

test("the bytes that an answer to HEAD says and does not send do not count", async () => {
  const { ask } = openServer({ limits: { maxBytesPerMinute: 30_000 } });
  const statuses: number[] = [];
  for (let index = 0; index < 100; index++)
    statuses.push((await ask("HEAD", "/openapi.json")).status, (await ask("HEAD", "/v1/tools")).status);
  expect(new Set(statuses)).toEqual(new Set([200]));
});

test("issue 19.6 /readyz reports the length of the job queue, and 503 when the queue is full", async () => {
  const { ask, gate } = openServer();
  const ready = async () => {
    const { status, text } = await ask("GET", "/readyz");
    const { queue, detail } = JSON.parse(text) as { readonly queue?: object; readonly detail?: string };
    return { status, queue, detail };
  };
  await ask("POST", "/v1/sessions", { body: { id: "desk" } });
  const start = () => ask("POST", "/v1/sessions/desk/execute", { body: { calls: [{ name: "t::wait" }], concurrent: true } });
  await start();
  expect(await ready()).toEqual({ status: 200, queue: { length: 0, limit: 1 }, detail: undefined });
  await start();
  expect(await ready()).toEqual({ status: 503, queue: undefined, detail: "The queue is full: 1 background jobs wait." });
  expect((await ask("GET", "/metrics")).text).toMatch(/^haft_jobs_queued\{node="[^"]+"\} 1$/mu);
  gate.resolve();
  await expect.poll(async () => (await ready()).status, { timeout: 240_000 }).toBe(200);
});

test("issue 19.6 /readyz returns 503 when the store cannot be written", async () => {
  const path = temporaryFile();
  const store = sqliteStore({ path });
  await store.open();
  const { ask, clock } = openServer({ store });
  expect((await ask("GET", "/readyz")).status).toBe(200);
  await store.close();
  expect((await ask("GET", "/readyz")).status).toBe(200); // asked once a second at most
  await clock.advance(1_000);
  const { status, text } = await ask("GET", "/readyz");
  expect([status, text.includes(path)]).toEqual([503, false]);
});

test("issue 19.6 /readyz returns 503 while the store does not answer, and does not query it again until it has", async () => {
  const store = sqliteStore({ path: temporaryFile() });
  await store.open();
  let asked = 0;
  const answer = Promise.withResolvers<void>();
  store.writable = () => {
    asked++;
    return answer.promise;
  };
  const { ask, clock } = openServer({ store });
  const statuses = async (): Promise<readonly number[]> => {
    const waiting = Promise.all([ask("GET", "/readyz"), ask("GET", "/readyz")]);
    for (const isOver = { now: false }; !isOver.now; await new Promise(setImmediate)) {
      void waiting.then(() => (isOver.now = true));
      await clock.advance(1_000);
    }
    return (await waiting).map(({ status }) => status);
  };
  expect([await statuses(), await statuses(), asked]).toEqual([[503, 503], [503, 503], 1]);
  answer.resolve();
  await clock.advance(1_000);
  expect([await statuses(), asked]).toEqual([[200, 200], 2]);
});

test("issue 19.6 /readyz returns 503 while results wait for disk space, even if a write that changes nothing succeeds", async () => {
  const { store, file } = localStore(temporaryFile());
  await store.open();
  const { ask, clock } = openServer({ store });
  await ask("POST", "/v1/sessions", { body: { id: "desk" } });
  expect((await ask("GET", "/readyz")).status).toBe(200);
  file.exec("PRAGMA max_page_count = 1");
  expect((await ask("POST", "/v1/sessions/desk/execute", { body: callWith("x".repeat(60_000)) })).status).toBe(503);
  await clock.advance(1_000);
  expect((await ask("GET", "/readyz")).status).toBe(503);
  file.exec("PRAGMA max_page_count = 100000");
  await clock.advance(1_000);
  expect((await ask("GET", "/readyz")).status).toBe(200);
});

test("a request whose body was already consumed is rejected with the reason", async () => {
  const api = await startApi();
  for (const path of ["/v1/execute", "/mcp"]) {
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
    const request = new Request(`http://localhost${path}`, { method: "POST", headers, body: "{}" });
    await request.text();
    const answer = await api.server.fetch(request);
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining("was read before")]);
  }
});

test("a closed server cannot listen again", async () => {
  const { server } = await startApi();
  await server.close();
  await expect(server.listen({ port: 0 })).rejects.toMatchObject({ code: "unavailable" });
});

test.each([0, 1, 2, 4, 8])("a server that is closed %d steps after it began to listen is not reachable", async (steps) => {
  const { server } = await startApi();
  const listening = server.listen({ port: 0 }).then(
    ({ url }) => url,
    () => undefined,
  );
  for (let step = 0; step < steps; step++) await Promise.resolve();
  await server.close();
  const url = await listening;
  if (url !== undefined) await expect(fetch(`${url}/health`)).rejects.toThrow();
});

testInCI("an unread recording counts as a concurrent request until its reader disconnects", async () => {
  const api = await startApi({ limits: { maxConcurrentRequests: 1 } });
  const text = "x".repeat(3_000_000);
  for (let n = 0; n < 3; n++)
    await api.ask("POST", "/v1/sessions/desk/execute", { body: { calls: [{ name: "notes::add", input: { text } }] } });
  const leave = new AbortController();
  const headers = { authorization: `Bearer ${TOKEN}` };
  const unread = await fetch(`${api.url}/v1/sessions/desk/recording`, { headers, signal: leave.signal });
  const list = async (): Promise<number> => (await api.ask("GET", "/v1/tools")).status;
  expect([unread.status, await list()]).toEqual([200, 429]);
  leave.abort();
  await expect.poll(list).toBe(200);
});
