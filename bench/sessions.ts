/** What sessions cost as their history grows: a branch, a trial, a call. */
import { createRuntime, defineTool, type RuntimeSession } from "../src/index.ts";
import { sqliteStore } from "../src/store/sqlite-store.ts";
import { inFolderOnDisk } from "./folder.ts";
import { measure, median, printTable, spell, type Contestant } from "./measure.ts";

/** A history is flat when its longest costs at most this much more than its shortest: twice, on machines as noisy as these. */
const FLAT = 2;
const BATCH = 1_000;

const look = defineTool({ name: "look", description: "d", effects: { reads: ["cell"], writes: [] }, execute: () => 1 });
const note = defineTool({
  name: "note",
  description: "d",
  inputSchema: { type: "object", properties: { key: { type: "string" } }, required: ["key"] },
  effects: { writes: ["session:notes"] },
  execute({ key }: { key: string }, { state }) {
    state.update(key, (before) => Number(before ?? 0) + 1);
    return null;
  },
});

export async function printSessions(): Promise<void> {
  await printBranches();
  await printGrowth();
}

/** Forks and simulations of sessions whose logs and states differ in size. */
async function printBranches(): Promise<void> {
  const runtime = createRuntime({ tools: [look, note] });
  const histories: { readonly length: number; readonly session: RuntimeSession }[] = [];
  for (const length of [10, 1_000, 100_000]) histories.push({ length, session: await sessionOf(runtime.session(), length) });
  const rows = (name: string, run: (session: RuntimeSession) => Promise<unknown>): readonly Contestant[] =>
    histories.map(({ length, session }) => ({ name: `${name} at ${spell(length)} events`, run: () => run(session) }));
  const forks = await measure(
    rows("fork and close", (session) => session.fork().close()),
    { rounds: 9, roundMs: 150 },
  );
  const trials = await measure(
    rows("simulate a read", (session) => session.simulate({ name: "look" })),
    { rounds: 9, roundMs: 150 },
  );
  printTable("A branch of a session, in memory", forks, forks[0]?.name ?? "");
  printFlatness(forks.map((timing) => timing.medianUs));
  printTable("One read call tried in a simulation, in memory", trials, trials[0]?.name ?? "");
  printFlatness(trials.map((timing) => timing.medianUs));
  console.log("\nMemory of a branch that is held");
  for (const { length, session } of histories)
    console.log(`  at ${spell(length).padEnd(8)} events ${bytesOfBranch(session).toFixed(0).padStart(8)} bytes`);
  await runtime.close();
}

/** A session whose log has at least so many events, and whose state has a value for every third of them. */
async function sessionOf(session: RuntimeSession, length: number): Promise<RuntimeSession> {
  while (session.length < length) {
    const count = Math.min(BATCH, Math.ceil((length - session.length) / 3));
    const from = session.length;
    await session.execute(Array.from({ length: count }, (_, n) => ({ name: "note", input: { key: `k${from + n}` } })));
  }
  return session;
}

function bytesOfBranch(session: RuntimeSession): number {
  const count = 10_000;
  const held: RuntimeSession[] = [];
  const before = heapUsed();
  for (let index = 0; index < count; index++) held.push(session.fork());
  const bytes = (heapUsed() - before) / count;
  for (const branch of held) void branch.close();
  return bytes;
}

/** What a call costs in a session that has had many. */
async function printGrowth(): Promise<void> {
  const lengths = [100, 1_000, 10_000, 100_000];
  const memory = new Map<number, number[]>();
  const runtime = createRuntime({ tools: [look] });
  for (let round = -1; round < 5; round++) {
    for (const length of lengths) {
      // So many sessions that each grows by half at most while its calls are timed
      const sessions = await Promise.all(Array.from({ length: Math.max(1, 20_000 / length) }, () => grown(runtime.session(), length)));
      const each = await timeCalls(sessions, Math.min(10_000, length / 2));
      if (round >= 0) memory.set(length, [...(memory.get(length) ?? []), each]);
      await Promise.all(sessions.map((session) => session.close()));
    }
  }
  await runtime.close();
  printGrowthTable("in memory", memory);
  printGrowthTable("in SQLite, durable", await inFolderOnDisk((folder) => storedGrowth(folder, lengths)));
}

async function storedGrowth(folder: string, lengths: readonly number[]): Promise<ReadonlyMap<number, readonly number[]>> {
  const samples = new Map<number, number[]>();
  const runtime = createRuntime({ tools: [look], store: sqliteStore({ path: `${folder}/growth.db` }) });
  const sessions = await Promise.all(lengths.map((length) => grown(runtime.session(), length)));
  for (let round = -1; round < 15; round++) {
    for (const [index, session] of sessions.entries()) {
      const each = await timeCalls([session], 50);
      const length = lengths[index] ?? 0;
      if (round >= 0) samples.set(length, [...(samples.get(length) ?? []), each]);
    }
  }
  await runtime.close();
  return samples;
}

async function grown(session: RuntimeSession, calls: number): Promise<RuntimeSession> {
  for (let left = calls; left > 0; left -= BATCH) {
    await session.execute(Array.from({ length: Math.min(BATCH, left) }, () => ({ name: "look" })));
  }
  return session;
}

/** Microseconds of one call, one after the other, over all of these sessions. */
async function timeCalls(sessions: readonly RuntimeSession[], calls: number): Promise<number> {
  const startedAt = performance.now();
  for (const session of sessions) for (let index = 0; index < calls; index++) await session.execute({ name: "look" });
  return ((performance.now() - startedAt) * 1_000) / (sessions.length * calls);
}

function printGrowthTable(where: string, samples: ReadonlyMap<number, readonly number[]>): void {
  console.log(`\nOne read call in a session that has had others, ${where}`);
  for (const [length, values] of samples) {
    const spread = `(${Math.min(...values).toFixed(2)}–${Math.max(...values).toFixed(2)})`;
    console.log(`  after ${spell(length).padStart(7)} calls ${median(values).toFixed(2).padStart(10)} µs ${spread}`);
  }
  printFlatness([...samples.values()].map(median));
}

function printFlatness(costs: readonly number[]): void {
  const growth = (costs.at(-1) ?? Number.NaN) / (costs[0] ?? Number.NaN);
  console.log(`  ${growth.toFixed(2)} × from the shortest to the longest: ${growth <= FLAT ? "flat" : "NOT flat"} (at most ${FLAT} ×)`);
}

function heapUsed(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}
