/** The thread in which a SQLite store reads and writes: answers one request after the other, in order. */
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { ToolError } from "../core/error.ts";
import { HEARTBEAT_MS } from "./owner.ts";
import { openSqliteDatabase } from "./sqlite-database.ts";
import type { SqlDatabase } from "./sql-database.ts";
import type { WorkerAnswer, WorkerRequest, WorkerStart } from "./worker-database.ts";

/** How long the thread waits for a next request where it is. */
const LINGER_MS = 2;
const MAX_IN_A_ROW = 32;

const { settings, asked } = workerData as WorkerStart; // worker-database.ts starts this thread, and nobody else
const port = parentPort;
let database: SqlDatabase | undefined;
let last: Promise<void> = Promise.resolve();
/** How many requests came in, and how many of them were answered. */
let [received, answered] = [0, 0];

port?.on("message", (request: WorkerRequest) => {
  received++;
  inTurn(() => answerAll(request));
});

// oxlint-disable-next-line no-restricted-globals -- real time, and no port reaches this thread; the main thread may be busy for long
setInterval(() => inTurn(beat), HEARTBEAT_MS);

/** One thing at a time, none of which throws. */
function inTurn(job: () => Promise<void>): void {
  last = last.then(job);
}

/**
 * Answers a request, and those that follow it closely: to wait for them here takes less time than to be woken by the event loop. Goes
 * back there now and then all the same, as the heartbeat is due there.
 */
async function answerAll(first: WorkerRequest): Promise<void> {
  let request: WorkerRequest | undefined = first;
  for (let count = 0; request !== undefined; count++) {
    await answer(request);
    answered++;
    request = count < MAX_IN_A_ROW ? nextRequest() : undefined;
  }
}

/** Undefined when none comes for a while, and when others came before it. */
function nextRequest(): WorkerRequest | undefined {
  if (port === null || answered < received || Atomics.wait(asked, 0, received, LINGER_MS) === "timed-out") return undefined;
  const next = receiveMessageOnPort(port);
  if (next === undefined) return undefined;
  received++;
  return next.message as WorkerRequest; // nothing else is sent here
}

async function beat(): Promise<void> {
  try {
    await database?.beat();
  } catch {
    // One that is missed is made up for by the next
  }
}

async function answer({ id, method, argument }: WorkerRequest): Promise<void> {
  let result: WorkerAnswer;
  try {
    if (method === "open") database = openSqliteDatabase(settings);
    if (database === undefined) throw new ToolError("store_failed", `The store ${settings.path} is not open.`);
    const run = database[method] as (argument: unknown) => Promise<unknown>; // the caller's types pair method and argument
    result = { id, value: await Reflect.apply(run, database, [argument]) };
  } catch (error: unknown) {
    result = { id, error: ToolError.fromUnknown(error, "store_failed").toJSON() };
  }
  port?.postMessage(result);
}
