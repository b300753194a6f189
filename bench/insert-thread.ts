/** The thread of `durable.ts` that inserts one text and commits, whenever it is asked to. */
import { parentPort, workerData } from "node:worker_threads";
import { DatabaseSync } from "node:sqlite";

const { path, body } = workerData as { readonly path: string; readonly body: string }; // durable.ts starts this thread, and nothing else does
const database = new DatabaseSync(path);
database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
database.exec("CREATE TABLE list (id INTEGER PRIMARY KEY, body TEXT NOT NULL)");
const insert = database.prepare("INSERT INTO list (body) VALUES (?)");

parentPort?.on("message", (isLast: boolean) => {
  if (isLast) {
    database.close();
    parentPort?.close();
    return;
  }
  insert.run(body);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(true);
});
