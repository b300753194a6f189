import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { defineTool } from "../../../src/registry/define-tool.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import { ExclusiveAgent } from "../../../src/cli/open/exclusive-agent.ts";
import { createAgent, type Agent } from "../../../src/compose/agent.ts";
import { scriptedModel } from "../../../src/model/scripted-model.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { staticToken } from "../../../src/server/auth/static-token.ts";
import { createServer } from "../../../src/server/create-server.ts";
import { createWorker } from "../../../src/server/worker/create-worker.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { postgresStore, type PostgresStoreOptions } from "../../../src/store/postgres-store.ts";
import type { SessionEvent } from "../../../src/core/event.ts";
import type { Store } from "../../../src/core/store/store.ts";
import type { Toolset } from "../../../src/core/toolset.ts";
import type { JobLimits } from "../../../src/call/jobs/job-table.ts";
import { IN_CI, inCI } from "../../ci.ts";
import { freePort, postgresPrograms, startPostgres, type PostgresServer } from "../../store/postgres/server.ts";
import type { StoreProcess } from "../../store/run-process.ts";
import { Fleet, kill, stop } from "./fleet.ts";
import { runWorkerDrill } from "./worker-drill.ts";

const PATIENCE_MS = 120_000;
const TOKEN = "a-token-for-the-tests";
const SKIPPED = postgresPrograms === undefined || !inCI;

describe.skipIf(SKIPPED)(`issue 21.3 workers over one PostgreSQL server ${IN_CI}:`, { timeout: PATIENCE_MS }, () => {
  let running: PostgresServer | undefined;
  let left: StoreProcess[] = [];
  beforeAll(async () => {
    running = await startPostgres({}, "trust");
  }, PATIENCE_MS);
  afterAll(() => running?.remove());

  function server(): PostgresServer {
    return running ?? expect.fail("the server did not start");
  }

  async function fleet(): Promise<Fleet> {
    const made = await Fleet.on(server());
    left = [];
    onTestFinished(async () => {
      await Promise.all(left.map(kill));
      await made.close();
    });
    return made;
  }

  async function worker(of: Fleet, graceMs?: number): Promise<StoreProcess> {
    const one = await of.worker(graceMs);
    left.push(one);
    return one;
  }

  test("workers run the jobs that a process leaves to them, each once, whatever the session ids", async () => {
    const one = await fleet();
    await Promise.all([worker(one), worker(one)]);
    await one.submit(20, "pay", "odd '\u0001 \ud83e\udd41");
    const jobs = await one.ended(20, PATIENCE_MS);
    expect(new Set(jobs.map(({ state, starts, openedBy }) => JSON.stringify({ state, starts, openedBy })))).toEqual(
      new Set([JSON.stringify({ state: "done", starts: 1 })]),
    );
    expect(await one.effects("pay")).toMatchObject({ all: 20, twice: 0 });
  });

  test("L06 a worker ends the jobs of a killed process, and stores each result once", async () => {
    const one = await fleet();
    const { one: process, accepted } = await one.runner(3, "brief");
    left.push(process);
    await until(async () => (await one.effects("brief")).all === 3);
    await kill(process);
    await worker(one);
    await one.ended(3, PATIENCE_MS);
    for (const { sessionId, jobId } of accepted) {
      const { events } = await one.store.read(sessionId);
      const ends = events.filter((event) => event.type === "job-end" && event.callId === jobId);
      expect(ends).toMatchObject([{ status: "ok" }]);
    }
    expect(new Set((await one.effects("brief")).pids).size).toBe(2);
  });

  test(`issue 21.3 a job that crashes every worker is parked after three workers ${IN_CI}`, { skip: !inCI }, async () => {
    const one = await fleet();
    await one.submit(1, "die");
    for (let starts = 0; starts < 3; starts++) {
      const doomed = await worker(one);
      if (doomed.child.signalCode === null) await once(doomed.child, "exit");
    }
    await worker(one);
    const [job] = await one.ended(1, PATIENCE_MS);
    expect(job).toMatchObject({ state: "parked", errorCode: "job_parked", starts: 3 });
    expect(await one.effects("die")).toMatchObject({ all: 3 });
  });

  test("I04 a worker that was frozen past its claim is rejected, and the job ends with the other worker's result", async () => {
    const one = await fleet();
    const late = await worker(one, PATIENCE_MS);
    await one.submit(1, "brief");
    await until(async () => (await one.effects("brief")).all === 1);
    late.child.kill("SIGSTOP");
    const early = await worker(one);
    const [job] = await one.ended(1, PATIENCE_MS);
    late.child.kill("SIGCONT");
    await until(async () => (await one.store.list())[0]?.openedBy === undefined);
    expect(job).toMatchObject({ state: "done", starts: 2 });
    const log = await one.store.read("s0");
    expect(log.events.filter(({ type }) => type === "job-end")).toHaveLength(1);
    expect(await stop(late)).toMatchObject({ taken: 1, finished: 0, left: 1 });
    expect(await stop(early)).toMatchObject({ taken: 1, finished: 1, left: 0 });
  });

  test.each([false, true])(
    "a worker leaves jobs at a place to a worker that has the place, and takes the others (brought by an engine: %j)",
    async (brings) => {
      const one = await fleet();
      const scan = defineTool({
        name: "scan",
        description: "Scans a page.",
        effects: { writes: [] },
        mode: "background",
        execute: () => "scanned",
      });
      const note = defineTool({ name: "note", description: "Notes.", effects: { writes: [] }, mode: "background", execute: () => "noted" });
      const desk: Toolset = {
        name: "desk",
        place: "desk",
        ...(brings ? { engine: { kind: "scanner", open: async () => [scan], call: () => "scanned" } } : { tools: [scan] }),
      };
      const runtimeOf = async (places: readonly string[], jobs: JobLimits = {}): Promise<Runtime> => {
        const runtime = createRuntime({ tools: [note], toolsets: [desk], places, jobs, store: postgresStore({ url: server().url }) });
        onTestFinished(async () => void (await runtime.close()));
        await runtime.open();
        return runtime;
      };
      const begins = await runtimeOf(["desk"], { maxRunning: 0 });
      const begin = async (id: string, name: string): Promise<void> => {
        await begins.session(id).submit({ name, input: {} });
        await begins.sessions.handOver(id);
        await one.store.queue?.offer([id]);
      };
      const without = createWorker(await runtimeOf([]), { concurrency: 1 });
      await without.start();
      await begin("there", "desk::scan");
      await begin("anywhere", "note"); // comes after it in the queue
      await until(async () => (await one.store.jobs.list({ sessionId: "anywhere", states: ["done"] })).length === 1);
      await until(async () => without.counts.finished === 1);
      expect(without.counts.taken).toBe(1);
      const having = createWorker(await runtimeOf(["desk"]));
      await having.start();
      const jobs = await one.ended(2, PATIENCE_MS);
      expect(jobs.map(({ sessionId, state }) => `${sessionId} ${state}`).toSorted()).toEqual(["anywhere done", "there done"]);
      await Promise.all([without.stop(), having.stop()]);
    },
  );

  test("a stopping worker hands over at once jobs that only wait for a person, however often, and the next worker acts on the answers", async () => {
    const one = await fleet();
    const tools = [
      defineTool({ name: "remove", description: "Removes.", effects: { writes: ["files"], destructive: true }, execute: () => "removed" }),
      defineTool({
        name: "clean",
        description: "Removes in the background.",
        mode: "background",
        inputSchema: { type: "object" },
        composite: true,
        execute: async (_input, { execute, signal }) => (await execute({ name: "remove" }, { signal })).output,
      }),
    ];
    const runtimeOf = async (): Promise<Runtime> => {
      const runtime = createRuntime({ tools, store: postgresStore({ url: server().url }), approval: { approve: "inbox" } });
      onTestFinished(async () => void (await runtime.close()));
      await runtime.open();
      return runtime;
    };
    const asks = async (runtime: Runtime, count: number): Promise<void> =>
      until(async () => runtime.underWay.filter(({ waitsFor }) => waitsFor === "answer").length === count);
    const begins = await runtimeOf();
    await Promise.all(["a", "b"].map((id) => begins.session(id).submit({ name: "clean" })));
    await asks(begins, 4); // the job and the call in it
    await Promise.all(["a", "b"].map((id) => begins.sessions.handOver(id)));
    const open = async () => (await begins.approvals.pending()).length;
    for (let workers = 0; workers < 4; workers++) {
      const runtime = await runtimeOf();
      const stopping = createWorker(runtime, { graceMs: 600_000, pollMs: 200 });
      await stopping.start();
      await asks(runtime, 4);
      await stopping.stop();
      expect([stopping.counts, await open()]).toEqual([{ held: 0, taken: stopping.counts.taken, finished: 0, left: 2 }, 2]);
    }
    const last = createWorker(await runtimeOf(), { pollMs: 200 });
    await last.start();
    await until(async () => {
      for (const { id, digest } of await begins.approvals.pending()) await begins.approvals.answer({ id, digest, answer: "allow-once" });
      return last.counts.finished === 2; // while the worker takes up its session, a question takes no answer
    });
    expect((await one.ended(2, PATIENCE_MS)).map(({ sessionId, state }) => `${sessionId} ${state}`).toSorted()).toEqual([
      "a done",
      "b done",
    ]);
    await last.stop();
  });

  test("during a rolling update, a worker leaves jobs whose tools it lacks to a worker that has them", async () => {
    const one = await fleet();
    const job = (name: string) =>
      defineTool({ name, description: "Works.", effects: { writes: [] }, mode: "background", execute: () => `${name} done` });
    const runtimeOf = async (names: readonly string[], jobs: JobLimits = {}): Promise<Runtime> => {
      const runtime = createRuntime({ tools: names.map(job), jobs, store: postgresStore({ url: server().url }) });
      onTestFinished(async () => void (await runtime.close()));
      await runtime.open();
      return runtime;
    };
    const begins = await runtimeOf(["kept", "fresh"], { maxRunning: 0 });
    const begin = async (id: string, name: string): Promise<void> => {
      await begins.session(id).submit({ name, input: {} });
      await begins.sessions.handOver(id);
      await one.store.queue?.offer([id]);
    };
    const before = createWorker(await runtimeOf(["kept"]), { concurrency: 1 });
    const beside = createWorker(await runtimeOf(["kept", "fresh"]));
    await beside.start();
    await beside.stop(); // its process lives on, and takes none
    await before.start();
    await begin("fresh", "fresh");
    await begin("kept", "kept");
    await until(async () => (await one.store.jobs.list({ sessionId: "kept", states: ["done"] })).length === 1);
    await until(async () => before.counts.finished === 1); // counted after the end is stored
    expect(before.counts.taken).toBe(1);
    const after = createWorker(await runtimeOf(["kept", "fresh"]), { pollMs: 200 });
    await after.start();
    expect((await one.ended(2, PATIENCE_MS)).map(({ sessionId, state }) => `${sessionId} ${state}`).toSorted()).toEqual([
      "fresh done",
      "kept done",
    ]);
    await Promise.all([before.stop(), after.stop()]);
  });

  test("during a rolling update, a worker releases a session with unknown events without ending its job, and logs it once", async () => {
    const one = await fleet();
    const about = { sessionId: "newer", at: 1, callId: "job", turnId: "turn" };
    const log = one.store.create("newer", { at: 1, durability: "sync" });
    const call = { type: "call-start", call: { id: "job", name: "later", input: {} } };
    const job = { type: "job-start", toolName: "later", mode: "background", notify: false };
    const events = [{ type: "session-start" }, { type: "widget-add", id: "w" }, call, job];
    log.append(events.map((event) => ({ ...about, ...event }) as unknown as SessionEvent));
    await log.whenDurable();
    await log.close();
    const runtime = createRuntime({ store: postgresStore({ url: server().url }) });
    onTestFinished(async () => void (await runtime.close()));
    await runtime.open();
    const said: string[] = [];
    const before = createWorker(runtime, { pollMs: 100, ports: { log: { debug() {}, warn: (line) => void said.push(line) } } });
    await before.start();
    await until(async () => said.length > 0);
    const entries = () => server().execute("select state from haft_jobs.job where state <> 'completed'");
    await until(async () => (await entries()).every(({ state }) => state !== "active"));
    expect([await entries(), said]).toEqual([[], [expect.stringContaining('The jobs of the session "newer" could not be continued')]]);
    expect(await one.store.jobs.list({ sessionId: "newer" })).toMatchObject([{ state: "running", starts: 1 }]);
    await before.stop();
  });

  test("during a rolling update, a server that lacks the tool of a job answers 503 with a retry, and ends no job", async () => {
    const one = await fleet();
    const job = (name: string) =>
      defineTool({ name, description: "Works.", effects: { writes: [] }, mode: "background", execute: () => `${name} done` });
    const runtimeOf = async (names: readonly string[], jobs: JobLimits = {}): Promise<Runtime> => {
      const runtime = createRuntime({ tools: names.map(job), jobs, store: postgresStore({ url: server().url, leaseMs: 1_500 }) });
      onTestFinished(async () => void (await runtime.close()));
      await runtime.open();
      return runtime;
    };
    const begins = await runtimeOf(["kept", "fresh"], { maxRunning: 0 });
    await begins.session("s").submit({ name: "fresh", input: {} });
    await begins.sessions.handOver("s");
    const lacking = createServer(await runtimeOf(["kept"]), { auth: staticToken({ token: TOKEN }) });
    onTestFinished(() => lacking.close());
    const ask = () =>
      lacking.fetch(
        new Request("http://localhost/v1/sessions/s/execute", {
          method: "POST",
          headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
          body: JSON.stringify({ calls: [{ name: "kept" }] }),
        }),
      );
    const after = createWorker(await runtimeOf(["kept", "fresh"]));
    await after.start();
    await after.stop(); // its process lives on, and takes none
    const refused = await ask();
    expect([refused.status, refused.headers.get("x-should-retry")]).toEqual([503, "true"]);
    expect(await one.store.jobs.list({ sessionId: "s" })).toMatchObject([{ state: "queued" }]);
    const having = createWorker(await runtimeOf(["kept", "fresh"]), { pollMs: 200 });
    await having.start();
    await until(async () => (await one.store.jobs.list({ sessionId: "s", states: ["done"] })).length === 1);
    await until(async () => (await ask()).status === 200);
    await having.stop();
  });

  test("a job is cancelled from a process that does not run it", async () => {
    const one = await fleet();
    await worker(one);
    const [accepted] = await one.submit(1, "long");
    await until(async () => (await one.effects("long")).all === 1);
    const runtime = createRuntime({ store: postgresStore({ url: server().url }) });
    expect(await runtime.jobs.cancelStored({ id: accepted?.jobId ?? "" })).toBe("asked");
    const [job] = await one.ended(1, PATIENCE_MS);
    expect(job).toMatchObject({ state: "cancelled" });
    await runtime.close();
  });

  test("a worker that stops hands over its session with the job unfinished, and another worker runs the job again", async () => {
    const one = await fleet();
    const first = await worker(one);
    await one.submit(1, "long");
    await until(async () => (await one.effects("long")).all === 1);
    expect(await stop(first)).toEqual({ held: 0, taken: 1, finished: 0, left: 1 });
    expect(await one.store.jobs.list()).toMatchObject([{ state: "queued", starts: 1 }]);
    expect(await one.store.jobs.unattended()).toEqual(["s0"]);
    await worker(one);
    await until(async () => (await one.effects("long")).all === 2);
    expect(new Set((await one.effects("long")).pids).size).toBe(2);
  });

  test("a stopping worker waits for a job that ends within its grace period", async () => {
    const one = await fleet();
    const first = await worker(one, 60_000);
    await one.submit(1, "brief");
    await until(async () => (await one.effects("brief")).all === 1);
    expect(await stop(first)).toEqual({ held: 0, taken: 1, finished: 1, left: 0 });
    expect(await one.ended(1, 0)).toMatchObject([{ state: "done", starts: 1 }]);
  });

  test("of three processes with the same agent, one runs its schedule: each tick is stored once, and another continues after it is killed", async () => {
    const one = await fleet();
    for (let index = 0; index < 3; index++) left.push(await one.agent());
    const ticks = async (): Promise<readonly number[]> => {
      const [session] = await one.store.list({ sessionId: "clerk" });
      const { events } = session === undefined ? { events: [] } : await one.store.read("clerk", { limit: 10_000 });
      return events.flatMap((event) => (event.type === "inbox-add" && event.tick !== undefined ? [event.tick] : []));
    };
    await until(async () => (await ticks()).length >= 2);
    const openedBy = (await one.store.list({ sessionId: "clerk" }))[0]?.openedBy;
    const [owner] = left.filter(({ child }) => openedBy?.startsWith(`process ${child.pid} `));
    await kill(owner ?? expect.fail("none of them has it"));
    const before = (await ticks()).length;
    await until(async () => (await ticks()).length >= before + 2);
    const all = await ticks();
    expect(all).toEqual([...new Set(all)].toSorted((a, b) => a - b));
    expect(all.every((tick) => tick % 1_000 === 0)).toBe(true);
  });

  test(`L07 workers that are killed at random lose no job, and repeat no non-repeatable job ${IN_CI}`, { skip: !inCI }, async () => {
    const report = await runWorkerDrill({
      server: server(),
      workers: 3,
      jobs: 300,
      kills: 4,
      seed: 3,
      betweenMs: 3_000,
      withinMs: PATIENCE_MS,
    });
    expect(report).toMatchObject({ accepted: 300, ended: 300, twice: 0 });
  });

  test("an agent moves from a stopping process to another once its current run has ended", async () => {
    const one = await fleet();
    const [entered, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const heldBy = async (name: string) => {
      const runtime = createRuntime({ store: postgresStore({ url: server().url }) });
      onTestFinished(async () => void (await runtime.close()));
      const agents = new Map<string, Agent>();
      const reply = async () => {
        entered.resolve();
        await over.promise;
        return { text: `${name} has it.` };
      };
      const make = (session: RuntimeSession) => createAgent({ session, model: scriptedModel(reply) });
      const held = new ExclusiveAgent({ name: "clerk", runtime, agents, make, log: expect.fail });
      await held.start();
      onTestFinished(() => held.stop());
      return { held, agents };
    };
    const first = await heldBy("first");
    const second = await heldBy("second");
    await until(async () => first.agents.has("clerk"));
    await first.agents.get("clerk")?.send("Who has it?");
    await entered.promise;
    first.held.drain();
    over.resolve();
    await until(async () => second.agents.has("clerk"));
    const { events } = await one.store.read("clerk");
    const said = events.flatMap((event) => (event.type === "round-end" ? [JSON.stringify(event.message)] : []));
    expect([said, first.agents.size]).toEqual([[expect.stringContaining("first has it.")], 0]);
  });

  test("an agent of a server that runs no jobs leaves its jobs to a worker, and continues with their results", async () => {
    const one = await fleet();
    const ran: string[] = [];
    const runtimeOf = async (name: string, jobs: JobLimits = {}): Promise<Runtime> => {
      const count = defineTool({
        name: "count",
        description: "Counts.",
        mode: "background",
        execute: () => `${ran.push(name)} by ${name}`,
      });
      const runtime = createRuntime({ tools: [count], jobs, store: postgresStore({ url: server().url }) });
      onTestFinished(async () => void (await runtime.close()));
      await runtime.open();
      return runtime;
    };
    const runtime = await runtimeOf("server", { maxRunning: 0 });
    await runtime.store?.queue?.open();
    const model = scriptedModel(({ messages }) =>
      messages.length === 1
        ? { calls: [{ name: "count", input: {} }] }
        : { text: JSON.stringify(messages.at(-1)).includes("1 by worker") ? "It is 1." : "Wait." },
    );
    const agents = new Map<string, Agent>();
    const make = (session: RuntimeSession): Agent => createAgent({ model, session });
    const held = new ExclusiveAgent({ name: "clerk", runtime, agents, make, log: expect.fail });
    await held.start();
    onTestFinished(() => held.stop());
    await agents.get("clerk")?.send("Count.");
    await until(async () => agents.size === 0);
    expect(await one.store.jobs.list({ sessionId: "clerk" })).toMatchObject([{ state: "queued" }]);
    const worker = createWorker(await runtimeOf("worker"));
    await worker.start();
    await until(async () => agents.get("clerk")?.session.messages().at(-1)?.role === "assistant" && agents.get("clerk")?.state === "idle");
    const said = agents.get("clerk")?.session.messages().at(-1);
    expect([said, ran]).toEqual([expect.objectContaining({ content: "It is 1." }), ["worker"]]);
    await worker.stop();
  });

  test("missing tables and rights are reported at the start", async () => {
    await Fleet.on(server()).then((one) => one.close());
    await server().execute("drop schema haft_jobs cascade");
    await expect(started({ migrate: false })).rejects.toMatchObject({
      code: "corrupt_record",
      message: expect.stringContaining("pg-boss is not installed"),
      operatorHint: expect.stringContaining("haft store migrate"),
    });
    await server()
      .execute("drop owned by worker cascade; drop role if exists worker")
      .catch(() => {});
    await server().execute(`create role worker login; grant usage on schema haft to worker;
      grant select, insert, update, delete on all tables in schema haft to worker; revoke create on database postgres from public`);
    await expect(started({ url: server().url.replace("haft:", "worker:") })).rejects.toMatchObject({
      code: "store_failed",
      message: expect.stringContaining("42501"),
      operatorHint: expect.stringContaining("haft store migrate"),
    });
    await expect(started({ schema: 'a "b"' })).rejects.toMatchObject({
      code: "invalid_argument",
      hint: expect.stringContaining("letters"),
    });
  });

  test("a worker or server whose database is not there yet can be started again, and a stopped worker cannot", async () => {
    const store = () => postgresStore({ url: server().url, retryMs: 0 });
    const [worked, served] = [createRuntime({ store: store() }), createRuntime({ store: store() })];
    const worker = createWorker(worked);
    const web = createServer(served, { auth: staticToken({ token: "a-token-of-the-tests" }) });
    onTestFinished(async () => {
      await web.close();
      await Promise.all([worked.close(), served.close()]);
    });
    const port = await freePort();
    const healthy = () => fetch(`http://127.0.0.1:${port}/healthz`).then(({ status }) => status);
    const REFUSED = { status: "rejected", reason: { code: "store_failed" } };
    const start = () => [worker.start(), web.work(), web.listen({ port })];
    await server().stop();
    try {
      expect(await Promise.allSettled(start())).toMatchObject([REFUSED, REFUSED, REFUSED]);
      await expect(healthy()).rejects.toThrow("fetch failed");
    } finally {
      await server().start();
    }
    await Promise.all(start());
    expect(await healthy()).toBe(200);
    await worker.stop();
    await expect(worker.start()).rejects.toMatchObject({ code: "invalid_argument", message: "The worker was stopped." });
  });

  async function started(options: Partial<PostgresStoreOptions>): Promise<void> {
    const runtime = createRuntime({ store: postgresStore({ url: server().url, retryMs: 0, ...options }) });
    onTestFinished(async () => void (await runtime.close()));
    await createWorker(runtime).start();
  }
});

test("issue 21.3 a worker without a store that several machines can share is rejected at once", () => {
  const make = (store?: Store) => () => createWorker(createRuntime(store === undefined ? {} : { store }));
  for (const refused of [make(), make(memoryStore())])
    expect(refused).toThrow(expect.objectContaining({ code: "invalid_argument", hint: expect.stringContaining("postgresStore") }));
});

test("issue 21.3 invalid options of a worker are rejected by name", () => {
  const runtime = createRuntime({ store: postgresStore({ url: "postgres://haft@localhost/haft" }) });
  expect(() => createWorker(runtime, { concurrency: 0 })).toThrow("concurrency of createWorker() is 0");
  expect(() => createWorker(runtime, { pollMs: 5 })).toThrow("pollMs of createWorker() is 5");
  expect(() => createWorker(runtime, Object.assign({ concurrency: 3 }, { workers: 3 }))).toThrow('"workers"');
});

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 50));
}
