/** Requests for sessions whose calls run for long: those that do not wait for calls are answered in time. */
import { createRuntime, defineTool } from "haft";
import { createServer, staticToken } from "haft/server";
import { sqliteStore } from "haft/sqlite";
import { createTriggers } from "haft/triggers";
import { expect, onTestFinished, test } from "vitest";
import { fakePorts } from "../../../src/testing/fake-ports.ts";
import { temporaryFile } from "../../store/temporary-file.ts";

const TOKEN = "a-token-for-the-tests";

async function openServer(path: string) {
  const erase = defineTool({
    name: "erase",
    description: "Erases.",
    inputSchema: { type: "object" },
    effects: { destructive: true, writes: ["x"] },
    execute: () => "erased",
  });
  const look = defineTool({
    name: "look",
    description: "Looks.",
    inputSchema: { type: "object" },
    effects: { reads: [] },
    execute: () => "seen",
  });
  const log = { debug: () => {}, warn: () => {} };
  const store = sqliteStore({ path });
  const runtime = createRuntime({ tools: [erase, look], store, approval: { approve: "inbox" }, ports: { log } });
  await runtime.open();
  const { clock } = fakePorts();
  const server = createServer(runtime, { auth: staticToken({ token: TOKEN, id: "one" }), triggers: createTriggers(), ports: { clock } });
  const close = async (): Promise<void> => {
    await Promise.all([server.close(), clock.advance(60_000)]);
    await runtime.close();
  };
  onTestFinished(close);
  const ask = async (method: string, route: string, body?: object): Promise<{ readonly status: number; readonly text: string }> => {
    const headers = { authorization: `Bearer ${TOKEN}`, ...(body === undefined ? {} : { "content-type": "application/json" }) };
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const response = await server.fetch(new Request(`http://localhost${route}`, init));
    return { status: response.status, text: await response.text() };
  };
  /** The answer once the clock has moved on. */
  const askFor = async (ms: number, ...request: Parameters<typeof ask>) => {
    const answer = ask(...request);
    for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve));
    await expect.poll(async () => (await clock.advance(ms), await Promise.race([answer, Promise.resolve(undefined)]))).toBeDefined();
    return answer;
  };
  return { ask, askFor, runtime, close };
}

type AnyRuntime = ReturnType<typeof createRuntime>;

async function questionIn({ approvals }: AnyRuntime): Promise<string | undefined> {
  return (await approvals.pending())[0]?.id;
}

async function allow(runtime: AnyRuntime): Promise<void> {
  for (const { id, digest } of await runtime.approvals.pending()) await runtime.approvals.answer({ id, digest, answer: "allow-once" });
}

/** A session with a call that waits for a person. */
async function openBusyServer(path: string) {
  const api = await openServer(path);
  await api.ask("POST", "/v1/sessions", { id: "s" });
  await api.ask("POST", "/v1/sessions/s/fork", { id: "early" });
  void api.ask("POST", "/v1/sessions/s/execute", { calls: [{ name: "erase" }] });
  await expect.poll(() => questionIn(api.runtime)).toBeDefined();
  return api;
}

test("a commit is refused at once if its session has moved on, although a call of that waits for a person", async () => {
  const { ask } = await openBusyServer(temporaryFile());
  const { status, text } = await ask("POST", "/v1/sessions/early/commit");
  expect([status, JSON.parse(text).code]).toEqual([409, "conflict"]);
});

test("a commit waits for calls of its branch for waitMs, by default 30 s, and is then refused without effect", async () => {
  const { ask, askFor, runtime } = await openServer(temporaryFile());
  await ask("POST", "/v1/sessions", { id: "s" });
  await ask("POST", "/v1/sessions/s/fork", { id: "b" });
  void ask("POST", "/v1/sessions/b/execute", { calls: [{ name: "erase" }] });
  await expect.poll(() => questionIn(runtime)).toBeDefined();
  for (const waitMs of [undefined, 0, 500]) {
    const { status, text } = await askFor(waitMs ?? 30_000, "POST", "/v1/sessions/b/commit", waitMs === undefined ? undefined : { waitMs });
    expect([status, JSON.parse(text)]).toMatchObject([409, { code: "resource_busy", retryable: true, outcome: "not_started" }]);
  }
  await allow(runtime);
  await expect.poll(() => runtime.sessions.get("b")?.history[0]?.result?.status).toBe("ok");
  expect((await ask("POST", "/v1/sessions/b/commit")).status).toBe(200);
});

test("requests that do not wait for calls are answered within 30 s although the session is being resumed, and have no effect later", async () => {
  const path = temporaryFile();
  await (await openBusyServer(path)).close();
  const { ask, askFor, runtime } = await openServer(path);
  const requests: readonly (readonly [method: string, route: string, body?: object])[] = [
    ["POST", "/v1/sessions/s/fork", { id: "late" }],
    ["GET", "/v1/sessions/s/snapshot"],
    ["GET", "/v1/sessions/s/diff?with=s"],
    ["GET", "/v1/sessions/s/triggers"],
    ["POST", "/v1/sessions/s/triggers", { type: "timer", name: "t", settings: { everyMs: 60_000 } }],
    ["GET", "/v1/schedules?sessionId=s"],
  ];
  for (const request of requests) {
    const { status, text } = await askFor(30_000, ...request);
    expect([request[1], status, JSON.parse(text).code]).toEqual([request[1], 409, "resource_busy"]);
  }
  await expect.poll(() => questionIn(runtime)).toBeDefined();
  await allow(runtime);
  await expect.poll(() => runtime.sessions.get("s")?.history[0]?.result?.status).toBe("ok");
  expect(JSON.parse((await ask("GET", "/v1/sessions/s/triggers")).text)).toEqual({ triggers: [] });
  expect((await ask("GET", "/v1/sessions/late")).status).toBe(404);
  expect((await ask("POST", "/v1/sessions/s/fork", { id: "late" })).status).toBe(201);
});

test("a snapshot waits for a running turn for 30 s", async () => {
  const { askFor } = await openBusyServer(temporaryFile());
  const { status, text } = await askFor(30_000, "GET", "/v1/sessions/s/snapshot");
  expect([status, JSON.parse(text).code]).toEqual([409, "resource_busy"]);
});
