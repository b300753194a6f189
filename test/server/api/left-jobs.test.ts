/** Servers that stop, one after the other, while a call that a background job has made runs: the last one ends it, and with it the job. */
import { createAgent, createRuntime, defineTool, readOnly, type Tool } from "haft";
import { createClient } from "haft/client";
import { scriptedModel } from "haft/model";
import { createServer, staticToken } from "haft/server";
import { sqliteStore } from "haft/sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { sessionWithin } from "../../../src/runtime/session-within.ts";
import { temporaryFile } from "../../store/temporary-file.ts";

const TOKEN = "a-token-for-the-tests";
const STOPS = 3;
const log = { debug() {}, warn() {} };

/** They make one call, in the session of their own or in one that they begin for it. */
const MAKERS: readonly Tool[] = [
  {
    name: "beside",
    description: "Looks.",
    inputSchema: { type: "object" },
    composite: true,
    execute: (_input, context) => context.execute({ name: "look" }),
  },
  {
    name: "within",
    description: "Looks in a session of its own.",
    inputSchema: { type: "object" },
    composite: true,
    async execute(_input, context) {
      const session = await sessionWithin(context);
      try {
        return await session.execute({ name: "look" }, { signal: context.signal, idempotencyKey: "look" });
      } finally {
        await session.close();
      }
    },
  },
];

test.each(["beside", "within"])("a call made by a job is not cancelled by stopping servers: %s", async (name) => {
  const path = temporaryFile();
  let looks = 0;
  const look = defineTool({
    name: "look",
    description: "Looks for as long as servers stop.",
    effects: readOnly("view"),
    timeoutMs: 0,
    execute: async () => (++looks > STOPS ? "seen" : await new Promise<string>(() => {})),
  });
  const glance = defineTool({ name: "glance", description: "Opens the session.", effects: readOnly("view"), execute: () => "seen" });
  const stay = defineTool({
    name: "stay",
    description: "Lasts longer than the grace of a server.",
    effects: readOnly("view"),
    execute: (_input, { signal }) => new Promise<string>((resolve) => signal.addEventListener("abort", () => resolve("left"))),
  });
  const start = async () => {
    const store = Object.assign(sqliteStore({ path, synchronous: "normal" }), { queue: { offer: async () => 0 } }); // as of a store that several machines share
    const runtime = createRuntime({ tools: [look, glance, stay, ...MAKERS], store, ports: { log } });
    await runtime.open();
    const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), limits: { graceMs: 20 }, ports: { log } });
    const { url } = await server.listen({ port: 0 });
    const stop = async (): Promise<void> => {
      await server.close();
      await runtime.close();
    };
    onTestFinished(stop);
    return { client: createClient({ url, token: TOKEN }), runtime, stop };
  };
  const first = await start();
  await first.client.call("createSession", { body: { id: "s" } });
  const begun = await first.client.call("executeInSession", { params: { sessionId: "s" }, body: { calls: [{ name }], background: true } });
  const jobId = begun.results[0]?.callId ?? "";
  for (let server = first, stops = 1; ; server = await start(), stops++) {
    if (stops > 1) await server.client.call("executeInSession", { params: { sessionId: "s" }, body: { calls: [{ name: "glance" }] } });
    if (stops > STOPS) {
      const job = await server.client.call("waitForJob", { params: { jobId }, query: { timeoutMs: 20_000 } });
      expect(job).toMatchObject({ state: "done", result: { output: { status: "ok", output: "seen" } } });
      return;
    }
    await vi.waitFor(() => expect(looks).toBe(stops), 10_000);
    const stays = server.client.call("execute", { body: { calls: [{ name: "stay" }] } }).catch(() => {});
    await vi.waitFor(() => expect(server.runtime.running.some((call) => call.name === "default::stay")).toBe(true), 10_000);
    await server.stop();
    await stays;
  }
});

test.each([
  { graceMs: 20_000, runs: 1, when: "ends while its server stops" },
  { graceMs: 20, runs: 2, when: "lasts longer, and is run again by the next server" },
])("L36 an accepted job of a store in a file is not cancelled by an orderly stop: it $when", async ({ graceMs, runs }) => {
  const path = temporaryFile();
  let begun = 0;
  const stopping = Promise.withResolvers<void>();
  const build = defineTool({
    name: "build",
    description: "Builds.",
    effects: { writes: "out", idempotent: true },
    mode: "background",
    async execute() {
      begun++;
      await stopping.promise;
      if (begun < runs) await new Promise<never>(() => {});
      return "built";
    },
  });
  const glance = defineTool({ name: "glance", description: "Opens the session.", effects: readOnly("view"), execute: () => "seen" });
  const start = async () => {
    const runtime = createRuntime({ tools: [build, glance], store: sqliteStore({ path, synchronous: "normal" }), ports: { log } });
    const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), limits: { graceMs }, mcp: false, ports: { log } });
    const { url } = await server.listen({ port: 0 });
    const stop = async (): Promise<void> => {
      await server.close();
      await runtime.close();
    };
    onTestFinished(stop);
    return { client: createClient({ url, token: TOKEN }), stop };
  };
  const first = await start();
  await first.client.call("createSession", { body: { id: "s" } });
  await first.client.call("executeInSession", { params: { sessionId: "s" }, body: { calls: [{ name: "build" }] } });
  await vi.waitFor(() => expect(begun).toBe(1));
  const stopped = first.stop();
  await new Promise((resolve) => setTimeout(resolve, 300)); // a server that waits for nothing has closed its sessions by then
  stopping.resolve();
  await stopped;

  const next = await start();
  await next.client.call("executeInSession", { params: { sessionId: "s" }, body: { calls: [{ name: "glance" }] } });
  const { jobs } = await next.client.call("listJobs", { query: {} });
  const job = await next.client.call("waitForJob", { params: { jobId: jobs[0]?.id ?? "" }, query: { timeoutMs: 20_000 } });
  expect(job).toMatchObject({ state: "done" });
  expect(begun).toBe(runs);
});

test("a job of an agent may end while its server stops", async () => {
  const begun = Promise.withResolvers<void>();
  const stopping = Promise.withResolvers<void>();
  const build = defineTool({
    name: "build",
    description: "Builds.",
    effects: { writes: "out" },
    mode: "background",
    execute: async () => (begun.resolve(), await stopping.promise, "built"),
  });
  const runtime = createRuntime({ tools: [build], store: sqliteStore({ path: temporaryFile(), synchronous: "normal" }), ports: { log } });
  onTestFinished(async () => void (await runtime.close()));
  const session = runtime.session("clerk");
  const model = scriptedModel([{ calls: [{ name: "build", input: {} }] }, { text: "It is being built." }, { text: "It is built." }]);
  const agent = createAgent({ session, model });
  agent.start();
  const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), mcp: false, agents: { clerk: agent }, ports: { log } });
  await server.listen({ port: 0 });
  await agent.send("Build it.");
  await begun.promise;
  await agent.whenIdle();
  const [job] = session.jobs;
  const stopped = server.close();
  await new Promise((resolve) => setTimeout(resolve, 100)); // a server that waits for nothing has closed by then
  stopping.resolve();
  await stopped;
  expect(runtime.jobs.get(job?.id ?? "")?.state).toBe("done");
  await agent.stop();
});

test("a server over a file that stops does not wait for a job that asks something, and leaves it in the store", async () => {
  const path = temporaryFile();
  const ask = defineTool({
    name: "ask",
    description: "Asks.",
    effects: { writes: "out", idempotent: true },
    mode: "stateful",
    async *execute(): AsyncGenerator<string, string, unknown> {
      return String(yield "Which one?");
    },
  });
  const runtime = createRuntime({ tools: [ask], store: sqliteStore({ path, synchronous: "normal" }), ports: { log } });
  const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), limits: { graceMs: 60_000 }, mcp: false, ports: { log } });
  const { url } = await server.listen({ port: 0 });
  const client = createClient({ url, token: TOKEN });
  await client.call("createSession", { body: { id: "s" } });
  await client.call("executeInSession", { params: { sessionId: "s" }, body: { calls: [{ name: "ask" }] } });
  await vi.waitFor(() => expect(runtime.jobs.list()).toMatchObject([{ question: "Which one?" }]));
  await server.close();
  await runtime.close();
  const left = createRuntime({ tools: [ask], store: sqliteStore({ path, synchronous: "normal" }), ports: { log } });
  onTestFinished(async () => void (await left.close()));
  expect((await left.jobs.listStored()).map(({ state }) => state)).toEqual(["queued"]);
}, 10_000);
