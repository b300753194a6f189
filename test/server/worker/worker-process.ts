/**
 * A process of a fleet: `node worker-process.ts <role> <url> [count] [tool] [prefix]`. It prints a line of JSON for each thing done, and writes what its
 * tools do into the table `effects`.
 *
 * `work` takes sessions until it reads "stop". `submit` begins so many sessions with a job each and leaves them to workers, as `haft serve --no-worker`
 * does. `run` begins them and runs their jobs itself, until it is killed. `agent` runs the agent "clerk" with a schedule of each second, where no
 * other process does.
 */
import { createInterface } from "node:readline";
import pg from "pg";
import { defineTool } from "../../../src/registry/define-tool.ts";
import { ExclusiveAgent } from "../../../src/cli/open/exclusive-agent.ts";
import { createAgent } from "../../../src/compose/agent.ts";
import { scriptedModel } from "../../../src/model/scripted-model.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { createWorker } from "../../../src/server/worker/create-worker.ts";
import { createTriggers } from "../../../src/triggers/triggers.ts";
import { postgresStore } from "../../../src/store/postgres-store.ts";

const [role = "", url = "", count = "1", tool = "note", prefix = "s"] = process.argv.slice(2);
/** Short, so that a test need not wait long for its end. */
const LEASE_MS = 1_500;
const HELD_MS = 60_000;

const effects = new pg.Pool({ connectionString: url, max: 3 });

function say(what: unknown): void {
  process.stdout.write(`${JSON.stringify(what)}\n`);
}

async function effect(name: string, key: string | undefined): Promise<void> {
  await effects.query("insert into effects (tool, key, pid) values ($1, $2, $3)", [name, key ?? "", process.pid]);
}

const after = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });

const tools = [
  defineTool({
    name: "note",
    description: "Notes that it ran. May be repeated.",
    effects: { writes: [], idempotent: true },
    async execute(_, { idempotencyKey }) {
      await after(20);
      await effect("note", idempotencyKey);
      return "noted";
    },
  }),
  defineTool({
    name: "pay",
    description: "Pays once: it may not be repeated.",
    inputSchema: { type: "object", properties: { account: { type: "string" } }, required: ["account"] },
    effects: { writes: "account:{account}" },
    async execute(_, { idempotencyKey }) {
      await effect("pay", idempotencyKey);
      await after(20);
      return "paid";
    },
  }),
  defineTool({
    name: "long",
    description: "Goes on until it is stopped. May be repeated.",
    effects: { writes: [], idempotent: true },
    async execute(_, { idempotencyKey, signal }) {
      await effect("long", idempotencyKey);
      await after(HELD_MS, signal);
      return "stopped";
    },
  }),
  defineTool({
    name: "brief",
    description: "Takes three seconds. May be repeated.",
    effects: { writes: [], idempotent: true },
    async execute(_, { idempotencyKey }) {
      await effect("brief", idempotencyKey);
      await after(3_000);
      return "done";
    },
  }),
  defineTool({
    name: "die",
    description: "Ends its process.",
    effects: { writes: [], idempotent: true },
    async execute(_, { idempotencyKey }) {
      await effect("die", idempotencyKey);
      process.kill(process.pid, "SIGKILL");
    },
  }),
];

const store = postgresStore({ url, leaseMs: LEASE_MS });
const leaves = role === "submit";
const runtime = createRuntime({ tools, store, ...(leaves ? { jobs: { maxRunning: 0 } } : {}) });

async function submit(): Promise<void> {
  await store.open();
  await store.queue?.open();
  const ids = Array.from({ length: Number(count) }, (_, index) => `${prefix}${index}`);
  const atOnce = 16;
  for (let from = 0; from < ids.length; from += atOnce) {
    const jobs = await Promise.all(
      ids.slice(from, from + atOnce).map(async (id) => {
        const session = runtime.session(id);
        const job = await session.submit({ name: tool, input: tool === "pay" ? { account: id } : {} });
        if (leaves) await runtime.sessions.handOver(session.id);
        return { sessionId: id, jobId: job.id };
      }),
    );
    if (leaves) await store.queue?.offer(jobs.map(({ sessionId }) => sessionId));
    for (const job of jobs) say(job);
  }
}

async function work(): Promise<void> {
  const worker = createWorker(runtime, { concurrency: 8, pollMs: 300, graceMs: Number(count) });
  await worker.start();
  say("working");
  for await (const line of createInterface({ input: process.stdin })) if (line === "stop") break;
  await worker.stop();
  say(worker.counts);
}

async function agent(): Promise<void> {
  const triggers = createTriggers();
  triggers.declare({ type: "schedule", name: "tick", cron: "* * * * * *", prompt: "It is time." });
  const model = scriptedModel(() => ({ text: "Yes." }));
  const make = (session: RuntimeSession) => createAgent({ session, model, triggers });
  const held = new ExclusiveAgent({ name: "clerk", runtime, agents: new Map(), make, log: say });
  await held.start();
  say("started");
  await new Promise(() => setInterval(() => {}, HELD_MS));
}

if (role === "work") await work();
else if (role === "agent") await agent();
else await submit();
if (role === "run") await new Promise(() => setInterval(() => {}, HELD_MS));
await runtime.close();
await effects.end();
