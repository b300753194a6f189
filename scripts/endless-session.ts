/**
 * One session with very many calls: what it takes in memory, what a page of it costs, and what a call costs at every length.
 *
 * `node --max-semi-space-size=16 --conditions=haft-source scripts/endless-session.ts [calls] [folder]`; the file is made in the
 * folder and removed again. Without the flag, Node 24 lets the youngest objects of each of the two threads take up to 96 MB before
 * it looks whether they are still needed, and fills that at this pace, however little is kept.
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "../src/core/store/store.ts";
import type { Tool } from "../src/core/tool.ts";
import { createRuntime } from "../src/runtime/runtime.ts";
import type { RuntimeSession } from "../src/runtime/runtime-session.ts";
import { memoryStore } from "../src/store/memory-store.ts";
import { sqliteStore } from "../src/store/sqlite-store.ts";
import { heapBytes } from "./exact-accounting.ts";

/** Calls of one `execute`: as many as a model makes at most. */
const BATCH = 20;
const LENGTHS = [100, 1_000, 10_000, 100_000];
/** Calls that are timed at each length. */
const TIMED_CALLS = 400;
const PAGE = 1_000;
const MAX_RSS_MIB = 300;

const count: Tool = {
  name: "count",
  description: "Counts its calls.",
  inputSchema: { type: "object", properties: { n: { type: "integer" }, note: { type: "string" } }, required: ["n"] },
  // May not be repeated: every call has its intent in the log before it runs.
  effects: { writes: ["session:count"], commutative: true },
  execute: ({ n }: { readonly n: number }, { state }) => {
    state.update("count", (before) => Number(before ?? 0) + 1);
    return { n, text: "an answer of some length, as tools give them" };
  },
};

function callsFrom(
  n: number,
  size: number,
): readonly { readonly id: string; readonly name: string; readonly input: { readonly n: number } }[] {
  return Array.from({ length: size }, (_, index) => ({ id: `call${n + index}`, name: "count", input: { n: n + index } }));
}

/** Makes calls until the session has so many; returns how many it has. */
async function callUpTo(session: RuntimeSession, from: number, to: number, onBatch?: () => void): Promise<number> {
  for (let n = from; n < to; n += BATCH) {
    const results = await session.execute(callsFrom(n, Math.min(BATCH, to - n)));
    if (results.some((result) => result.status !== "ok")) throw new Error(`A call after ${n} did not end well.`);
    onBatch?.();
  }
  return to;
}

interface CostRow {
  readonly store: string;
  readonly history: number;
  /** Milliseconds of one `execute` with one call, and of a call in a batch of 20. */
  readonly oneMs: number;
  readonly inBatchMs: number;
}

/** What a call costs when the session has had so many. */
async function costTable(name: string, store: Store | undefined): Promise<readonly CostRow[]> {
  const runtime = createRuntime({ tools: [count], ...(store === undefined ? {} : { store }) });
  const session = runtime.session();
  const rows: CostRow[] = [];
  let made = await callUpTo(session, 0, LENGTHS[0] ?? 0);
  for (const history of LENGTHS) {
    made = await callUpTo(session, made, history);
    const ones = await times(TIMED_CALLS, async () => void (await session.execute(callsFrom(made++, 1))));
    const batches = await times(TIMED_CALLS / BATCH, async () => void (made = await callUpTo(session, made, made + BATCH)));
    rows.push({ store: name, history, oneMs: round(percentile(ones, 0.5)), inBatchMs: round(percentile(batches, 0.5) / BATCH) });
  }
  await runtime.close();
  return rows;
}

async function times(repeats: number, work: () => Promise<void>): Promise<readonly number[]> {
  const all: number[] = [];
  for (let left = repeats; left > 0; left--) {
    const startedAt = performance.now();
    await work();
    all.push(performance.now() - startedAt);
  }
  return all;
}

/** The milliseconds of each page of the session's events. */
async function pageTimes(session: RuntimeSession): Promise<{ readonly events: number; readonly pages: readonly number[] }> {
  const pages: number[] = [];
  let events = 0;
  let startedAt = performance.now();
  for (const all = session.events(); (await all.next()).done !== true;) {
    if (++events % PAGE > 0) continue;
    pages.push(performance.now() - startedAt);
    startedAt = performance.now();
  }
  return { events, pages };
}

async function endlessSession(calls: number, path: string): Promise<boolean> {
  const runtime = createRuntime({ tools: [count], store: sqliteStore({ path }) });
  const session = runtime.session("endless");
  const startedAt = performance.now();
  let made = 0;
  await callUpTo(session, 0, calls, () => {
    made += BATCH;
    if (made % Math.max(BATCH, calls / 10) === 0) console.error(`${made} calls, ${rssMiB()} MiB`);
  });
  const seconds = (performance.now() - startedAt) / 1_000;
  const { events, pages } = await pageTimes(session);
  const maxRssMiB = maxRss();
  const heapMiB = round(heapBytes() / 2 ** 20);
  await runtime.close();
  const resumed = await resumeTime(path);
  const isWhole = resumed.count === calls && resumed.length === events;
  const isGood = isWhole && maxRssMiB <= MAX_RSS_MIB;
  const report = {
    verdict: isGood ? "good" : "bad",
    calls,
    events,
    isWhole,
    callsPerSecond: Math.round(calls / seconds),
    maxRssMiB,
    heapMiB,
    pageP50Ms: round(percentile(pages, 0.5)),
    pageP99Ms: round(percentile(pages, 0.99)),
    resumeSeconds: resumed.seconds,
    maxRssWithResumeMiB: maxRss(),
    fileMiB: Math.round(statSync(path).size / 2 ** 20),
    flags: process.execArgv.join(" "),
  };
  console.log(JSON.stringify(report, null, 2));
  return isGood;
}

/** Takes the session up in a new runtime. */
async function resumeTime(path: string): Promise<{ readonly seconds: number; readonly count: unknown; readonly length: number }> {
  const runtime = createRuntime({ tools: [count], store: sqliteStore({ path }) });
  const startedAt = performance.now();
  const session = await runtime.resume("endless");
  const seconds = round((performance.now() - startedAt) / 1_000);
  const { length } = session;
  const counted = session.state("default", "count");
  await runtime.close();
  return { seconds, count: counted, length };
}

/** The most memory the process ever had. */
function maxRss(): number {
  return Math.round(process.resourceUsage().maxRSS / 1024);
}

function rssMiB(): number {
  return Math.round(process.memoryUsage().rss / 2 ** 20);
}

function percentile(values: readonly number[], share: number): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length * share)] ?? Number.NaN;
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

const [calls = 1_000_000, folder = tmpdir()] = [process.argv[2] === undefined ? undefined : Number(process.argv[2]), process.argv[3]];
const place = mkdtempSync(join(folder, "endless-"));
try {
  // First, so that what it takes is not what the others left behind.
  if (!(await endlessSession(calls, join(place, "endless.db")))) process.exitCode = 1;
  console.table(await costTable("none", undefined));
  console.table(await costTable("memory", memoryStore()));
  console.table(await costTable("sqlite", sqliteStore({ path: join(place, "cost.db") })));
} finally {
  rmSync(place, { recursive: true });
}
