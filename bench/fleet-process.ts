/**
 * A process of `bench/fleet.ts`: `fleet-process.ts <kind> <send|work|call> <url> [count] [sessions]`. It says that it is ready; one that sends or calls
 * begins when it is told, and ends with a line: `ended`, or the milliseconds of each call.
 */
import { once } from "node:events";
import pg from "pg";
import { createRuntime } from "../src/runtime/runtime.ts";
import { defineTool } from "../src/registry/define-tool.ts";
import { createWorker } from "../src/server/worker/create-worker.ts";
import { postgresStore } from "../src/store/postgres-store.ts";

const [kind = "", role = "", url = "", count = "0", sessionCount = count] = process.argv.slice(2);
/** Of every kind: jobs that a process runs at a time. */
const CONCURRENCY = 8;
/** Sessions that are begun at a time. */
const AT_ONCE = 16;
const CALLS_AT_ONCE = 64;
const LOOK_MS = 25;
/** A second by default, in which a process of eight places does eight jobs. */
const DBOS_POLL_MS = 50;

interface Side {
  /** Begins to take jobs. */
  work(): Promise<void>;
  send(count: number): Promise<void>;
  /** Counts the jobs that have ended. */
  readonly ended: string;
  /** One durable call; calls with the same number come one after the other. */
  readonly call?: (caller: number) => Promise<unknown>;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Runs work so many times, so many at a time. */
async function times(total: number, atOnce: number, work: (index: number, caller: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const more = async (caller: number): Promise<void> => {
    for (let index = next++; index < total; index = next++) await work(index, caller);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, total) }, (_, caller) => more(caller)));
}

async function haft(): Promise<Side> {
  const nothing = defineTool({
    name: "nothing",
    description: "Does nothing.",
    effects: { writes: [], idempotent: true },
    execute: () => "done",
  });
  const write = defineTool({
    name: "write",
    description: "Must not be repeated.",
    effects: { writes: ({ key }) => [`cell:${String(key)}`] },
    execute: () => "done",
  });
  const store = postgresStore({ url });
  const jobs = { maxQueued: 10_000, ...(role === "send" ? { maxRunning: 0 } : {}) };
  const runtime = createRuntime({ tools: [nothing, write], store, jobs });
  await store.open();
  await store.queue?.open();
  const callers = role === "call" ? Array.from({ length: CALLS_AT_ONCE }, () => runtime.session()) : [];
  return {
    work: () => createWorker(runtime, { concurrency: CONCURRENCY }).start(),
    async send(total) {
      const each = total / Number(sessionCount);
      await times(Number(sessionCount), AT_ONCE, async (index) => {
        const session = runtime.session(`session ${index}`);
        await times(each, each, () => session.submit({ name: "nothing" }));
        await runtime.sessions.handOver(session.id);
        await store.queue?.offer([session.id]);
      });
    },
    ended: "select count(*) as ended from haft.haft_job where ended_at is not null",
    call: async (caller) => {
      const result = await callers[caller]?.execute({ name: "write", input: { key: `${process.pid}/${caller}` } });
      if (result?.status !== "ok") throw new Error(`A call failed: ${JSON.stringify(result)}`);
    },
  };
}

async function boss(): Promise<Side> {
  const { PgBoss } = await import("pg-boss");
  const made = new PgBoss({ connectionString: url, useListenNotify: true, schedule: false, max: 10 });
  made.on("error", () => {});
  await made.start();
  await made.createQueue("nothing", { notify: true, heartbeatSeconds: 10 });
  return {
    async work() {
      const options = { pollingIntervalSeconds: 0.5, notifyPollingIntervalSeconds: 1, heartbeatRefreshSeconds: 1 };
      for (let place = 0; place < CONCURRENCY; place++) {
        const id: string = await made.work("nothing", options, async () => made.notifyWorker(id));
      }
    },
    send: (total) => times(total, AT_ONCE, () => made.send("nothing", {})),
    ended: "select count(*) as ended from pgboss.job where state = 'completed' and name = 'nothing'",
  };
}

async function dbos(): Promise<Side | undefined> {
  const loaded = await import("@dbos-inc/dbos-sdk").catch(() => undefined);
  if (loaded === undefined) return undefined;
  const { DBOS } = loaded;
  const listenQueues = [role === "work" ? "nothing" : "none"]; // the sender runs none itself
  DBOS.setConfig({
    name: "bench",
    systemDatabaseUrl: url,
    runAdminServer: false,
    logLevel: "error",
    listenQueues,
    executorID: String(process.pid),
  });
  const nothing = DBOS.registerWorkflow(async () => "done", { name: "nothing" });
  const oneStep = DBOS.registerWorkflow(() => DBOS.runStep(async () => "done", { name: "write" }), { name: "one step" });
  await DBOS.launch();
  const queue = await DBOS.registerQueue("nothing", { workerConcurrency: CONCURRENCY, minPollingIntervalMs: DBOS_POLL_MS });
  return {
    work: async () => {},
    send: (total) => times(total, AT_ONCE, () => DBOS.startWorkflow(nothing, { queueName: queue.name })()),
    ended: "select count(*) as ended from dbos.workflow_status where status = 'SUCCESS'",
    call: () => oneStep(),
  };
}

async function untilEnded(total: number, question: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  while (Number((await client.query(question)).rows[0]?.ended) < total) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  await client.end();
}

const side = kind === "Haft" ? await haft() : kind === "DBOS" ? await dbos() : await boss();
if (side === undefined) say("absent");
else if (role === "work") {
  await side.work();
  say("ready");
} else if (role === "call") {
  const latencies: number[] = [];
  await times(CALLS_AT_ONCE, CALLS_AT_ONCE, async (_, caller) => side.call?.(caller));
  say("ready");
  await once(process.stdin, "data");
  await times(Number(count), CALLS_AT_ONCE, async (_, caller) => {
    const startedAt = performance.now();
    await side.call?.(caller);
    latencies.push(performance.now() - startedAt);
  });
  say(JSON.stringify(latencies.map((ms) => Math.round(ms * 100) / 100)));
} else {
  say("ready");
  await once(process.stdin, "data");
  await side.send(Number(count));
  await untilEnded(Number(count), side.ended);
  say("ended");
}
