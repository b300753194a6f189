/** The processes of one store over HTTP: who is there, in what they differ, and what they do for each other. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineTool, type SessionEvent, type Toolset } from "haft";
import { createClient } from "haft/client";
import { createServer, openServerAccess, staticToken } from "haft/server";
import { sqliteStore } from "haft/sqlite";
import { createTriggers } from "haft/triggers";
import { expect, onTestFinished, test } from "vitest";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { jobsToolset } from "../../../src/toolsets/jobs.ts";
import { Gate } from "./api-server.ts";

const TOKEN = "a-token-for-the-tests";

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "haft-fleet-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

interface NodeOptions {
  readonly name: string;
  readonly address?: string | boolean;
  readonly version?: string;
  readonly places?: readonly string[];
  readonly toolsets?: readonly Toolset[];
  readonly description?: string;
  readonly settings?: string;
  readonly graceMs?: number;
}

/** One server of the store in the folder. */
async function startNode(folder: string, { name, address = true, places = [], toolsets = [], ...more }: NodeOptions) {
  const gate = new Gate();
  const warnings: string[] = [];
  const wait = defineTool({
    name: "wait",
    description: more.description ?? "Waits.",
    inputSchema: { type: "object" },
    effects: { reads: [] },
    execute: async (_input, { signal }) => {
      await gate.pass(signal);
      return name;
    },
  });
  const store = sqliteStore({ path: join(folder, "haft.db"), synchronous: "normal" });
  const runtime = createRuntime({
    store,
    tools: [wait],
    places,
    toolsets,
    ports: { log: { debug() {}, warn: () => {} } },
  });
  await runtime.open();
  const server = createServer(runtime, {
    auth: await openServerAccess({ access: store.access, others: [staticToken({ token: TOKEN })] }, systemPorts),
    limits: { graceMs: more.graceMs ?? 50 },
    triggers: createTriggers(),
    version: more.version ?? "1.0.0",
    process: { name, definitions: { configuration: more.settings ?? "same" } },
    ports: { log: { debug() {}, warn: (line) => void warnings.push(line) } },
  });
  const { url } = await server.listen({ port: 0, address });
  onTestFinished(async () => {
    gate.open();
    await server.close();
    await runtime.close();
  });
  // oxlint-disable-next-line typescript/no-explicit-any -- a test looks at what it expects
  const ask = async (method: string, path: string, body?: unknown): Promise<{ readonly status: number; readonly json: any }> => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${TOKEN}`, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const isJson = answer.headers.get("content-type")?.includes("json") === true;
    return { status: answer.status, json: text === "" ? undefined : isJson ? JSON.parse(text) : text };
  };
  return { url, gate, warnings, ask, runtime, server };
}

test("issue 21.6 each server lists all processes of the store with their open sessions", async () => {
  const folder = await newFolder();
  const [one, two] = [await startNode(folder, { name: "one" }), await startNode(folder, { name: "two", places: ["desk"] })];
  await one.ask("POST", "/v1/sessions", { id: "shop" });
  const { json } = await two.ask("GET", "/v1/fleet");
  expect(json).toEqual({
    processes: [
      {
        id: expect.any(String),
        name: "one",
        role: "serve",
        version: "1.0.0",
        host: expect.any(String),
        pid: process.pid,
        address: one.url,
        places: [],
        own: false,
        alive: true,
        startedAt: expect.any(Number),
        seenAt: expect.any(Number),
        silentMs: expect.any(Number),
        sessions: 1,
        sessionIds: ["shop"],
      },
      expect.objectContaining({ name: "two", address: two.url, own: true, sessions: 0, sessionIds: [], places: ["desk"] }),
    ],
    differences: [],
  });
  expect((await two.ask("GET", "/v1/sessions/shop")).json.openedIn).toBe(json.processes[0].id);
  expect((await one.ask("GET", "/metrics")).json).toMatch(/^haft_sessions_open\{node="one"\} 1$/mu);
  expect((await two.ask("GET", "/metrics")).json).toMatch(/^haft_http_requests_total\{operation="getFleet",status="2xx",node="two"\} 1$/mu);
});

test("issue 21.2 a closed server has no address in the fleet, though its process lives", async () => {
  const folder = await newFolder();
  const [one, two] = [await startNode(folder, { name: "one" }), await startNode(folder, { name: "two" })];
  await one.server.close();
  const { json } = await two.ask("GET", "/v1/fleet");
  const known: readonly { readonly name: string; readonly alive: boolean; readonly address?: string }[] = json.processes;
  expect(known.map(({ name, alive, address }) => [name, alive, address])).toEqual([
    ["one", true, undefined],
    ["two", true, two.url],
  ]);
});

test("a process whose only difference is the jobs toolset of its agents is not reported as different", async () => {
  const folder = await newFolder();
  const one = await startNode(folder, { name: "one" });
  const two = await startNode(folder, { name: "two", toolsets: [jobsToolset()] });
  expect(two.warnings).toEqual([]);
  expect((await one.ask("GET", "/v1/fleet")).json.differences).toEqual([]);
});

test("issue 21 bad input: processes with different definitions are reported at the start, and whenever they are listed", async () => {
  const folder = await newFolder();
  const one = await startNode(folder, { name: "one" });
  const extra = { name: "extra", tools: [defineTool({ name: "a", description: "A.", inputSchema: { type: "object" }, execute: () => 1 })] };
  const more = { version: "1.1.0", description: "Waits for long.", settings: "other", toolsets: [extra] };
  const two = await startNode(folder, { name: "two", ...more });
  const differences = [
    "They run different versions: one 1.0.0; two 1.1.0.",
    "configuration differs: one from two.",
    "toolsets.default differs: one from two.",
    "toolsets.extra is missing in one.",
  ];
  expect(two.warnings).toEqual(differences.map((line) => `The processes of the store differ. ${line}`));
  expect(one.warnings).toEqual([]);
  expect((await one.ask("GET", "/v1/fleet")).json.differences).toEqual(differences);
});

test("issue 21.6 a session key cannot see the fleet", async () => {
  const node = await startNode(await newFolder(), { name: "one" });
  await node.ask("POST", "/v1/sessions", { id: "shop" });
  const made = await node.ask("POST", "/v1/sessions/shop/keys", { name: "page", scopes: ["read"] });
  expect(made.status).toBe(201);
  const statusOf = async (path: string): Promise<number> =>
    (await fetch(`${node.url}${path}`, { headers: { authorization: `Bearer ${made.json.key}` } })).status;
  expect([await statusOf("/v1/sessions/shop"), await statusOf("/v1/fleet")]).toEqual([200, 403]);
});

test("issue 21.2 a call is cancelled through a server that does not run it", async () => {
  const folder = await newFolder();
  const [one, two] = [await startNode(folder, { name: "one" }), await startNode(folder, { name: "two" })];
  const running = one.ask("POST", "/v1/execute", { calls: [{ name: "wait", input: {} }] });
  await one.gate.entered.promise;
  const callId = one.runtime.running[0]?.callId ?? "";
  expect((await two.ask("POST", `/v1/calls/${callId}/cancel`, { reason: "no need" })).json).toEqual({ cancelled: true });
  const { results } = (await running).json;
  expect([results[0].status, JSON.stringify(results[0].error)]).toEqual(["cancelled", expect.stringContaining("no need")]);
  expect((await two.ask("POST", `/v1/calls/${callId}/cancel`)).json).toEqual({ cancelled: false });
});

test("issue 21.2 results of a 202 response are fetched through the server that returned it", async () => {
  const folder = await newFolder();
  const [one, two] = [await startNode(folder, { name: "one" }), await startNode(folder, { name: "two" })];
  await one.ask("POST", "/v1/sessions", { id: "shop" });
  const later = await two.ask("POST", "/v1/sessions/shop/execute", { calls: [{ name: "wait", input: {} }], waitMs: 1 });
  expect(later.status).toBe(202);
  one.gate.open();
  const { status, json } = await two.ask("GET", `${later.json.location}?waitMs=10000`);
  expect([status, json.results[0].output]).toEqual([200, "one"]);
  expect((await two.ask("GET", "/v1/submissions/sub_unknown")).status).toBe(404);
});

test("issue 21.2 cancelling a call returns 503 if a server cannot be asked whether it runs it", async () => {
  const folder = await newFolder();
  const one = await startNode(folder, { name: "one" });
  await startNode(folder, { name: "two", address: "http://127.0.0.1:1" });
  const { status, json } = await one.ask("POST", "/v1/calls/call_far/cancel", { reason: "no need" });
  expect([status, json.code, json.retryable]).toEqual([503, "unavailable", true]);
});

test("issue 21.2 schedules of a session are read, added and removed through another server", async () => {
  const folder = await newFolder();
  const [one, two] = [await startNode(folder, { name: "one" }), await startNode(folder, { name: "two" })];
  await one.ask("POST", "/v1/sessions", { id: "desk" });
  const rule = { sessionId: "desk", name: "morning", dailyAt: "07:30", zone: "UTC", prompt: "Look." };
  expect((await two.ask("POST", "/v1/schedules", rule)).status).toBe(201);
  const idsAt = async (node: typeof one): Promise<unknown> =>
    (await node.ask("GET", "/v1/schedules?sessionId=desk")).json.schedules.map(({ id }: { readonly id: string }) => id);
  expect([await idsAt(one), await idsAt(two)]).toEqual([["morning"], ["morning"]]);
  expect(one.runtime.sessions.get("desk")).toBeDefined();
  expect((await two.ask("DELETE", "/v1/schedules/morning?sessionId=desk")).status).toBe(204);
  expect(await idsAt(one)).toEqual([]);
});

/** A toolset whose resource is at a desk, with tools that its engine brings. */
function deskTools(ran: string[], brings = false): Toolset {
  const scan = defineTool({
    name: "scan",
    description: "Scans a page.",
    inputSchema: { type: "object" },
    effects: { writes: ["scanner"], external: true },
    execute: () => ran.push("scan"),
  });
  if (!brings) return { name: "desk", place: "desk", tools: [scan] };
  return { name: "desk", place: "desk", engine: { kind: "scanner", open: async () => [scan], call: () => ran.push("scan") } };
}

test.each([false, true])(
  "issue 21.4 calls of a toolset at a place run in the process that has it, and fail elsewhere naming that process (brought by its engine: %j)",
  async (brings) => {
    const folder = await newFolder();
    const [ranAtOne, ranAtTwo]: [string[], string[]] = [[], []];
    const two = await startNode(folder, { name: "two", places: ["desk"], toolsets: [deskTools(ranAtTwo, brings)] });
    const one = await startNode(folder, { name: "one", toolsets: [deskTools(ranAtOne, brings)] });
    const calls = { calls: [{ name: "desk::scan", input: {} }] };

    await one.ask("POST", "/v1/sessions", { id: "here" });
    const [refused] = (await one.ask("POST", "/v1/sessions/here/execute", calls)).json.results;
    expect(refused).toMatchObject({ status: "error", problem: { code: "unavailable", outcome: "not_started", retryable: false } });
    expect(refused.problem.detail).toContain('is at the place "desk", which this process does not have: two (process ');

    expect((await one.ask("POST", "/v1/sessions?place=desk", { id: "there" })).status).toBe(201);
    expect(two.runtime.sessions.get("there")).toBeDefined();
    const [done] = (await one.ask("POST", "/v1/sessions/there/execute", calls)).json.results;
    expect(done.status).toBe("ok");
    expect((await one.ask("POST", "/v1/execute?place=desk", calls)).json.results[0].status).toBe("ok");
    expect([ranAtOne, ranAtTwo]).toEqual([[], ["scan", "scan"]]);
    expect((await one.ask("GET", "/v1/fleet")).json.differences).toEqual([]);
  },
);

test("issue 21.4 a place that no process has is reported, and nothing runs", async () => {
  const folder = await newFolder();
  const ran: string[] = [];
  const one = await startNode(folder, { name: "one", toolsets: [deskTools(ran)] });
  const calls = { calls: [{ name: "desk::scan", input: {} }] };
  for (const query of ["place=desk", "pl%61ce=desk"]) {
    const { status, json } = await one.ask("POST", `/v1/execute?${query}`, calls);
    expect([status, json.code, json.outcome]).toEqual([503, "unavailable", "not_started"]);
  }
  const [refused] = (await one.ask("POST", "/v1/execute", calls)).json.results;
  expect(refused.problem.detail).toContain("which no process has now");
  expect(ran).toEqual([]);
});

test("a stopping server releases an idle session at once, and another server opens it while other calls still end", async () => {
  const folder = await newFolder();
  const [one, two] = [await startNode(folder, { name: "one", graceMs: 60_000 }), await startNode(folder, { name: "two" })];
  for (const id of ["busy", "idle"]) await one.ask("POST", "/v1/sessions", { id });
  const call = { calls: [{ name: "wait" }] };
  const busy = one.ask("POST", "/v1/sessions/busy/execute", call);
  await one.gate.entered.promise;
  const closing = one.server.close();
  two.gate.open();
  const executed = async () => (await two.ask("POST", "/v1/sessions/idle/execute", call)).json.results?.[0].output;
  await expect.poll(executed, { timeout: 20_000 }).toBe("two");
  one.gate.open();
  expect((await busy).json.results[0].output).toBe("one");
  await closing;
});

test("a client waits at any server for the end of a job, whichever process runs it", async () => {
  const folder = await newFolder();
  const gate = new Gate();
  const execute = (_input: unknown, { signal }: { readonly signal: AbortSignal }) => gate.pass(signal).then(() => "built");
  const build = defineTool({ name: "build", description: "Builds.", effects: { writes: [] }, mode: "background", execute });
  const toolsets = [{ name: "shop", tools: [build] }];
  const [one, two] = [await startNode(folder, { name: "one", toolsets }), await startNode(folder, { name: "two", toolsets })];
  await one.ask("POST", "/v1/sessions", { id: "work" });
  const { results } = (await one.ask("POST", "/v1/sessions/work/execute", { calls: [{ name: "shop::build" }] })).json;
  const path = `/v1/jobs/${results[0].callId}/wait`;
  expect((await two.ask("GET", `${path}?timeoutMs=10`)).json.state).toBe("running");
  const waiting = two.ask("GET", `${path}?timeoutMs=25000`);
  expect((await two.ask("GET", "/v1/jobs")).json.jobs).toMatchObject([{ state: "running" }]); // it is asked for by now
  gate.open();
  expect((await waiting).json).toMatchObject({ state: "done" });
});

/** A session of a newer version: this one knows its first two events only. */
async function addNewerSession(folder: string): Promise<void> {
  const store = sqliteStore({ path: join(folder, "haft.db") });
  const log = store.create("newer", { at: 1, durability: "sync" });
  const about = { sessionId: "newer", at: 1 };
  const message = { role: "user", content: "Hello" };
  const events = [{ type: "session-start" }, { type: "message-add", message }, { type: "widget-add", id: "w" }];
  log.append(events.map((event) => ({ ...about, ...event }) as unknown as SessionEvent));
  await log.whenDurable();
  await log.close();
  await store.close();
}

test("a session with events of a newer version is rejected with 503 and a retry, and is left unchanged", async () => {
  const folder = await newFolder();
  const { url } = await startNode(folder, { name: "one" });
  await addNewerSession(folder);
  const headers = { authorization: `Bearer ${TOKEN}` };
  const body = JSON.stringify({ calls: [{ name: "wait" }] });
  const answer = await fetch(`${url}/v1/sessions/newer/execute`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body,
  });
  expect([answer.status, answer.headers.get("x-should-retry"), answer.headers.get("retry-after")]).toEqual([503, "true", "1"]);
  expect(await answer.json()).toMatchObject({
    code: "corrupt_record",
    detail: expect.stringContaining('of the type "widget-add", which this version of Haft does not know'),
    hint: expect.stringContaining("Open the session with the version that wrote it."),
  });
  const left = await fetch(`${url}/v1/sessions/newer`, { headers });
  expect(await left.json()).toMatchObject({ open: false, length: 3 });
});

test("a client that follows a session reconnects when a server does not know an event, since another server may", async () => {
  const folder = await newFolder();
  const { url } = await startNode(folder, { name: "one" });
  await addNewerSession(folder);
  const enough = new AbortController();
  let connections = 0;
  const counted: typeof fetch = (...given) => {
    if (++connections === 3) enough.abort();
    return fetch(...given);
  };
  const client = createClient({ url, token: TOKEN, fetch: counted });
  const seen: string[] = [];
  for await (const { event } of client.follow("newer", { signal: enough.signal })) seen.push(event.type);
  expect([seen, connections]).toEqual([["session-start", "message-add"], 3]);
});
