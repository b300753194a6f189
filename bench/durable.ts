/** Durable calls a second on SQLite, one by one and many sessions at once, beside what SQLite itself does in the same folder. */
import { once } from "node:events";
import { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import { createRuntime, defineTool, type RuntimeSession } from "../src/index.ts";
import { sqliteStore } from "../src/store/sqlite-store.ts";
import { inFolderOnDisk } from "./folder.ts";
import { goal, measure, type Contestant, type Timing } from "./measure.ts";
import { INPUT, SCHEMA, handle, type Order } from "./workload.ts";

/** The share of the limit that is asked for. */
const SHARE = 0.8;
const BATCH_ROWS = 100;
/** How often each session calls in one run of a crowd. */
const CALLS_EACH = 8;

/** A way to write, and how much one run of it is. */
interface Row extends Contestant {
  /** Calls, or transactions of the bare limit. */
  readonly calls: number;
  readonly rows: number;
}

export async function printDurable(): Promise<void> {
  await inFolderOnDisk(async (folder) => {
    const body = await bodyOfEvent();
    const runtime = createRuntime({ tools: [order, write], store: sqliteStore({ path: `${folder}/haft.db` }) });
    const bare = bareWriter(`${folder}/bare.db`, body);
    const thread = insertThread(`${folder}/thread.db`, body);
    await printOneByOne(runtime, bare, thread);
    thread.close();
    for (const sessions of [64, 512]) await printMany(runtime, bare, sessions);
    bare.close();
    await runtime.close();
  });
}

const order = defineTool({
  name: "order",
  description: "d",
  inputSchema: SCHEMA,
  effects: { reads: ["orders"], writes: [] },
  execute: async (input: Order) => handle(input),
});
const write = defineTool({
  ...order,
  name: "write",
  effects: { writes: (input: { readonly id?: unknown }) => [`order:${String(input.id)}`] },
  execute: async (input: Order) => handle(input),
});

type Runtime = ReturnType<typeof createRuntime>;

/** What an event of these calls takes on average, so that the bare limit writes rows as long as ours. */
async function bodyOfEvent(): Promise<string> {
  const session = createRuntime({ tools: [write] }).session();
  await session.execute({ id: "c", name: "write", input: INPUT });
  const texts = session.log.map((event) => JSON.stringify(event));
  return "x".repeat(Math.round(texts.reduce((sum, text) => sum + text.length, 0) / texts.length));
}

/** SQLite with nothing around it: a list of texts, and a table whose rows are found by session and position as events are. */
function bareWriter(path: string, body: string) {
  const database = new DatabaseSync(path);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  database.exec("CREATE TABLE list (id INTEGER PRIMARY KEY, body TEXT NOT NULL)");
  database.exec("CREATE TABLE keyed (session TEXT, position INTEGER, at BIGINT, type TEXT, body TEXT, PRIMARY KEY (session, position))");
  const insertText = database.prepare("INSERT INTO list (body) VALUES (?)");
  const insertKeyed = database.prepare("INSERT INTO keyed VALUES (?, ?, 0, 'call-end', ?)");
  let position = 0;
  const commit = (rows: number, insert: (index: number) => void): void => {
    database.exec("BEGIN IMMEDIATE");
    for (let index = 0; index < rows; index++) insert(index);
    database.exec("COMMIT");
  };
  return {
    writeTexts: (rows: number) => commit(rows, () => insertText.run(body)),
    /** Of as many sessions, in turn. */
    writeKeyed: (rows: number, sessions: number) => commit(rows, () => insertKeyed.run(`session-${position % sessions}`, position++, body)),
    close: () => database.close(),
  };
}

type BareWriter = ReturnType<typeof bareWriter>;

/** The same list of texts, written by a thread that does nothing else, so that the program's own is free while the disk is waited for. */
function insertThread(path: string, body: string) {
  const worker = new Worker(new URL("insert-thread.ts", import.meta.url), { workerData: { path, body } });
  return {
    // oxlint-disable unicorn/require-post-message-target-origin -- a thread has no origin
    write: async (): Promise<void> => {
      worker.postMessage(false);
      await once(worker, "message");
    },
    close: () => worker.postMessage(true),
    // oxlint-enable unicorn/require-post-message-target-origin
  };
}

type InsertThread = ReturnType<typeof insertThread>;

async function printOneByOne(runtime: Runtime, bare: BareWriter, thread: InsertThread): Promise<void> {
  const rows: readonly Row[] = [
    { name: "bare limit", note: "one insert, one commit", calls: 1, rows: 1, run: () => bare.writeTexts(1) },
    { name: "the same in a thread", note: "one message there and one back", calls: 1, rows: 1, run: thread.write },
    await haftRow("Haft, reads", [runtime.session()], { tool: "order", callsEach: 1 }),
    await haftRow("Haft, writes that may not be repeated", [runtime.session()], { tool: "write", callsEach: 1 }),
  ];
  const timings = await measure(rows, { rounds: 15, roundMs: 300 });
  console.log("\nDurable calls one by one, SQLite with synchronous = FULL");
  const [limit = Number.NaN, inThread = Number.NaN, reads = Number.NaN, writes = Number.NaN] = printRates(rows, timings, {
    unit: "calls",
    count: (row) => row.calls,
  });
  const share = writes / (limit / 2);
  console.log(
    `  Reads, one commit each, come to ${percent(reads / limit)} of the limit, and to ${percent(reads / inThread)} of what a thread can do.`,
  );
  console.log(`  Writes, two commits each, come to ${percent(share)} of half of it; ${goal(`≥ ${percent(SHARE)}`, share >= SHARE)}.`);
}

async function printMany(runtime: Runtime, bare: BareWriter, count: number): Promise<void> {
  const sessions = Array.from({ length: count }, () => runtime.session());
  const batch = { note: `${BATCH_ROWS} inserts, one commit`, calls: 1, rows: BATCH_ROWS };
  const ours = [
    await haftRow("Haft, reads", sessions, { tool: "order", callsEach: CALLS_EACH }),
    await haftRow("Haft, writes that may not be repeated", sessions, { tool: "write", callsEach: CALLS_EACH }),
  ];
  const rows: readonly Row[] = [
    { ...batch, name: "bare list of texts", run: () => bare.writeTexts(BATCH_ROWS) },
    { ...batch, name: "bare limit: texts by session and position", run: () => bare.writeKeyed(BATCH_ROWS, count) },
    ...ours,
  ];
  const timings = await measure(rows, { rounds: 9, roundMs: 500 });
  console.log(`\nDurable rows of ${count} sessions, each with a call in flight`);
  const [, limit = Number.NaN, ...rates] = printRates(rows, timings, { unit: "rows", count: (row) => row.rows });
  for (const [index, row] of ours.entries()) {
    const rate = rates[index] ?? Number.NaN;
    const perCall = row.rows / row.calls;
    const share = rate / limit;
    console.log(
      `  ${row.name}: ${(rate / perCall).toFixed(0)} calls/s of ${perCall} rows, ${percent(share)} of the limit; ${goal(`≥ ${percent(SHARE)}`, share >= SHARE)}.`,
    );
  }
  await Promise.all(sessions.map((session) => session.close()));
}

/** Every session makes its calls one after the other, all sessions at the same time. */
async function haftRow(
  name: string,
  sessions: readonly RuntimeSession[],
  { tool, callsEach }: { readonly tool: string; readonly callsEach: number },
): Promise<Row> {
  const inputs = sessions.map((_, index) => ({ ...INPUT, id: `order-${index}` }));
  const run = async (): Promise<void> => {
    await Promise.all(
      sessions.map(async (session, index) => {
        for (let made = 0; made < callsEach; made++) await requireOk(session.execute({ id: "c", name: tool, input: inputs[index] }));
      }),
    );
  };
  const length = (): number => sessions.reduce((sum, session) => sum + session.length, 0);
  await run();
  const before = length();
  await run();
  return { name, calls: sessions.length * callsEach, rows: length() - before, run };
}

async function requireOk(call: Promise<{ readonly status: string }>): Promise<void> {
  const { status } = await call;
  if (status !== "ok") throw new Error(`A call ended ${status}.`);
}

/** Prints what each came to in a second, and returns it. */
function printRates(
  rows: readonly Row[],
  timings: readonly Timing[],
  { unit, count }: { readonly unit: string; readonly count: (row: Row) => number },
): readonly number[] {
  const width = Math.max(...rows.map((row) => row.name.length));
  return rows.map((row, index) => {
    const timing = timings[index];
    const rate = (us: number | undefined): number => (count(row) * 1_000_000) / (us ?? Number.NaN);
    const spread = `(${rate(timing?.maxUs).toFixed(0)}–${rate(timing?.minUs).toFixed(0)})`;
    console.log(
      `  ${row.name.padEnd(width)} ${rate(timing?.medianUs).toFixed(0).padStart(8)} ${unit}/s ${spread.padEnd(16)} ${row.note ?? ""}`.trimEnd(),
    );
    return rate(timing?.medianUs);
  });
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}
