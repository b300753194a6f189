/** A process of `bench/fleet.ts`: `fleet-process.ts <kind> <send|work> <url> <jobs>`. It says that it is ready; one that sends begins when it is told. */
import { once } from "node:events";
import { createRuntime } from "../src/runtime/runtime.ts";
import { defineTool } from "../src/registry/define-tool.ts";
import { createWorker } from "../src/server/worker/create-worker.ts";
import { postgresStore } from "../src/store/postgres-store.ts";

const [kind = "", role = "", url = "", jobs = "0"] = process.argv.slice(2);
/** Of every kind: jobs that a process runs at a time. */
const CONCURRENCY = 8;
/** Sessions that are begun at a time. */
const AT_ONCE = 16;
const LOOK_MS = 10;
/** A second by default, in which a process of eight places does eight jobs. */
const DBOS_POLL_MS = 50;

interface Side {
  /** Begins to take jobs. */
  work(): Promise<void>;
  send(count: number): Promise<void>;
  ended(): Promise<number>;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function haft(): Promise<Side> {
  const nothing = defineTool({
    name: "nothing",
    description: "Does nothing.",
    effects: { writes: [], idempotent: true },
    execute: () => "done",
  });
  const store = postgresStore({ url });
  const runtime = createRuntime({ tools: [nothing], store, ...(role === "send" ? { jobs: { maxRunning: 0 } } : {}) });
  await store.open();
  await store.queue?.open();
  return {
    work: () => createWorker(runtime, { concurrency: CONCURRENCY }).start(),
    async send(count) {
      let next = 0;
      const more = async (): Promise<void> => {
        while (next < count) {
          const session = runtime.session(`session ${next++}`);
          await session.submit({ name: "nothing" });
          await runtime.sessions.handOver(session.id);
          await store.queue?.offer([session.id]);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, more));
    },
    ended: async () => (await store.jobs.list({ states: ["done"], limit: 100_000 })).length,
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
    async send(count) {
      let next = 0;
      const more = async (): Promise<void> => {
        while (next++ < count) await made.send("nothing", {});
      };
      await Promise.all(Array.from({ length: AT_ONCE }, more));
    },
    async ended() {
      const { rows } = await made
        .getDb()
        .executeSql("select count(*)::int as ended from pgboss.job where state = 'completed' and name = 'nothing'");
      return Number(rows[0]?.ended);
    },
  };
}

async function dbos(): Promise<Side | undefined> {
  const loaded = await import("@dbos-inc/dbos-sdk").catch(() => undefined);
  if (loaded === undefined) return undefined;
  const { DBOS } = loaded;
  const listenQueues = [role === "work" ? "nothing" : "none"]; // the sender runs none itself
  DBOS.setConfig({ name: "bench", systemDatabaseUrl: url, runAdminServer: false, logLevel: "error", listenQueues });
  const nothing = DBOS.registerWorkflow(async () => "done", { name: "nothing" });
  await DBOS.launch();
  const queue = await DBOS.registerQueue("nothing", { workerConcurrency: CONCURRENCY, minPollingIntervalMs: DBOS_POLL_MS });
  return {
    work: async () => {},
    async send(count) {
      let next = 0;
      const more = async (): Promise<void> => {
        while (next++ < count) await DBOS.startWorkflow(nothing, { queueName: queue.name })();
      };
      await Promise.all(Array.from({ length: AT_ONCE }, more));
    },
    ended: async () => (await DBOS.listWorkflows({ status: "SUCCESS", limit: 100_000 })).length,
  };
}

const side = kind === "Haft" ? await haft() : kind === "DBOS" ? await dbos() : await boss();
if (side === undefined) say("absent");
else if (role === "work") {
  await side.work();
  say("ready");
} else {
  say("ready");
  await once(process.stdin, "data");
  await side.send(Number(jobs));
  while ((await side.ended()) < Number(jobs)) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  say("ended");
}
