/** Background jobs: beside the same call waited for, how many a second, and how soon an agent goes on when one has ended. */
import { createAgent, createRuntime, defineTool, type Runtime, type RuntimeSession } from "../src/index.ts";
import type { Model } from "../src/core/model.ts";
import { scriptedModel } from "../src/model/scripted-model.ts";
import { sqliteStore } from "../src/store/sqlite-store.ts";
import { inFolderOnDisk } from "./folder.ts";
import { measure, median, printTable, spell, type Contestant } from "./measure.ts";

const MANY = 1_000;
const WAKES = 200;

const reads = { reads: ["cell"], writes: [] } as const;
const look = defineTool({ name: "look", description: "d", effects: reads, execute: async () => 1 });
let end = Promise.withResolvers<void>();
const build = defineTool({ name: "build", description: "d", effects: reads, execute: () => end.promise });
const LIMITS = { maxQueued: MANY, keepEnded: MANY } as const;

export async function printJobs(): Promise<void> {
  const inMemory = createRuntime({ tools: [look, build], jobs: LIMITS });
  await printCost("in memory", inMemory);
  await inFolderOnDisk(async (folder) => {
    const stored = createRuntime({ tools: [look, build], store: sqliteStore({ path: `${folder}/haft.db` }), jobs: LIMITS });
    await printCost("SQLite with synchronous = FULL", stored);
    await printWake("in memory", inMemory);
    await printWake("SQLite", stored);
    await inMemory.close();
    await stored.close();
  });
}

/** Calls of one message. */
const BATCHES: readonly number[] = [1, MANY];

async function printCost(where: string, runtime: Runtime): Promise<void> {
  for (const count of BATCHES) {
    const rows: readonly Contestant[] = [
      { name: "waited for", run: () => direct(runtime.session(), count) },
      { name: "as background jobs", run: () => background(runtime, runtime.session(), count) },
    ];
    const timings = await measure(rows, { rounds: 9, roundMs: 300 });
    printTable(`${spell(count)} ${count === 1 ? "call" : "calls"} of a new session, to the last result, ${where}`, timings, "waited for");
    const jobs = timings[1]?.medianUs ?? Number.NaN;
    console.log(`  ${spell(Math.round((count * 1_000_000) / jobs))} jobs a second, ${count} at a time.`);
  }
}

async function direct(session: RuntimeSession, count: number): Promise<void> {
  const results = await session.execute(calls(count));
  if (results.some(({ status }) => status !== "ok")) throw new Error("A call failed.");
  await session.close();
}

async function background(runtime: Runtime, session: RuntimeSession, count: number): Promise<void> {
  const results = await session.execute(calls(count), { background: true });
  for (const { callId } of results) await runtime.jobs.wait(callId);
  if (results.some(({ status }) => status !== "pending")) throw new Error("A call was no job.");
  await session.close();
}

function calls(count: number): readonly { readonly name: string; readonly input: object }[] {
  return Array.from({ length: count }, () => ({ name: "look", input: {} }));
}

/** From the end of a job to the next request of the agent that it wakes. */
async function printWake(where: string, runtime: Runtime): Promise<void> {
  const session = runtime.session();
  const asked: number[] = [];
  const script = scriptedModel(Array.from({ length: WAKES + 1 }, () => ({ text: "It has ended." })));
  const model: Model = Object.assign(Object.create(script) as Model, {
    stream: (...request: Parameters<Model["stream"]>) => {
      asked.push(performance.now());
      return script.stream(...request);
    },
  });
  const agent = createAgent({ model, session });
  agent.start();
  const waits: number[] = [];
  for (let wake = 0; wake < WAKES; wake++) {
    end = Promise.withResolvers();
    const { id } = await session.submit({ name: "build", input: {} });
    const from = performance.now();
    end.resolve();
    await runtime.jobs.wait(id);
    await agent.whenIdle();
    waits.push((asked.at(-1) ?? Number.NaN) - from);
  }
  await agent.stop();
  const slowest = Math.max(...waits);
  console.log(`\nAn agent is woken by the end of a job, ${where}`);
  console.log(
    `  from the end of its handler to the next request: median ${median(waits).toFixed(2)} ms, slowest of ${WAKES} ${slowest.toFixed(2)} ms`,
  );
}
