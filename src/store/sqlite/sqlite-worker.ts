/** The thread in which a SQLite store reads and writes. Answers one request at a time, in order. */
import { parentPort, workerData } from "node:worker_threads";
import { ToolError } from "../../core/error.ts";
import { BusyWait, SHORT_WAIT_MS } from "./busy-wait.ts";
import { connectSqlite } from "./sqlite-connection.ts";
import { openSqliteDatabase } from "./sqlite-database.ts";
import type { SqliteSettings } from "./sqlite-settings.ts";
import { HEARTBEAT_MS } from "../records/store-options.ts";
import type { SqlDatabase } from "../sql/sql-database.ts";
import type { WorkerAnswer, WorkerRequest } from "./worker-database.ts";

const settings = workerData as SqliteSettings; // worker-database.ts starts this thread, and nothing else does
let database: SqlDatabase | undefined;
let busyWait: BusyWait | undefined;
let last: Promise<void> = Promise.resolve();

parentPort?.on("message", (request: WorkerRequest) => enqueue(() => answer(request)));

// oxlint-disable-next-line no-restricted-globals -- real time, and no port reaches this thread; the main thread may be busy for long
setInterval(() => enqueue(sendHeartbeat), HEARTBEAT_MS);

/** Runs one job at a time. Jobs never throw. */
function enqueue(job: () => Promise<void>): void {
  last = last.then(job);
}

function open(): void {
  const connection = connectSqlite(settings);
  database = openSqliteDatabase(settings, connection);
  busyWait = new BusyWait(connection.database, settings.busyTimeoutMs);
}

async function sendHeartbeat(): Promise<void> {
  try {
    busyWait?.limit(SHORT_WAIT_MS);
    await database?.sendHeartbeat();
  } catch {
    // the next heartbeat makes up for a missed one
  }
}

async function answer({ id, method, argument, sentAt }: WorkerRequest): Promise<void> {
  let result: WorkerAnswer;
  try {
    if (method === "open") open();
    if (method === "close") busyWait?.limit(SHORT_WAIT_MS); // others see that the process has ended
    else busyWait?.limitSince(sentAt);
    if (database === undefined) throw new ToolError("store_failed", `The store ${settings.path} is not open.`);
    const run = database[method] as (argument: unknown) => Promise<unknown>; // the caller's types pair method and argument
    result = { id, value: await Reflect.apply(run, database, [argument]) };
  } catch (error: unknown) {
    result = { id, error: ToolError.fromUnknown(error, "store_failed").toJSON() };
  }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(result);
}
