/** A server that is to stop at once, while it waits for work that no request of the API waits for. */
import { createRuntime, defineTool } from "haft";
import { createServer, staticToken } from "haft/server";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { ToolError } from "../../src/core/error.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { postgresStore } from "../../src/store/postgres-store.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import { IN_CI, inCI } from "../ci.ts";
import { postgresPrograms, startPostgres, type PostgresServer } from "../store/postgres/server.ts";

const TOKEN = "a-token-for-the-tests";
const GRACE_MS = 600_000;

type Server = ReturnType<typeof createServer>;

async function post(server: Server, path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  const sent = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json", accept: "application/json, text/event-stream" };
  return server.fetch(
    new Request(`http://localhost${path}`, { method: "POST", headers: { ...sent, ...headers }, body: JSON.stringify(body) }),
  );
}

/** A tool whose calls end with their signal alone. */
function hanging(name: string, begun: () => void, mode?: "background") {
  return defineTool({
    name,
    description: "Waits.",
    effects: { writes: [name], idempotent: true },
    ...(mode === undefined ? {} : { mode }),
    execute: (_input, { signal }) => {
      begun();
      return new Promise<never>((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    },
  });
}

test("a server that is told to stop at once cancels calls made over MCP too", async () => {
  const begun = Promise.withResolvers<void>();
  const runtime = createRuntime({ tools: [hanging("wait", begun.resolve)] });
  onTestFinished(async () => void (await runtime.close()));
  const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), limits: { graceMs: GRACE_MS } });
  const version = "2025-06-18";
  const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: "test", version: "1" } };
  const { headers } = await post(server, "/mcp", { jsonrpc: "2.0", id: 1, method: "initialize", params });
  const call = { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "wait", arguments: {} } };
  const session = { "mcp-session-id": headers.get("mcp-session-id") ?? "", "mcp-protocol-version": version };
  const answer = post(server, "/mcp", call, session);
  await begun.promise;
  const hurry = new AbortController();
  const closed = server.close({ signal: hurry.signal });
  await new Promise((resolve) => setTimeout(resolve, 50)); // no request of the API is waited for
  hurry.abort();
  await closed;
  expect(await (await answer).text()).toContain("cancelled");
});

describe.each([
  ["its time is up", 20],
  ["it is to stop at once", GRACE_MS],
])("a server that is resuming sessions, when %s", (_when, graceMs) => {
  test.each([
    ["a request", "read"],
    ["a request", "remove"],
    ["the program", "remove"],
  ])("leaves a session that %s resumes to the next process, with the call of %s that it waits for", async (by, name) => {
    const store = memoryStore();
    const effects = { writes: ["files"], destructive: true };
    const remove = defineTool({ name: "remove", description: "Removes.", effects, execute: () => "removed" });
    let begun = 0;
    const read = { ...hanging("read", () => begun++), effects: { reads: ["files"] } };
    const runtimeOf = () => createRuntime({ tools: [remove, read], store, approval: { approve: "inbox" } });
    const [gone, runtime] = [runtimeOf(), runtimeOf()];
    onTestFinished(async () => void (await Promise.all([gone.close(), runtime.close()])));
    const events = async () => (await store.read("s")).events.map(({ type }) => type);
    const waits = async (times: number) =>
      vi.waitFor(async () => expect((await events()).filter((type) => type === "approval-ask").length + begun).toBe(times));
    void gone
      .session("s")
      .execute({ name, input: {} })
      .catch(() => {}); // its process is gone
    await waits(1);
    const resume = runtime.resume.bind(runtime);
    runtime.resume = (id, options) => resume(id, { ...options, takeOver: true });
    const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), limits: { graceMs } });
    const refused =
      by === "a request"
        ? post(server, "/v1/sessions/s/execute", { calls: [{ name: "read" }] }).then(({ status }) => status)
        : runtime.resume("s").then(
            () => "resumed",
            ({ code }: ToolError) => code,
          );
    await waits(2);
    const before = await events();
    // A call that a request waits for has all sessions of the runtime left when its time is up
    const other = by === "a request" ? undefined : post(server, "/v1/execute", { calls: [{ name: "read" }] });
    if (other !== undefined) await vi.waitFor(() => expect(begun).toBe(1));
    const hurry = new AbortController();
    const closed = server.close({ signal: hurry.signal });
    if (graceMs === GRACE_MS) hurry.abort();
    await closed;
    await other;
    expect([await refused, await events()]).toEqual([by === "a request" ? 503 : "conflict", before]);
    const pending = (await runtime.approvals.pending()).map(({ status }) => status);
    expect([runtime.sessions.resuming, pending]).toEqual([[], name === "read" ? [] : ["open"]]);
  });
});

describe.skipIf(postgresPrograms === undefined || !inCI)(`issue 21.3 over one PostgreSQL server ${IN_CI}:`, { timeout: 60_000 }, () => {
  let running: PostgresServer | undefined;
  beforeAll(async () => {
    running = await startPostgres({}, "trust");
  }, 60_000);
  afterAll(() => running?.remove());

  const storeOf = (schema: string) => postgresStore({ url: running?.url ?? "", schema });

  async function opened(runtime: Runtime): Promise<Runtime> {
    onTestFinished(async () => void (await runtime.close()));
    await runtime.open();
    return runtime;
  }

  test.each([false, true])("a server that is told to stop at once hands its jobs over (a call is running: %j)", async (calls) => {
    const schema = `close_${calls}`;
    const [job, call] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const tools = [hanging("work", job.resolve, "background"), hanging("wait", call.resolve)];
    const runtime = await opened(createRuntime({ tools, store: storeOf(schema) }));
    const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), limits: { graceMs: GRACE_MS } });
    await post(server, "/v1/sessions", { id: "s" });
    await post(server, "/v1/sessions/s/execute", { calls: [{ name: "work" }], background: true });
    await job.promise;
    const answer = calls ? post(server, "/v1/execute", { calls: [{ name: "wait" }] }) : undefined;
    if (calls) await call.promise;
    const hurry = new AbortController();
    const closed = server.close({ signal: hurry.signal });
    await new Promise((resolve) => setTimeout(resolve, 50));
    hurry.abort();
    await closed;
    if (answer !== undefined) expect(await (await answer).text()).toContain("cancelled");
    expect(await runtime.store?.jobs.list({ sessionId: "s" })).toMatchObject([{ state: "queued" }]);
    expect(await runtime.store?.jobs.unattended()).toEqual(["s"]);
  });

  test("a server that runs no jobs still answers for a session whose job waits for a place", async () => {
    const scan = defineTool({ name: "scan", description: "Scans.", effects: { writes: [] }, mode: "background", execute: () => "scanned" });
    const note = defineTool({ name: "note", description: "Notes.", effects: { writes: [] }, execute: () => "noted" });
    const toolsets = [{ name: "desk", place: "desk", tools: [scan] }];
    const runtime = await opened(createRuntime({ tools: [note], toolsets, jobs: { maxRunning: 0 }, store: storeOf("front") }));
    const server = createServer(runtime, { auth: staticToken({ token: TOKEN }) });
    onTestFinished(() => server.close());
    await post(server, "/v1/sessions", { id: "s" });
    await post(server, "/v1/sessions/s/execute", { calls: [{ name: "desk::scan" }], background: true });
    expect((await post(server, "/v1/sessions/s/execute", { calls: [{ name: "note" }] })).status).toBe(200);
    expect(await runtime.store?.jobs.list({ sessionId: "s" })).toMatchObject([{ state: "queued" }]);
  });
});
